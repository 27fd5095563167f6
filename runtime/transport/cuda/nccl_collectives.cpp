//===- nccl_collectives.cpp - Sums in the order of the parts --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/cuda/nccl_transport.h"

#include "runtime/device/cuda/add.h"
#include "runtime/transport/cuda/sums.h"

#include <algorithm>

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

/// Brings elements [first, first + count) of every part here and calls
/// add(part, its elements) in the order of the parts, all on the rank's stream
/// for collectives.
template <typename T, typename Add>
void NcclTransport::gather(Member &member, int64_t first, int64_t count,
                           Add add) {
  const cudaStream_t stream = ranks[member.rank]->collectiveStream.get();
  auto countOf = [&](const PartParams &part) {
    return std::max<int64_t>(0, std::min(count, part.count - first));
  };
  if (!member.communicator) {
    for (const PartParams &part : member.parts)
      add(part, static_cast<const T *>(part.data) + first, countOf(part));
    return;
  }
  // A rank's parts are consecutive.
  std::vector<int64_t> elements(member.ranks.size()), offsets;
  auto indexOf = [&](int32_t rank) {
    return std::find(member.ranks.begin(), member.ranks.end(), rank) -
           member.ranks.begin();
  };
  auto *mine = reinterpret_cast<T *>(member.mine->get());
  for (const PartParams &part : member.parts) {
    int64_t &end = elements[indexOf(part.rank)];
    offsets.push_back(end);
    if (part.rank == member.rank && countOf(part) > 0)
      RONDO_CUDA(cudaMemcpyAsync(mine + end,
                                 static_cast<const T *>(part.data) + first,
                                 sizeof(T) * static_cast<size_t>(countOf(part)),
                                 cudaMemcpyDeviceToDevice, stream));
    end += countOf(part);
  }
  const int64_t most = *std::max_element(elements.begin(), elements.end());
  auto *all = reinterpret_cast<const T *>(member.all->get());
  RONDO_NCCL(ncclAllGather(mine, member.all->get(),
                           sizeof(T) * static_cast<size_t>(most), ncclInt8,
                           member.communicator->get(), stream));
  settle(*member.communicator);
  for (size_t p = 0; p < member.parts.size(); ++p)
    add(member.parts[p],
        all + indexOf(member.parts[p].rank) * most + offsets[p],
        countOf(member.parts[p]));
}

/// Runs after everything that the compute stream has got so far.
Stream NcclTransport::beginCollective(Member &member) {
  GpuRank &rank = *ranks[member.rank];
  member.number = ++rank.collectives;
  rank.posted.record(rank.device->compute().handle);
  rank.posted.holdBack(rank.collectiveStream.get());
  return {rank.collectiveStream.get(), nullptr};
}

void NcclTransport::endCollective(Member &member) {
  GpuRank &rank = *ranks[member.rank];
  member.done.record(rank.collectiveStream.get());
  rank.met.countUp(rank.collectiveStream.get());
}

/// Which rank is late is not known here: the first other one is named.
void NcclTransport::waitCollective(int32_t collective, int32_t r) {
  Member &member = memberOf(collective, r);
  GpuRank &rank = *ranks[r];
  Waiting waiting;
  waiting.what = Waiting::For::Collective;
  waiting.collective = collective;
  for (int32_t other : member.ranks)
    if (other != r && waiting.onRank < 0)
      waiting.onRank = other;
  log(rank, {waiting, &rank.met, member.number});
  member.done.holdBack(rank.device->compute().handle);
}

void NcclTransport::startSumParts(int32_t collective, int32_t rank) {
  Member &member = memberOf(collective, rank);
  const Stream stream = beginCollective(member);
  // All parts of a rank fit at once; the chunks are the same on all ranks.
  const int64_t total = member.parts.front().count;
  const int64_t step = std::max<int64_t>(1, elementsAtOnce / member.mostParts);
  for (int64_t first = 0; first < total; first += step) {
    const int64_t count = std::min(step, total - first);
    float *sum = nullptr;
    for (const PartParams &part : member.parts)
      if (!sum && part.rank == rank)
        sum = static_cast<float *>(part.data) + first;
    bool isFirst = true;
    auto copy = [&](float *to, const float *from) {
      if (to != from)
        RONDO_CUDA(cudaMemcpyAsync(to, from, 4 * static_cast<size_t>(count),
                                   cudaMemcpyDeviceToDevice, stream.handle));
    };
    gather<float>(member, first, count,
                  [&](const PartParams &, const float *values, int64_t) {
                    if (isFirst)
                      copy(sum, values);
                    else
                      addTo(stream, sum, values, count);
                    isFirst = false;
                  });
    for (const PartParams &part : member.parts)
      if (part.rank == rank)
        copy(static_cast<float *>(part.data) + first, sum);
  }
  endCollective(member);
}

void NcclTransport::startAddAll(int32_t collective, int32_t rank, double *sum) {
  Member &member = memberOf(collective, rank);
  const Stream stream = beginCollective(member);
  RONDO_CUDA(cudaMemsetAsync(sum, 0, sizeof *sum, stream.handle));
  gather<double>(member, 0, INT64_MAX,
                 [&](const PartParams &, const double *values, int64_t count) {
                   addAllTo(stream, sum, values, count);
                 });
  endCollective(member);
}
