//===- copy_turns.h - Copies of GPUs in an order among ranks ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies whose order the schedule states (pipe.copy_order). A stream could wait
// for another rank's copy only at an event of this process, and a wait of a
// stream for a number in memory may hold up other streams, since a GPU has
// fewer queues than streams. So threads of the host take the turns: that of a
// lane enqueues a copy once it is its turn, and passes the turn on once the
// copy has ended. The rank's thread enqueues no task before the copies that it
// awaits are enqueued, as ranks on CPUs run none before they have ended. So
// iterations are enqueued each time: a recorded one would have no turns.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_EXECUTION_CUDA_COPY_TURNS_H
#define RONDO_RUNTIME_EXECUTION_CUDA_COPY_TURNS_H

#include "runtime/device/cuda/device.h"
#include "runtime/execution/copy_threads.h"

#include <memory>
#include <vector>

namespace rondo::runtime::cuda {

/// The copies of one rank of a program on a GPU whose schedule orders copies
/// over links that ranks share.
class CopyTurns : public CopyThreads {
public:
  CopyTurns(const RankContext &context, const Messages &messages,
            HostLinks *links);
  ~CopyTurns() override;

  void begin(bool traces) override;
  bool await(ActionKind kind, int64_t replica, int64_t microbatch) override;
  void ended(ActionKind kind, int64_t replica, int64_t microbatch) override;
  void finish(std::vector<TraceEvent> &trace, int64_t iteration) override;

private:
  bool run(size_t lane, int32_t copy) override;
  void leave(int32_t copy) override;
  void block(std::unique_lock<std::mutex> &lock,
             const std::function<bool()> &isReady) override;
  void holdBack(cudaStream_t stream, int32_t node) const;

  CudaDevice &device;
  Event begun;
  /// [lane].
  std::vector<OwnedStream> streams;
  std::vector<Event> tails;
  /// [node]: its end.
  std::vector<Event> ends;
};

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_EXECUTION_CUDA_COPY_TURNS_H
