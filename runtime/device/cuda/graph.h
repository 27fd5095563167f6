//===- graph.h - An iteration that is recorded once -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_DEVICE_CUDA_GRAPH_H
#define RONDO_RUNTIME_DEVICE_CUDA_GRAPH_H

#include "runtime/base/cuda/stream.h"

namespace rondo::runtime::cuda {

/// Whatever is enqueued between begin() and end() on the stream, and on streams
/// that wait for it and are waited for again before the end, is not run but
/// recorded; each launch() runs it.
class RecordedGraph {
public:
  RecordedGraph() = default;
  ~RecordedGraph();
  RecordedGraph(const RecordedGraph &) = delete;
  RecordedGraph &operator=(const RecordedGraph &) = delete;

  bool isRecorded() const { return graph != nullptr; }
  /// Relaxed mode lets other threads enqueue and end().
  void begin(cudaStream_t stream, cudaStreamCaptureMode mode);
  void end();
  /// Drops a recording that has not reached its end.
  void cancel();
  /// Drops what is recorded, too. A graph that runs is gone when it has ended.
  void drop();
  void launch(cudaStream_t stream) {
    RONDO_CUDA(cudaGraphLaunch(graph, stream));
  }

private:
  cudaStream_t origin = nullptr;
  cudaGraphExec_t graph = nullptr;
};

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_DEVICE_CUDA_GRAPH_H
