//===- state.cpp - The arenas and their contents --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/state.h"

#include "runtime/bodies/tensors.h"
#include "runtime/model/documents.h"

#include <algorithm>
#include <map>

using namespace rondo::runtime;
using namespace rondo;

State::State(const Executable &executable, const World &world,
             const OnRanks &onRanks)
    : exe(executable), processes(world) {
  checkReplicas();
  checkGroups();
  for (int32_t h = 0; h < exe.numReplicas; ++h)
    if (exe.replicas[h].index == 0)
      owners.push_back(h);
  for (int32_t l = 0; l < exe.numLayers; ++l)
    checkCustom(exe.layers[l]);
  checkTensorNames();
  checkRunningTensors();
  // A program for each micro-batch size.
  std::vector<ProgramDesc> sizes;
  for (int32_t p = 0; p < exe.numPrograms; ++p) {
    const ProgramDesc &program = exe.programs[p];
    checkProgram(program);
    if (program.uneven)
      program.uneven->check(exe, program);
    sizesOf.emplace_back();
    for (int32_t k = 0; k < (program.uneven ? program.uneven->numSizes : 1);
         ++k) {
      ProgramDesc ofSize = program;
      if (program.uneven) {
        ofSize.layers = program.uneven->sizes[k].layers;
        ofSize.shares = program.uneven->sizes[k].shares;
      }
      checkShares(ofSize);
      checkOtherSizes(ofSize);
      checkStages(ofSize);
      auto same = std::find_if(sizes.begin(), sizes.end(),
                               [&](const ProgramDesc &other) {
                                 return other.shares == ofSize.shares &&
                                        other.layers == ofSize.layers;
                               });
      sizesOf.back().push_back(static_cast<int32_t>(same - sizes.begin()));
      if (same == sizes.end())
        sizes.push_back(ofSize);
    }
    checkEdges(program);
    checkOverlap(program);
    checkShards(program);
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
  hostArenas.resize(exe.hostArenaBytes ? exe.numRanks : 0);
  for (int32_t r = 0; r < static_cast<int32_t>(hostArenas.size()); ++r)
    if (world.holds(r))
      hostArenas[r] = devices[r]->makeHostArena(exe.hostArenaBytes[r]);
  for (const ProgramDesc &program : sizes) {
    bindings.emplace_back();
    for (int32_t h = 0; h < exe.numReplicas; ++h)
      bindings.back().push_back(bindReplica(h, program));
  }
  for (std::vector<ReplicaBinding> &size : bindings)
    loadBodies(size, loadedBodies);
  prepareDevices();
  for (int32_t h = 0; h < exe.numReplicas; ++h)
    bindTensors(h);
  for (size_t h = 0; h < bindings.front().size(); ++h) {
    ReplicaBinding &binding = bindings.front()[h];
    StageTensors &optimized = binding.optimized;
    optimized.tensors = allTensors.data() + binding.firstTensor;
    optimized.numTensors = binding.lastTensor - binding.firstTensor;
    optimized.numPartials = numPartials(*binding.replica);
    optimized.control = binding.control;
    optimized.gradients = binding.gradients;
    optimized.gradientBytes =
        binding.share->bytes[static_cast<int>(Buffer::Gradients)];
    for (std::vector<ReplicaBinding> &others : bindings)
      others[h].takeTensors(binding);
  }
  int32_t latest = 0;
  for (int32_t p = 0; p < exe.numPrograms; ++p)
    latest = std::max(latest, normDelay(exe.programs[p]));
  lateParts.resize(exe.numReplicas);
  for (int32_t h = 0; h < exe.numReplicas; ++h)
    for (int32_t k = 0; holds(h) && k < latest; ++k)
      // At least one, since collectives are told apart by the addresses.
      lateParts[h].push_back(devices[exe.replicas[h].rank]->makeArena(
          int64_t(sizeof(double)) *
          std::max<int64_t>(1, numPartials(exe.replicas[h]))));
}

static bool areMoments(float *Tensor::*values) {
  return values == &Tensor::moment1 || values == &Tensor::moment2;
}

State::Part State::partHere(const Tensor &tensor, float *Tensor::*values) {
  return areMoments(values)
             ? Part{tensor.replica, tensor.*values, tensor.firstMoment,
                    tensor.numMoments}
             : Part{tensor.replica, tensor.*values, tensor.first, tensor.count};
}

std::vector<State::Part> State::partsOf(const Tensor &tensor,
                                        float *Tensor::*values) const {
  const int32_t number = static_cast<int32_t>(&tensor - allTensors.data()) -
                         replicas()[tensor.replica].firstTensor;
  const ReplicaDesc &first = exe.replicas[tensor.replica];
  const int32_t momentShards = exe.stages[first.stage].momentShards;
  const int32_t shards =
      areMoments(values) && momentShards > 1 ? momentShards : first.shards;
  std::vector<Part> parts;
  for (int32_t p = 0; p < shards; ++p) {
    const Part part = partHere(
        allTensors[replicas()[tensor.replica + p].firstTensor + number],
        values);
    if (part.count > 0)
      parts.push_back(part);
  }
  return parts;
}

void State::poison() {
  // All ones is NaN in every floating-point type.
  for (const auto *all : {&arenas, &hostArenas})
    for (const std::unique_ptr<Arena> &arena : *all)
      if (arena)
        arena->fill(arena->base(), 0xff, arena->bytes());
  poisoned = true;
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
    for (int32_t t = binding.firstTensor; t < binding.lastTensor; ++t) {
      Tensor &tensor = allTensors[t];
      tensor.weights += distance / static_cast<int64_t>(sizeof(float));
      if (tensor.weightsCopy)
        tensor.weightsCopy = static_cast<char *>(tensor.weightsCopy) + distance;
    }
  }
  for (std::vector<ReplicaBinding> &sizes : bindings)
    sizes[replica].version = version;
}

