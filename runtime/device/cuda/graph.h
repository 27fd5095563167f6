//===- graph.h - An iteration that is recorded once -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_DEVICE_CUDA_GRAPH_H
#define RONDO_RUNTIME_DEVICE_CUDA_GRAPH_H

#include "runtime/base/cuda/stream.h"

#include <list>

namespace rondo::runtime::cuda {

/// Sets memory by a kernel, which unlike cudaMemsetAsync() also reaches pinned
/// memory of the host.
void setMemory(const Stream &stream, void *memory, uint8_t byte, int64_t bytes);

/// Replaces the nodes of a recording that set memory by kernels of the current
/// device that do the same. A launch of the graph costs the host 2 to 3 us for
/// each such node, and next to nothing for a kernel, and cuBLASLt and cuDNN
/// record several in each layer. Memory in two dimensions stays as it is.
void setMemoryByKernels(cudaGraph_t graph);

/// The recordings of a program that a device keeps. A run of overlapping
/// iterations has a variant (Replay) for each of its lengths, and documents
/// that are drawn have one for each batch.
inline constexpr size_t maxRecordings = 6;

/// Work enqueued between begin() and end() on the stream is recorded, not run;
/// so is work on streams that wait for it and that it waits for again before
/// the end. Each launch() runs the recording.
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
  /// Drops an unfinished recording.
  void cancel();
  /// Also drops a finished one. A graph that is running is freed when it ends.
  void drop();
  void launch(cudaStream_t stream) {
    RONDO_CUDA(cudaGraphLaunch(graph, stream));
  }

private:
  cudaStream_t origin = nullptr;
  cudaGraphExec_t graph = nullptr;
};

/// The variants (Replay) that were run last. A program that draws documents has
/// new ones without end.
class RecentVariants {
public:
  bool isEmpty() const { return variants.empty(); }
  bool has(int64_t variant) const;
  void add(int64_t variant);

private:
  static constexpr size_t maxKept = 64;
  /// The last one is in front.
  std::list<int64_t> variants;
};

/// The iterations of a program on a device. Of each variant, the first one is
/// enqueued, since libraries load what they need then, the next one is recorded
/// as well, and later ones repeat the recording.
class IterationGraph {
public:
  enum class Step : uint8_t { Enqueue, Record, Replay };
  /// The next iteration's step. Without `mayRecord` it is enqueued.
  Step next(bool mayRecord, int64_t ofVariant) {
    variant = ofVariant;
    if (!mayRecord || !hasRunBefore.has(variant))
      return Step::Enqueue;
    const RecordedGraph *graph = find();
    return graph && graph->isRecorded() ? Step::Replay : Step::Record;
  }
  /// Around what is enqueued in an iteration that is recorded; end() launches
  /// it. The recording that was used longest ago is dropped if there are
  /// `maxRecordings`.
  void begin(cudaStream_t stream, cudaStreamCaptureMode mode);
  void end(cudaStream_t stream);
  void replay(cudaStream_t stream);
  /// The first iteration has ended, of any variant.
  bool hasRun() const { return !hasRunBefore.isEmpty(); }
  /// One of the variant of the last next() has ended.
  void setHasRun() { hasRunBefore.add(variant); }
  void cancel() {
    for (Recording &recording : recordings)
      recording.graph.cancel();
  }
  void drop() { recordings.clear(); }

private:
  struct Recording {
    int64_t variant;
    RecordedGraph graph;
  };
  RecordedGraph *find();

  int64_t variant = 0;
  RecentVariants hasRunBefore;
  /// The one used last is in front.
  std::list<Recording> recordings;
};

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_DEVICE_CUDA_GRAPH_H
