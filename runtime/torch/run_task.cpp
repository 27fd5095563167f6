//===- run_task.cpp - Runs a compiled graph as a task ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/random.h"
#include "runtime/torch/tensor.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>

namespace rondo::torch {

/// The same for all tasks of a micro-batch, and under every schedule. Replicas
/// that divide its samples draw other numbers each.
static uint64_t randomKeyOf(const rondo_layer &layer, const rondo_task &task) {
  const uint64_t run = runtime::mix(runtime::hashName(layer.name), task.seed);
  const uint64_t key =
      runtime::mix(runtime::mix(run, static_cast<uint64_t>(task.iteration)),
                   static_cast<uint64_t>(task.microbatch));
  return layer.first_sample == 0
             ? key
             : runtime::mix(key, static_cast<uint64_t>(layer.first_sample));
}

Spaces::Spaces(const rondo_layer &layer, const rondo_task &buffers,
               const unsigned char *constants)
    : buffers(&buffers), constants(constants),
      lossScale(static_cast<float>(buffers.loss_scale)),
      randomKey(randomKeyOf(layer, buffers)) {}

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
    base = &lossScale;
    break;
  case Space::Constants:
    base = constants;
    break;
  case Space::RandomKey:
    base = &randomKey;
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

/// 0; or 1, with lastFault().
static int32_t runGraph(const Task &task, const Spaces &spaces) {
  const std::string name = "graph '" + std::string(task.graph->name) + "' ";
  // Most tasks have fewer; more do not happen twice in a thread.
  static thread_local std::vector<Tensor *> inputs, outputs;
  inputs.resize(task.numInputs);
  outputs.resize(task.numOutputs);
  void *model = modelOf(*task.graph);
  if (!model)
    return fail(name + "cannot be loaded");
  for (int32_t i = 0; i < task.numInputs; ++i)
    inputs[i] = tensorAt(task.inputs[i], spaces.at(task.inputs[i].place));
  Allocator allocator(task, spaces);
  Allocator::here() = &allocator;
  lastFault().clear();
  // The graph deletes its inputs, and hands over its outputs.
  const int32_t status = task.graph->run(model, inputs.data(), outputs.data());
  Allocator::here() = nullptr;
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
      std::memmove(place, outputs[i]->data(), outputs[i]->extent());
    deleteTensor(outputs[i]);
  }
  return 0;
}

const char *runTask(const Task &task, const rondo_layer &layer,
                    const rondo_task &buffers) {
  const Spaces spaces(layer, buffers, task.constants);
  if (task.graph && runGraph(task, spaces) != 0)
    return lastFault().c_str();
  for (int32_t c = 0; c < task.numCopies; ++c) {
    const Copy &copy = task.copies[c];
    if (!spaces.takes(copy.to))
      continue;
    if (copy.zeros)
      std::memset(spaces.at(copy.to), 0, copy.bytes);
    else
      std::memcpy(spaces.at(copy.to), spaces.at(copy.from), copy.bytes);
  }
  return nullptr;
}

} // namespace rondo::torch
