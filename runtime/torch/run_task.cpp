//===- run_task.cpp - Runs a compiled graph as a task ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// runTask() of rondo_torch.h, which the bodies of exported layers call. Tasks
// on GPUs take the same way, with the target of cuda/target.cpp.
//
//===----------------------------------------------------------------------===//

#include "runtime/torch/random_key.h"
#include "runtime/torch/target.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>

namespace rondo::torch {

Spaces::Spaces(const rondo_layer &layer, const rondo_task &buffers,
               const unsigned char *constants)
    : buffers(&buffers), extras{&lossScale, &randomKey, constants},
      lossScale(static_cast<float>(buffers.loss_scale)),
      randomKey(RandomKeys(layer, buffers).of(buffers.iteration)) {}

char *Spaces::at(const Place &place) const {
  const void *base = nullptr;
  switch (place.space) {
  case Space::Weights:
    base = buffers->weights;
    break;
  case Space::RunningWeights:
    base = buffers->running_weights;
    break;
  case Space::Gradients:
    base = buffers->gradients;
    break;
  case Space::SavedForInputGrad:
    base = buffers->saved_for_input_grad;
    break;
  case Space::SavedForWeightGrad:
    base = buffers->saved_for_weight_grad;
    break;
  case Space::KeptForWeightGrad:
    base = buffers->kept_for_weight_grad;
    break;
  case Space::Inputs:
    base = buffers->inputs[place.index];
    break;
  case Space::InputGrads:
    base = buffers->input_grads[place.index];
    break;
  case Space::Output:
    base = buffers->output;
    break;
  case Space::OutputGrad:
    base = buffers->output_grad;
    break;
  case Space::Workspace:
    base = buffers->workspace;
    break;
  case Space::Data:
    base = buffers->data;
    break;
  case Space::Streams:
    base = buffers->streams[place.index];
    break;
  case Space::Loss:
    base = buffers->loss;
    break;
  case Space::LossScale:
    base = extras.lossScale;
    break;
  case Space::Constants:
    base = extras.constants;
    break;
  case Space::RandomKey:
    base = extras.randomKey;
    break;
  case Space::WeightsInDtype:
    base = buffers->weights_in_dtype;
    break;
  case Space::Saved:
    base = buffers->saved[place.index];
    break;
  }
  // A graph writes only where its outputs and allocations lie.
  return static_cast<char *>(const_cast<void *>(base)) + place.offset;
}

/// Null: it cannot be loaded.
static void *modelOf(Graph &graph) {
  void *model = graph.model.load(std::memory_order_acquire);
  if (model)
    return model;
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  model = graph.model.load(std::memory_order_relaxed);
  if (model)
    return model;
  if (graph.create(&model, nullptr, 0) != 0)
    return nullptr;
  graph.model.store(model, std::memory_order_release);
  return model;
}

namespace {

/// The calling thread.
class Host : public Target {
public:
  void copy(char *to, const char *from, int64_t bytes) override {
    std::memmove(to, from, bytes);
  }
  void clear(char *to, int64_t bytes) override { std::memset(to, 0, bytes); }
  int32_t run(const Task &task, std::vector<Tensor *> &inputs,
              std::vector<Tensor *> &outputs) override {
    void *model = modelOf(*task.graph);
    if (!model)
      return fail("it cannot be loaded");
    return task.graph->run(model, inputs.data(), outputs.data());
  }
};

} // namespace

static const char *nameOf(const Task &task) {
  return task.graph ? task.graph->name : task.deviceGraph->name;
}

/// 0; or 1, with lastFault().
static int32_t runGraph(Target &target, const Task &task,
                        const Spaces &spaces) {
  // Most tasks have fewer; more do not happen twice in a thread.
  static thread_local std::vector<Tensor *> inputs, outputs;
  inputs.resize(task.numInputs);
  outputs.resize(task.numOutputs);
  for (int32_t i = 0; i < task.numInputs; ++i)
    inputs[i] = tensorAt(task.inputs[i], spaces.at(task.inputs[i].place));
  Allocator allocator(task, spaces);
  Allocator::here() = &allocator;
  lastFault().clear();
  const int32_t status = target.run(task, inputs, outputs);
  Allocator::here() = nullptr;
  const std::string name = "graph '" + std::string(nameOf(task)) + "' ";
  if (status != 0)
    return fail(name + "failed" +
                (lastFault().empty() ? "" : ": " + lastFault()));
  if (allocator.taken() != task.numAllocations)
    return fail(name + "made " + std::to_string(allocator.taken()) +
                " allocations, not " + std::to_string(task.numAllocations) +
                " as when exported");
  for (int32_t i = 0; i < task.numOutputs; ++i) {
    char *place = spaces.at(task.outputs[i].place);
    if (spaces.takes(task.outputs[i].place) && outputs[i]->data() != place)
      target.copy(place, outputs[i]->data(), outputs[i]->extent());
    deleteTensor(outputs[i]);
  }
  return 0;
}

const char *runTaskOn(Target &target, const Task &task, const Spaces &spaces) {
  if ((task.graph || task.deviceGraph) && runGraph(target, task, spaces) != 0)
    return lastFault().c_str();
  for (int32_t c = 0; c < task.numCopies; ++c) {
    const Copy &copy = task.copies[c];
    if (!spaces.takes(copy.to))
      continue;
    if (copy.zeros)
      target.clear(spaces.at(copy.to), copy.bytes);
    else
      target.copy(spaces.at(copy.to), spaces.at(copy.from), copy.bytes);
  }
  return nullptr;
}

const char *runTask(const Task &task, const rondo_layer &layer,
                    const rondo_task &buffers) {
  Host host;
  return runTaskOn(host, task, Spaces(layer, buffers, task.constants));
}

} // namespace rondo::torch
