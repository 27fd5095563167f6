//===- nccl_links.cpp - Measures channels between GPUs --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each GPU has its own clock. At the start and at each reading it is compared
// with the host's, and that with process 0's, on whose clock both ends of a
// message are then compared.
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/cuda/nccl_transport.h"

#include "runtime/base/clock.h"
#include "runtime/base/cuda/stream.h"

#include <cstring>

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

template <typename T> static std::string pack(const std::vector<T> &values) {
  return std::string(reinterpret_cast<const char *>(values.data()),
                     values.size() * sizeof(T));
}
template <typename T> static std::vector<T> unpack(const std::string &text) {
  std::vector<T> values(text.size() / sizeof(T));
  if (!values.empty())
    std::memcpy(values.data(), text.data(), values.size() * sizeof(T));
  return values;
}

/// Uses messages of one byte: NCCL does nothing for empty ones. All channels
/// must be connected.
void NcclTransport::measureStart(const Deadline &deadline) {
  for (int i = 0; i < DeviceMeter::startMessages; ++i)
    for (const std::vector<ChannelEnd *> &turn : turns) {
      Group group;
      for (ChannelEnd *end : turn) {
        ranks[end->isSender ? end->from : end->to]->device->gpu().select();
        end->begun.stamp(end->stream.get(), 0);
        sendOneByte(*end);
      }
      group.end();
      awaitCommunicators(deadline);
      for (ChannelEnd *end : turn) {
        if (end->isSender)
          continue;
        ranks[end->to]->device->gpu().select();
        end->arrived.stamp(end->stream.get(), 0);
      }
      if (turns.size() > 1)
        awaitWarmUp(deadline);
    }
  awaitWarmUp(deadline);
  for (const std::unique_ptr<ChannelEnd> &end : ends) {
    Gpu &gpu = ranks[end->isSender ? end->from : end->to]->device->gpu();
    end->begun.keep(gpu);
    end->arrived.keep(gpu);
  }
  compareClocks();
}

void NcclTransport::compareClocks() {
  for (const std::unique_ptr<GpuRank> &rank : ranks)
    if (rank)
      rank->clock.compare(rank->device->gpu());
  if (world.isAlone())
    return;
  const int64_t offsetNs = world.store->clockOffsetNs(), now = nowNs();
  hostClock.add(
      {static_cast<uint64_t>(now + offsetNs), static_cast<uint64_t>(now)});
}

/// On the clock of process 0.
std::vector<DeviceStamp> NcclTransport::takeStamps(const ChannelEnd &end,
                                                   DeviceStamps &stamps) {
  GpuRank &rank = *ranks[end.isSender ? end.from : end.to];
  std::vector<DeviceStamp> taken = stamps.take(rank.device->gpu());
  for (DeviceStamp &stamp : taken)
    stamp.at = hostClock.toMine(rank.clock.toHost(stamp.at));
  return taken;
}

/// Returns them in the receiver's process; in the sender's the result is empty.
std::vector<DeviceStamp> NcclTransport::stampsOfSender(size_t channel) {
  const std::string key = prefix + "sent/" + std::to_string(channel);
  ChannelEnd *sender = senders[channel];
  if (!sender)
    return unpack<DeviceStamp>(world.store->take(key));
  std::vector<DeviceStamp> sent = takeStamps(*sender, sender->begun);
  if (!receivers[channel]) {
    world.store->give(key, pack(sent));
    sent.clear();
  }
  return sent;
}

std::vector<LinkFigures> NcclTransport::links() {
  if (!measures)
    return {};
  compareClocks();
  std::vector<LinkFigures> figures(senders.size());
  for (size_t c = 0; c < figures.size(); ++c) {
    ChannelEnd *end = receivers[c];
    if (!end && !senders[c])
      continue;
    const std::vector<DeviceStamp> sent = stampsOfSender(c);
    if (!end)
      continue;
    const std::vector<DeviceStamp> posted = takeStamps(*end, end->begun);
    end->meter.add(sent, posted, takeStamps(*end, end->arrived));
    figures[c] = end->meter.figures(end->from, end->to);
    // A GPU of another process is assumed to be compared as well as this
    // process's own.
    const GpuRank &to = *ranks[end->to],
                  &from = ranks[end->from] ? *ranks[end->from] : to;
    figures[c].clockErrorNs = from.clock.errorNs() + to.clock.errorNs();
  }
  if (!world.isAlone())
    share(figures);
  return figures;
}

/// Each process knows the figures of the channels to it.
void NcclTransport::share(std::vector<LinkFigures> &figures) const {
  const std::vector<std::string> all =
      world.store->exchange("the figures of channels", pack(figures));
  for (size_t p = 0; p < all.size(); ++p) {
    const std::vector<LinkFigures> theirs = unpack<LinkFigures>(all[p]);
    for (size_t c = 0; c < std::min(figures.size(), theirs.size()); ++c)
      if (theirs[c].from != theirs[c].to &&
          theirs[c].to == static_cast<int32_t>(p))
        figures[c] = theirs[c];
  }
}