void State::nextVersion(int32_t replica, Device &device) {
  const ReplicaBinding &binding = replicas()[replica];
  const int64_t slots = static_cast<int64_t>(binding.weights.size());
  if (slots > 1)
    device.copy(binding.weights[(binding.version + 1) % slots],
                binding.weights[binding.version % slots],
                binding.share->bytes[static_cast<int>(Buffer::Weights)]);
  moveTensors(replica, binding.version + 1);
}

void State::returnToFirstSlot(int32_t replica, Device &device) {
  const ReplicaBinding &binding = replicas()[replica];
  const int64_t slots = static_cast<int64_t>(binding.weights.size());
  if (slots > 1 && binding.version % slots != 0)
    device.copy(binding.weights.front(),
                binding.weights[binding.version % slots],
                binding.share->bytes[static_cast<int>(Buffer::Weights)]);
  moveTensors(replica, 0);
}

void State::weightsWritten() {
  for (const ReplicaBinding &binding : replicas())
    if (processes.holds(binding.replica->rank))
      devices[binding.replica->rank]->weightsWritten(binding.optimized);
}

void State::loadBodies(std::vector<ReplicaBinding> &replicas,
                       std::vector<std::unique_ptr<LoadedBody>> &bodies) {
  for (ReplicaBinding &binding : replicas) {
    const int32_t rank = binding.replica->rank;
    if (!processes.holds(rank))
      continue;
    for (LayerBinding &layer : binding.layers) {
      if (layer.desc->kind != LayerKind::Custom)
        continue;
      bodies.push_back(std::make_unique<LoadedBody>(*layer.desc, rank,
                                                    devices[rank]->place()));
      layer.state = bodies.back()->get();
    }
  }
}

/// Whether the rank's arena may have any content now. `rowTokens`: of the
/// micro-batch; 0: as many as the layers have.
bool State::prepare(const ReplicaBinding &binding, int64_t rowTokens) {
  const int32_t rank = binding.replica->rank;
  bool isUsed = false;
  for (const LayerBinding &layer : binding.layers) {
    const LayerDesc desc =
        rowTokens > 0
            ? rowOfDocuments(*layer.desc, static_cast<int32_t>(rowTokens))
            : *layer.desc;
    isUsed |= devices[rank]->prepare(desc, layer.state, *arenas[rank]);
  }
  return isUsed;
}

void State::prepareDevices() {
  std::vector<bool> isUsed(arenas.size());
  const UnevenDesc *uneven = exe.programs[0].uneven;
  const BatchLimitsDesc *limits = uneven ? uneven->limits : nullptr;
  for (const std::vector<ReplicaBinding> &size : bindings)
    for (const ReplicaBinding &binding : size) {
      const int32_t rank = binding.replica->rank;
      if (!processes.holds(rank))
        continue;
      if (prepare(binding))
        isUsed[rank] = true;
      // Rows of later batches, which the grid makes few.
      const int64_t grid =
          limits ? rowGrid(binding.layers[0].desc->target, limits->rowTokens)
                 : 1;
      for (int64_t tokens = grid; grid > 1 && tokens < limits->rowTokens;
           tokens += grid)
        if (prepare(binding, tokens))
          isUsed[rank] = true;
    }
  for (size_t rank = 0; rank < arenas.size(); ++rank)
    if (isUsed[rank])
      arenas[rank]->fill(arenas[rank]->base(), 0, arenas[rank]->bytes());
}

int64_t State::allocatedBytes() const {
  int64_t bytes = 0;
  for (const std::unique_ptr<Arena> &arena : arenas)
    bytes += arena ? arena->bytes() : 0;
  return bytes;
}

int64_t State::bytesInUse() const {
  std::map<int, int64_t> byPlace;
  for (const std::unique_ptr<Device> &device : devices)
    if (device)
      byPlace[device->place()] = device->bytesInUse();
  int64_t bytes = byPlace.empty() ? -1 : 0;
  for (const auto &[place, inUse] : byPlace) {
    if (inUse < 0)
      return -1;
    bytes += inUse;
  }
  return bytes;
}
