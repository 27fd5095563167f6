//===- ends.cpp - A rank's ends of channels and collectives ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/cuda/ends.h"

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

static std::string describe(const ChannelParams &params) {
  return "the channel from rank " + std::to_string(params.from) + " to rank " +
         std::to_string(params.to);
}

ChannelEnd::ChannelEnd(const ChannelParams &params, int32_t channel,
                       bool isSender, int maxBlocks, const std::string &id)
    : channel(channel), from(params.from), to(params.to), isSender(isSender),
      messages(params.messages), stream(OwnedStream::Priority::Urgent),
      communicator(id, 2, isSender ? 0 : 1, maxBlocks, describe(params)) {
  // A power of two divides 2^32, so tickets may wrap.
  size_t capacity = 1;
  while (static_cast<int64_t>(capacity) < params.messages)
    capacity *= 2;
  done.reserve(capacity);
  for (size_t i = 0; i < capacity; ++i)
    done.emplace_back();
}

Member::Member(const CollectiveParams &parts, int32_t collective, int32_t rank,
               const std::vector<int32_t> &ranks, const std::string &id)
    : parts(parts), collective(collective), rank(rank), ranks(ranks),
      exchange(parts, rank, sumsOfGpus.elementsAtOnce) {
  if (ranks.size() == 1)
    return;
  scratch = std::make_unique<DeviceMemory>(1 + ranks.size());
  communicator = std::make_unique<Communicator>(
      id, static_cast<int>(ranks.size()), peerOf(rank), maxBlocksOfRank,
      "all_reduce " + std::to_string(collective));
  maxElements = maxElementsOfARank(parts);
}
