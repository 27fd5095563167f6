//===- rondo_torch.h - Bodies made from PyTorch graphs ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// rondo.torch compiles F, I, W and perhaps B of a module to graphs with the C
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
  /// In fp32.
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
  /// The weights in the layer's dtype. Offsets are those of Weights times the
  /// dtype's bytes / 4.
  WeightsInDtype,
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

/// A compiled graph for GPUs: functions of PyTorch's model containers. Each
/// rank has a container of its own.
struct DeviceGraph {
  const char *name;
  /// AOTInductorModelContainerCreateWithDevice.
  int32_t (*create)(void **container, size_t numModels, const char *device,
                    const char *folder);
  /// AOTInductorModelContainerRunSingleThreaded.
  int32_t (*run)(void *container, Tensor **inputs, size_t numInputs,
                 Tensor **outputs, size_t numOutputs, void *stream,
                 void *executor);
  /// AOTInductorModelContainerDelete.
  int32_t (*remove)(void *container);
  /// AOTInductorGetLastError.
  int32_t (*lastError)(const char **what);
};

/// One task of one body. Both graphs may be null: then there are only copies.
struct Task {
  Graph *graph;
  const Value *inputs;
  int32_t numInputs;
  /// Places of the graph's outputs. One that the graph leaves elsewhere is
  /// copied.
  const Value *outputs;
  int32_t numOutputs;
  /// In the order of the calls.
  const Planned *allocations;
  int32_t numAllocations;
  const Copy *copies;
  int32_t numCopies;
  /// Constants of the body, shared by its tasks.
  const unsigned char *constants;
  /// For a task on GPUs, whose `graph` is null.
  const DeviceGraph *deviceGraph = nullptr;
  int64_t constantBytes = 0;
};

/// Returns null; or why the graph failed, or that it did not allocate what the
/// tables say. The words stay valid until the thread's next task.
const char *runTask(const Task &task, const rondo_layer &layer,
                    const rondo_task &buffers);

//===----------------------------------------------------------------------===//
// Bodies for GPUs. The functions of rondo_body and of its `cuda` tasks are
//
//   forward, ...   return runTaskOnDevice(task, *layer, *buffers)
//   prepare        return prepareOnDevice(body, *layer, *buffers)
//   load           return loadOnDevice(body, *layer, rank, device, state)
//   unload         unloadFromDevice(state)
//
// with the DeviceBody of layer->batch samples. They are in librondo_cuda.a.
//===----------------------------------------------------------------------===//

/// The tasks of a body on GPUs, and the GPUs that they are compiled for.
struct DeviceBody {
  /// F, I, W and, if there is one, B.
  const Task *const *tasks;
  int32_t numTasks;
  /// RONDO_DTYPE_...: of activations and saved buffers.
  int32_t dtype;
  /// Compute capability times 10, such as 90.
  int32_t capability;
  /// The kernels have PTX, so that later generations run them as well.
  bool hasPtx;
};

/// Makes the state of a layer on a rank: containers of its graphs, which layers
/// of the rank share, its constants in the GPU's memory, and a handle of
/// cuBLASLt. Returns null; or why that is not possible, such as a GPU of
/// another generation.
const char *loadOnDevice(const DeviceBody &body, const rondo_layer &layer,
                         int32_t rank, int32_t device, void **state);
void unloadFromDevice(void *state);

/// Runs each task once, so that all kernels are loaded.
const char *prepareOnDevice(const DeviceBody &body, const rondo_layer &layer,
                            const rondo_task &buffers);

/// Enqueues the task on buffers.stream; nothing waits. What it enqueues may be
/// recorded and repeated.
const char *runTaskOnDevice(const Task &task, const rondo_layer &layer,
                            const rondo_task &buffers);

//===----------------------------------------------------------------------===//
// Probes.
//===----------------------------------------------------------------------===//

/// Another graph of a library, for a program that probes it.
struct Probed {
  const char *body;
  /// "F", "I", "W" or "B".
  const char *kind;
  const Task *task;
};

/// The main function of a program that records what graphs allocate, or runs
/// tasks on buffers from a file; rondo.torch calls it while it exports. Its
/// messages end up in the exporter's.
int probe(int argc, char **argv, Graph *const *graphs, int32_t numGraphs,
          const Probed *tasks, int32_t numTasks, const rondo_layer &layer);

/// The same for graphs for GPUs, on a machine without one: it only records.
/// The program includes runtime/torch/without_device.h, which has functions
/// of CUDA that do nothing, so that kernels are not run.
int probeWithoutDevice(int argc, char **argv, const DeviceGraph *const *graphs,
                       int32_t numGraphs);

/// Runs tasks on GPU 0, like `run` and `time` of probe(). Of `body` only the
/// type and the GPUs matter. In librondo_cuda.a.
int probeOnDevice(int argc, char **argv, const Probed *tasks, int32_t numTasks,
                  const DeviceBody &body, const rondo_layer &layer);

} // namespace rondo::torch

#endif // RONDO_TORCH_H
