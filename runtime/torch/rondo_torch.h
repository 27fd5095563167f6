//===- rondo_torch.h - Bodies made from PyTorch graphs ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// rondo.torch compiles F, I and W of a module to three graphs with the C
// interface of PyTorch's ahead-of-time compiler, and writes tables that say
// where each graph finds its inputs and where each of its allocations lies.
// runTask() runs a graph by these tables, without PyTorch and without an
// allocator: a graph has no control flow, so its allocations are the same
// sequence in each run.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TORCH_H
#define RONDO_TORCH_H

#include "runtime/bodies/rondo_body.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rondo::torch {

/// A tensor of PyTorch's C interface, where its name is AtenTensorOpaque.
struct Tensor;

/// The buffers of a task, and what else its tensors may lie in.
enum class Space : int32_t {
  Weights,
  /// The same, for F to replace its running tensors; what goes there is
  /// dropped in tasks that must leave them.
  RunningWeights,
  Gradients,
  SavedForInputGrad,
  SavedForWeightGrad,
  KeptForWeightGrad,
  Inputs,
  InputGrads,
  Output,
  OutputGrad,
  Workspace,
  Data,
  Streams,
  /// One fp32: the loss that F writes.
  Loss,
  /// One fp32: rondo_task::loss_scale.
  LossScale,
  /// Tensors of the module that do not change; of the library.
  Constants,
  /// One int64, from which a graph computes its random numbers: of the layer,
  /// the run's seed, the iteration and the micro-batch.
  RandomKey,
  /// A named part of what F saves; `index` counts them.
  Saved,
};

/// `offset` bytes from the start of a space; `index` counts inputs, streams or
/// saved parts.
struct Place {
  Space space;
  int32_t index;
  int64_t offset;
};

inline constexpr int32_t maxDims = 8;

/// A tensor and where it lies. `dtype` is PyTorch's number; strides are in
/// elements.
struct Value {
  Place place;
  int32_t dtype;
  int32_t numDims;
  int64_t sizes[maxDims];
  int64_t strides[maxDims];
};

/// The place and the size of an allocation of a graph.
struct Planned {
  Place place;
  int64_t bytes;
};

/// Bytes that the task copies itself, after its graph has run.
struct Copy {
  Place to;
  Place from;
  int64_t bytes;
  /// The source is not read: the target becomes 0.
  bool zeros;
};

/// A compiled graph, loaded when it first runs. Threads share it.
struct Graph {
  const char *name;
  int32_t (*create)(void **model, const void *constants, size_t numConstants);
  int32_t (*run)(void *model, Tensor **inputs, Tensor **outputs);
  std::atomic<void *> model{nullptr};
};

/// One task of one body. `graph` may be null: then there are only copies.
struct Task {
  Graph *graph;
  const Value *inputs;
  int32_t numInputs;
  /// Where the graph's outputs must end. One that the graph leaves elsewhere is
  /// copied.
  const Value *outputs;
  int32_t numOutputs;
  /// In the order of the calls.
  const Planned *allocations;
  int32_t numAllocations;
  const Copy *copies;
  int32_t numCopies;
  const unsigned char *constants;
};

/// Returns null; or why the graph failed, or that it did not allocate what the
/// tables say. The words stay valid until the thread's next task.
const char *runTask(const Task &task, const rondo_layer &layer,
                    const rondo_task &buffers);

/// Another graph of a library, for a program that probes it.
struct Probed {
  const char *body;
  /// "F", "I" or "W".
  const char *kind;
  const Task *task;
};

/// The main function of a program that records what graphs allocate, or runs
/// tasks on buffers from a file; rondo.torch calls it while it exports. Its
/// messages end up in the exporter's.
int probe(int argc, char **argv, Graph *const *graphs, int32_t numGraphs,
          const Probed *tasks, int32_t numTasks, const rondo_layer &layer);

} // namespace rondo::torch

#endif // RONDO_TORCH_H
