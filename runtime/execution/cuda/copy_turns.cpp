//===- copy_turns.cpp - Copies of GPUs in an order among ranks ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/cuda/copy_turns.h"

#include "runtime/execution/cuda/copy_streams.h"

#include <chrono>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

CopyTurns::CopyTurns(const RankContext &context, const Messages &messages,
                     HostLinks *links)
    : CopyThreads(context, messages, links),
      device(static_cast<CudaDevice &>(context.device())),
      begun((device.gpu().select(), Event())), tails(list.lanes().size()),
      ends(list.nodes().size()) {
  for (size_t lane = 0; lane < list.lanes().size(); ++lane)
    streams.emplace_back(OwnedStream::Priority::Usual);
}

CopyTurns::~CopyTurns() {
  stopThreads();
  cudaSetDevice(device.gpu().ordinal);
}

//===----------------------------------------------------------------------===//
// The rank's thread.
//===----------------------------------------------------------------------===//

void CopyTurns::begin(bool traces) {
  begun.record(device.compute().handle);
  for (const OwnedStream &stream : streams)
    begun.holdBack(stream.get());
  CopyThreads::begin(traces);
}

void CopyTurns::holdBack(cudaStream_t stream, int32_t node) const {
  for (int32_t awaited : list.nodes()[node].awaited)
    ends[awaited].holdBack(stream);
}

bool CopyTurns::await(ActionKind kind, int64_t replica, int64_t microbatch) {
  if (!CopyThreads::await(kind, replica, microbatch))
    return false;
  holdBack(device.compute().handle, list.findNode(kind, replica, microbatch));
  return true;
}

void CopyTurns::ended(ActionKind kind, int64_t replica, int64_t microbatch) {
  if (const int32_t node = list.findNode(kind, replica, microbatch); node >= 0)
    ends[node].record(device.compute().handle);
  CopyThreads::ended(kind, replica, microbatch);
}

/// Asks for the device's errors meanwhile, since nothing that is enqueued
/// returns them.
void CopyTurns::block(std::unique_lock<std::mutex> &lock,
                      const std::function<bool()> &isReady) {
  constexpr std::chrono::microseconds between(100);
  cudaError_t error = cudaSuccess;
  context.transport.letOthersWork(context.rank, [&] {
    while (!isReady() && (error == cudaSuccess || error == cudaErrorNotReady)) {
      CopyThreads::waitFor(lock, between);
      lock.unlock();
      error = cudaStreamQuery(device.compute().handle);
      lock.lock();
    }
    // Whoever describes the waits of a run in which no rank goes on takes it.
    lock.unlock();
  });
  lock.lock();
  if (error != cudaErrorNotReady)
    RONDO_CUDA(error);
}

void CopyTurns::finish(std::vector<TraceEvent> &trace, int64_t iteration) {
  CopyThreads::finish(trace, iteration);
  for (size_t lane = 0; lane < streams.size(); ++lane) {
    tails[lane].record(streams[lane].get());
    tails[lane].holdBack(device.compute().handle);
  }
}

//===----------------------------------------------------------------------===//
// The threads of the lanes.
//===----------------------------------------------------------------------===//

bool CopyTurns::run(size_t lane, int32_t number) {
  const CopyList::Copy &copy = list.copies()[number];
  if (!links->enter(onLink(number)))
    return false;
  device.gpu().select();
  const cudaStream_t stream = streams[lane].get();
  holdBack(stream, copy.node);
  const int64_t start = isTraced ? device.stampOn(stream) : 0;
  enqueueCopy(copy, context.state.isPoisoned(), stream);
  if (isTraced)
    times[number] = {start, device.stampOn(stream)};
  ends[copy.node].record(stream);
  return true;
}

void CopyTurns::leave(int32_t number) {
  if (list.copies()[number].turn < 0)
    return;
  // An error of the device ends the wait, too; the rank's thread reports it.
  while (!isAborted && cudaEventQuery(ends[list.copies()[number].node].get()) ==
                           cudaErrorNotReady)
    std::this_thread::sleep_for(std::chrono::microseconds(5));
  CopyThreads::leave(number);
}
