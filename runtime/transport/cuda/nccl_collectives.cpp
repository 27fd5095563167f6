//===- nccl_collectives.cpp - Sums in the order of the parts --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/cuda/nccl_transport.h"

#include "runtime/device/cuda/add.h"
#include "runtime/transport/cuda/sums.h"
#include "runtime/transport/match.h"

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

/// Brings every part here and calls add(its elements, their number) in the
/// order of the parts, all on the rank's stream for collectives.
template <typename Add> void NcclTransport::gather(Member &member, Add add) {
  const GpuRank &rank = *ranks[member.rank];
  const cudaStream_t stream = rank.collectiveStream.get();
  if (!member.communicator) {
    for (const PartParams &part : member.parts)
      add(static_cast<const double *>(part.data), part.count);
    return;
  }
  const size_t bytes = member.gatheredBytes();
  checkStaging(rank.staging,
               static_cast<int64_t>((1 + member.ranks.size()) * bytes),
               member.collective, member.rank);
  // A rank's parts are consecutive.
  std::vector<int64_t> elements(member.ranks.size()), offsets;
  auto *mine = static_cast<double *>(rank.staging.data);
  for (const PartParams &part : member.parts) {
    int64_t &end = elements[static_cast<size_t>(member.peerOf(part.rank))];
    offsets.push_back(end);
    if (part.rank == member.rank && part.count > 0)
      RONDO_CUDA(
          cudaMemcpyAsync(mine + end, part.data,
                          sizeof(double) * static_cast<size_t>(part.count),
                          cudaMemcpyDeviceToDevice, stream));
    end += part.count;
  }
  char *all = static_cast<char *>(rank.staging.data) + bytes;
  RONDO_NCCL(ncclAllGather(mine, all, bytes, ncclInt8,
                           member.communicator->get(), stream));
  settle(*member.communicator);
  for (size_t p = 0; p < member.parts.size(); ++p)
    add(reinterpret_cast<const double *>(
            all +
            bytes * static_cast<size_t>(member.peerOf(member.parts[p].rank))) +
            offsets[p],
        member.parts[p].count);
}

/// A round, on the rank's stream for collectives: one launch.
template <typename Exchange>
void NcclTransport::move(Member &member, const Exchange &exchange,
                         int64_t round, float *staging) {
  const auto receives = exchange.receives(round, staging);
  const auto sends = exchange.sends(round);
  if (receives.empty() && sends.empty())
    return;
  const ncclComm_t communicator = member.communicator->get();
  const cudaStream_t stream = ranks[member.rank]->collectiveStream.get();
  auto countOf = [](const SumExchange::Move &move) {
    return static_cast<size_t>(move.count);
  };
  Group group;
  for (const SumExchange::Move &move : receives)
    RONDO_NCCL(ncclRecv(move.data, countOf(move), ncclFloat32,
                        member.peerOf(move.peer), communicator, stream));
  for (const SumExchange::Move &move : sends)
    RONDO_NCCL(ncclSend(move.data, countOf(move), ncclFloat32,
                        member.peerOf(move.peer), communicator, stream));
  group.end();
  settle(*member.communicator);
}

/// Runs after everything that the compute stream has got so far.
Stream NcclTransport::beginCollective(Member &member) {
  GpuRank &rank = *ranks[member.rank];
  member.number = ++rank.collectives;
  rank.posted.record(rank.device->compute().handle);
  rank.posted.holdBack(rank.collectiveStream.get());
  rank.recording().launches.begin(rank.collectiveStream.get());
  return {rank.collectiveStream.get(), nullptr};
}

void NcclTransport::endCollective(Member &member) {
  GpuRank &rank = *ranks[member.rank];
  member.done.record(rank.collectiveStream.get());
  rank.met.countUp(rank.collectiveStream.get());
  rank.recording().launches.end(rank.collectiveStream.get());
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
  checkStaging(ranks[rank]->staging, member.exchange.stagingBytes(), collective,
               rank);
  const Stream stream = beginCollective(member);
  runRounds(member, member.exchange, stream);
  endCollective(member);
}

void NcclTransport::startShards(int32_t collective, int32_t rank,
                                ShardExchange::Kind kind, float *whole) {
  Member &member = memberOf(collective, rank);
  // A gather stages nothing, so one launch moves all.
  const ShardExchange exchange(member.parts, rank, kind, whole,
                               kind == ShardExchange::Kind::Gather
                                   ? INT64_MAX
                                   : sumsOfGpus.elementsAtOnce);
  checkStaging(ranks[rank]->staging, exchange.stagingBytes(), collective, rank,
               "reduce_grad's collective");
  const Stream stream = beginCollective(member);
  runRounds(member, exchange, stream);
  endCollective(member);
}

template <typename Exchange>
void NcclTransport::runRounds(Member &member, const Exchange &exchange,
                              const Stream &stream) {
  auto *staging = static_cast<float *>(ranks[member.rank]->staging.data);
  auto add = [&](float *sum, const float *values, int64_t count) {
    addTo(stream, sum, values, count);
  };
  auto copy = [&](float *to, const float *from, int64_t count) {
    RONDO_CUDA(cudaMemcpyAsync(to, from,
                               sizeof(float) * static_cast<size_t>(count),
                               cudaMemcpyDeviceToDevice, stream.handle));
  };
  for (int64_t round = 0; round < exchange.numRounds(); ++round) {
    move(member, exchange, round, staging);
    exchange.finish(round, staging, add, copy);
  }
}

void NcclTransport::startAddAll(int32_t collective, int32_t rank, double *sum) {
  Member &member = memberOf(collective, rank);
  const Stream stream = beginCollective(member);
  RONDO_CUDA(cudaMemsetAsync(sum, 0, sizeof *sum, stream.handle));
  gather(member, [&](const double *values, int64_t count) {
    addAllTo(stream, sum, values, count);
  });
  endCollective(member);
}
