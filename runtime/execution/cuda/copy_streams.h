//===- copy_streams.h - Copies to the host and back, in streams -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each lane of a rank is a stream of its own. The rank's thread enqueues a copy
// when its order reaches it; what the copy awaits comes before it in the order,
// so its event has been recorded by then. The host never waits. Lanes begin
// an iteration after an event of the compute stream, and end it before one, so
// a recorded iteration has them; its copies are memcpy nodes, since their
// addresses are those of the arenas.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_EXECUTION_CUDA_COPY_STREAMS_H
#define RONDO_RUNTIME_EXECUTION_CUDA_COPY_STREAMS_H

#include "runtime/device/cuda/device.h"
#include "runtime/execution/copies.h"
#include "runtime/execution/copy_list.h"

#include <memory>
#include <vector>

namespace rondo::runtime::cuda {

/// Enqueues the parts of a copy, and fills with NaNs what has been saved if
/// `isPoisoned`.
void enqueueCopy(const CopyList::Copy &copy, bool isPoisoned,
                 cudaStream_t stream);

/// The copies of one rank of a program on a GPU.
class CopyStreams : public CopyRunner {
public:
  CopyStreams(const RankContext &context, const Messages &messages);
  ~CopyStreams() override;
  CopyStreams(const CopyStreams &) = delete;
  CopyStreams &operator=(const CopyStreams &) = delete;

  bool areOf(int64_t replica, int64_t microbatch) const override {
    return list.findCopy(ActionKind::Load, replica, microbatch) >= 0;
  }
  bool has(ActionKind kind, int64_t replica,
           int64_t microbatch) const override {
    return list.findCopy(kind, replica, microbatch) >= 0;
  }
  void begin(bool traces) override;
  void reach(ActionKind kind, int64_t replica, int64_t microbatch) override;
  bool await(ActionKind kind, int64_t replica, int64_t microbatch) override;
  void ended(ActionKind kind, int64_t replica, int64_t microbatch) override;
  void finish(std::vector<TraceEvent> &trace, int64_t iteration) override;
  /// No thread waits for copies.
  void abort() override {}
  CopyWait waitsFor() const override { return {}; }
  /// A copy needs nothing but its awaited events and ends by itself; tasks
  /// count (Device::progress()).
  uint64_t progress() const override { return 0; }

private:
  /// Whatever `stream` gets from here on waits for what a node awaits.
  void holdBack(cudaStream_t stream, int32_t node);
  void record(int32_t node, cudaStream_t stream);

  const RankContext context;
  CudaDevice &device;
  const CopyList list;
  /// The compute stream at the start of an iteration.
  Event begun;
  /// [lane].
  struct Lane {
    OwnedStream stream{OwnedStream::Priority::Usual};
    /// The end of the last copy that was enqueued in an iteration.
    Event tail;
    /// Copies of its list that have been enqueued.
    size_t enqueued = 0;
  };
  std::vector<std::unique_ptr<Lane>> lanes;
  /// [copy]: its lane.
  std::vector<Lane *> laneOf;
  /// [node]: its end; null: nothing awaits it.
  std::vector<std::unique_ptr<Event>> ends;
  /// [node]: the iteration in which the end was recorded last.
  std::vector<uint64_t> recordedIn;
  uint64_t iteration = 0;
  bool isTraced = false;
  /// [copy]: Device::stamp() before and after it.
  struct Stamps {
    int64_t start = 0, end = 0;
  };
  std::vector<Stamps> stamps;
};

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_EXECUTION_CUDA_COPY_STREAMS_H
