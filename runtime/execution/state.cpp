//===- state.cpp - The arenas and their contents --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/state.h"

#include "runtime/base/error.h"
#include "runtime/base/half.h"
#include "runtime/bodies/custom.h"
#include "runtime/bodies/tensors.h"

#include <algorithm>
#include <cstring>

using namespace rondo;
using namespace rondo::runtime;

State::State(const Executable &executable, const World &world,
             const OnRanks &onRanks)
    : exe(executable), processes(world) {
  checkReplicas();
  checkGroups();
  for (int32_t h = 0; h < exe.numReplicas; ++h)
    if (exe.replicas[h].index == 0)
      owners.push_back(h);
  for (int32_t l = 0; l < exe.numLayers; ++l)
    if (exe.layers[l].kind == LayerKind::Custom)
      checkCustomLayer(exe.layers[l]);
  checkTensorNames();
  // A program for each micro-batch size.
  std::vector<const ProgramDesc *> sizes;
  for (int32_t p = 0; p < exe.numPrograms; ++p) {
    const ProgramDesc &program = exe.programs[p];
    checkShares(program);
    checkProgram(program);
    checkStages(program);
    checkEdges(program);
    checkOverlap(program);
    checkShards(program);
    auto same =
        std::find_if(sizes.begin(), sizes.end(), [&](const ProgramDesc *other) {
          return other->shares == program.shares &&
                 other->layers == program.layers;
        });
    sizesOf.push_back(static_cast<int32_t>(same - sizes.begin()));
    if (same == sizes.end())
      sizes.push_back(&program);
  }
  devices.resize(exe.numRanks);
  arenas.resize(exe.numRanks);
  for (int32_t r = 0; r < exe.numRanks; ++r) {
    if (!world.holds(r))
      continue;
    devices[r] = backendOf(exe).makeDevice(r, exe.numRanks, world);
    if (!onRanks)
      arenas[r] = devices[r]->makeArena(exe.arenaBytes[r]);
  }
  if (onRanks)
    onRanks([&](int32_t r) {
      arenas[r] = devices[r]->makeArena(exe.arenaBytes[r]);
    });
  for (const ProgramDesc *program : sizes) {
    bindings.emplace_back();
    for (int32_t h = 0; h < exe.numReplicas; ++h)
      bindings.back().push_back(bindReplica(h, *program));
  }
  prepareDevices();
  for (int32_t h = 0; h < exe.numReplicas; ++h)
    bindTensors(h);
  for (size_t h = 0; h < bindings.front().size(); ++h) {
    ReplicaBinding &binding = bindings.front()[h];
    StageTensors &optimized = binding.optimized;
    optimized.tensors = allTensors.data() + binding.firstTensor;
    optimized.numTensors = binding.lastTensor - binding.firstTensor;
    optimized.numLayers = binding.desc->numLayers;
    optimized.control = binding.control;
    optimized.gradients = binding.gradients;
    optimized.gradientBytes =
        binding.share->bytes[static_cast<int>(Buffer::Gradients)];
    for (std::vector<ReplicaBinding> &others : bindings) {
      others[h].optimized = optimized;
      others[h].firstTensor = binding.firstTensor;
      others[h].lastTensor = binding.lastTensor;
    }
  }
  int32_t latest = 0;
  for (int32_t p = 0; p < exe.numPrograms; ++p)
    latest = std::max(latest, normDelay(exe.programs[p]));
  lateParts.resize(exe.numReplicas);
  for (int32_t h = 0; h < exe.numReplicas; ++h)
    for (int32_t k = 0; holds(h) && k < latest; ++k)
      lateParts[h].push_back(std::make_unique<double[]>(
          partialsPerLayer * exe.stages[exe.replicas[h].stage].numLayers));
}

std::vector<const Tensor *> State::shardsOf(const Tensor &tensor) const {
  const int32_t number = static_cast<int32_t>(&tensor - allTensors.data()) -
                         replicas()[tensor.replica].firstTensor;
  std::vector<const Tensor *> shards;
  for (int32_t p = 0; p < exe.replicas[tensor.replica].shards; ++p) {
    const Tensor &shard =
        allTensors[replicas()[tensor.replica + p].firstTensor + number];
    if (shard.count > 0)
      shards.push_back(&shard);
  }
  return shards;
}

void State::poison() {
  // All ones is NaN in every floating-point type.
  for (const std::unique_ptr<Arena> &arena : arenas)
    if (arena)
      arena->fill(arena->base(), 0xff, arena->bytes());
}

void State::initialise(uint64_t seed) {
  int32_t blocks = 0;
  for (int32_t l = 0; l < exe.numLayers; ++l)
    blocks += rowOf(exe.layers[l].kind).isResidual;
  for (const ReplicaBinding &binding : replicas()) {
    if (!processes.holds(binding.replica->rank))
      continue;
    moveTensors(static_cast<int32_t>(&binding - replicas().data()), 0);
    Arena &replica = arena(binding.replica->rank);
    auto zero = [&](char *where, Buffer buffer) {
      if (where)
        replica.fill(where, 0, binding.share->bytes[static_cast<int>(buffer)]);
    };
    for (char *weights : binding.weights)
      zero(weights, Buffer::Weights);
    zero(binding.gradients, Buffer::Gradients);
    zero(binding.moments, Buffer::Moments);
    zero(binding.changes, Buffer::WeightChanges);
    zero(reinterpret_cast<char *>(binding.control.header), Buffer::Control);
    ControlHeader header{};
    header.isFinite = 1;
    replica.write(binding.control.header, &header, sizeof header);
  }
  std::vector<float> values;
  for (const Tensor &tensor : allTensors) {
    if (!holds(tensor.replica))
      continue;
    LayerTensor layout = tensor.layout;
    layout.offset = 0;
    if (tensor.count == 0)
      continue;
    values.resize(layout.count);
    initialiseTensor(layout, seed, blocks, values.data());
    write(tensor.replica, tensor.weights, values.data() + tensor.first,
          4 * tensor.count);
  }
  weightsWritten();
}

void State::moveTensors(int32_t replica, int64_t version) {
  const ReplicaBinding &binding = replicas()[replica];
  const int64_t slots = static_cast<int64_t>(binding.weights.size());
  if (slots > 1) {
    const int64_t distance = binding.weights[version % slots] -
                             binding.weights[binding.version % slots];
    for (int32_t t = binding.firstTensor; t < binding.lastTensor; ++t)
      allTensors[t].weights += distance / static_cast<int64_t>(sizeof(float));
  }
  for (std::vector<ReplicaBinding> &sizes : bindings)
    sizes[replica].version = version;
}

void State::nextVersion(int32_t replica) {
  const ReplicaBinding &binding = replicas()[replica];
  const int64_t slots = static_cast<int64_t>(binding.weights.size());
  // A CPU's memory is the host's. Other devices have only one slot.
  if (slots > 1)
    arena(binding.replica->rank)
        .write(binding.weights[(binding.version + 1) % slots],
               binding.weights[binding.version % slots],
               binding.share->bytes[static_cast<int>(Buffer::Weights)]);
  moveTensors(replica, binding.version + 1);
}

void State::weightsWritten() {
  for (const ReplicaBinding &binding : replicas())
    if (processes.holds(binding.replica->rank))
      devices[binding.replica->rank]->weightsWritten(binding.optimized);
}

void State::keepLogits(int32_t replica) {
  if (!holds(replica))
    return;
  int64_t bytes = 0;
  for (const std::vector<ReplicaBinding> &sizes : bindings) {
    const LayerDesc &head = *sizes[replica].layers.back().desc;
    bytes = std::max(bytes, numTokens(head) * logitsStride(head) *
                                cuda::elementBytes(head.dtype));
  }
  logits.resize(exe.numReplicas);
  logits[replica] = devices[exe.replicas[replica].rank]->makeArena(bytes);
  for (std::vector<ReplicaBinding> &sizes : bindings)
    sizes[replica].logits = logits[replica]->base();
}

std::vector<float> State::readLogits(int32_t replica, int64_t first,
                                     int64_t count) const {
  const LayerDesc &head = *replicas()[replica].layers.back().desc;
  const int64_t stride = logitsStride(head),
                size = cuda::elementBytes(head.dtype);
  std::vector<char> bytes(count * stride * size);
  logits[replica]->read(bytes.data(),
                        logits[replica]->base() + first * stride * size,
                        static_cast<int64_t>(bytes.size()));
  std::vector<float> values(count * head.vocab);
  float *value = values.data();
  for (int64_t t = 0; t < count; ++t)
    for (int64_t j = 0; j < head.vocab; ++j, ++value) {
      const char *from = bytes.data() + (t * stride + j) * size;
      if (head.dtype == DType::Bf16) {
        uint16_t half;
        std::memcpy(&half, from, sizeof half);
        *value = fromBf16(half);
      } else {
        std::memcpy(value, from, sizeof *value);
      }
    }
  return values;
}
