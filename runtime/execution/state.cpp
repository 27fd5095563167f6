//===- state.cpp - The arenas and their contents --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/state.h"

#include "runtime/base/error.h"
#include "runtime/bodies/custom.h"
#include "runtime/bodies/tensors.h"
#include "runtime/model/documents.h"

#include <algorithm>
#include <map>
#include <utility>

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

//===----------------------------------------------------------------------===//
// The layout of replicas and tensors.
//===----------------------------------------------------------------------===//

int64_t State::numPartials(const ReplicaDesc &replica) const {
  const StageDesc &stage = exe.stages[replica.stage];
  return partialsOf(exe.layers + stage.firstLayer, stage.numLayers);
}

namespace {

/// Slots of a buffer that lies at the same offsets in all programs.
struct BufferSlots {
  /// Null: no program has it.
  const PoolDesc *pool = nullptr;
  std::vector<int64_t> offsets;
};

} // namespace

/// Throws Error if the programs differ, or if one lacks a buffer of more than 0
/// bytes.
static BufferSlots slotsOf(const Executable &exe, int32_t h, Buffer buffer,
                           int64_t bytes) {
  const StageDesc &stage = exe.stages[exe.replicas[h].stage];
  const PoolDesc *firstPool = nullptr;
  std::vector<int64_t> first;
  for (int32_t p = 0; p < exe.numPrograms; ++p) {
    const PlaceDesc &place = placeOf(exe.programs[p], h, buffer);
    if (place.pool < 0) {
      if (bytes == 0)
        continue;
      throw Error("stage '" + std::string(stage.name) + "' has no " +
                  traitsOf(buffer).keyword + " in program '" +
                  exe.programs[p].name + "'");
    }
    const PoolDesc &pool = exe.programs[p].pools[place.pool];
    std::vector<int64_t> here;
    for (int32_t i = 0; i < numListed(place); ++i)
      here.push_back(pool.offset + slotOf(place, i) * pool.slotBytes);
    if (firstPool && (pool.rank != firstPool->rank || here != first))
      throw Error("the " + std::string(traitsOf(buffer).keyword) +
                  " of stage '" + stage.name +
                  "' lie at another place in program '" + exe.programs[p].name +
                  "' than in program '" + exe.programs[0].name + "'");
    firstPool = &pool;
    first = here;
  }
  return {firstPool, first};
}

/// `device` has the bodies; null: another process holds the replica.
static std::vector<LayerBinding> bindLayers(const ReplicaBinding &binding,
                                            const LayerDesc *layers,
                                            const Device *device) {
  const int32_t count = binding.desc->numLayers;
  std::vector<LayerBinding> bound;
  LayerBinding next;
  RecomputedSizes again;
  OffloadedSizes away;
  int64_t checkpoints = 0, copies = 0;
  for (int32_t l = 0; l < count; ++l) {
    LayerBinding layer = next;
    layer.desc = &layers[l];
    if (device)
      layer.body = tasksOf(*layer.desc, device->body(*layer.desc));
    layer.sizes = layerSizes(*layer.desc);
    layer.isRunning = findRunning(*layer.desc).has_value();
    if (binding.replica->shards > 1) {
      // All that is gathered, in fp32, and then the copies.
      if (copyBytes(layer.sizes) > 0)
        layer.copyOffset =
            int64_t(sizeof(float)) * binding.replica->shards * binding.shard +
            copies;
      copies += copyBytes(layer.sizes);
      next.weightsOffset += layer.sizes.gradients;
    } else {
      next.weightsOffset += layer.sizes.weights;
    }
    next.gradientsOffset += layer.sizes.gradients;
    next.momentsOffset += binding.replica->shards > 1
                              ? layer.sizes.gradients
                              : momentBytes(layers, count, l);
    if (layers[l].recomputes) {
      layer.savedForInputGradOffset = again.forInputGrad;
      layer.savedForWeightGradOffset = again.forWeightGrad;
      again.forInputGrad += layer.sizes.savedForInputGrad;
      again.forWeightGrad += layer.sizes.savedForWeightGrad;
    } else {
      const LayerSizes &sizes = layer.sizes;
      layer.awayForInputGradOffset = away.forInputGrad;
      layer.awayForWeightGradOffset = away.forWeightGrad;
      away.forInputGrad += sizes.awayForInputGrad;
      away.forWeightGrad += sizes.awayForWeightGrad;
      next.savedForInputGradOffset +=
          sizes.savedForInputGrad - sizes.awayForInputGrad;
      next.savedForWeightGradOffset +=
          sizes.savedForWeightGrad - sizes.awayForWeightGrad;
    }
    if (const int64_t bytes = checkpointBytesOf(layers, l); bytes > 0)
      layer.checkpointOffset = std::exchange(checkpoints, checkpoints + bytes);
    next.keptForWeightGradOffset += layer.sizes.keptForWeightGrad;
    next.dataOffset += layer.sizes.data;
    bound.push_back(layer);
  }
  return bound;
}

ReplicaBinding State::bindReplica(int32_t h, const ProgramDesc &program) {
  const ReplicaDesc &replica = exe.replicas[h];
  const StageDesc &stage = exe.stages[replica.stage];
  ReplicaBinding binding;
  binding.replica = &replica;
  binding.desc = &stage;
  binding.share = &program.shares[h];

  // The address of each slot of a buffer.
  auto findAll = [&](Buffer buffer) -> std::vector<char *> {
    const BufferSlots slots =
        slotsOf(exe, h, buffer, binding.share->bytes[static_cast<int>(buffer)]);
    std::vector<char *> places;
    if (slots.pool && processes.holds(slots.pool->rank))
      for (int64_t offset : slots.offsets)
        places.push_back(arenas[slots.pool->rank]->base() + offset);
    return places;
  };
  auto find = [&](Buffer buffer) -> char * {
    const std::vector<char *> places = findAll(buffer);
    return places.empty() ? nullptr : places.front();
  };
  if (replica.shards > 1)
    binding.shard = elementsOfShard(
        alignedBytes(
            stageSizes(program.layers + stage.firstLayer, stage.numLayers)
                .gradients) /
            int64_t(sizeof(float)),
        replica.shards);
  if (stage.momentShards > 1)
    binding.momentShard = elementsOfShard(
        alignedBytes(
            stageSizes(program.layers + stage.firstLayer, stage.numLayers)
                .gradients) /
            int64_t(sizeof(float)),
        stage.momentShards);
  binding.weights = findAll(Buffer::Weights);
  if (binding.weights.size() > 1 && replica.shards > 1)
    throw Error("stage '" + std::string(stage.name) + "' has " +
                std::to_string(binding.weights.size()) +
                " slots for its weights; a stage whose state is sharded has 1");
  binding.gradients = find(Buffer::Gradients);
  binding.moments = find(Buffer::Moments);
  binding.changes = find(Buffer::WeightChanges);
  if (char *control = find(Buffer::Control)) {
    const LayerDesc *own = exe.layers + stage.firstLayer;
    const int64_t most = maxMicrobatches(exe);
    const bool writesLoss = std::any_of(own, own + stage.numLayers, hasLoss);
    binding.control =
        controlView(control, numPartials(replica), writesLoss ? most : 0,
                    numStarts(own, stage.numLayers, most) > 0);
  }

  const LayerDesc *layers = program.layers + stage.firstLayer;
  if (binding.share->samples != samplesOf(program)) {
    binding.shared = layersOf(exe, program, h);
    layers = binding.shared.data();
  }
  binding.innerBytes = innerBytes(layers, stage.numLayers);
  binding.numInner = numInnerBuffers(stage.numLayers);
  binding.unkeptOffset = stageSizes(layers, stage.numLayers).workspace -
                         unkeptBytes(layers, stage.numLayers);
  binding.layers = bindLayers(binding, layers,
                              holds(h) ? devices[replica.rank].get() : nullptr);
  return binding;
}

/// The number of a tensor in a stage, some of whose tensors are bound.
int32_t State::numberIn(const ReplicaBinding &binding,
                        const std::string &name) const {
  const auto begin = allTensors.begin() + binding.firstTensor;
  return static_cast<int32_t>(std::find_if(begin, allTensors.end(),
                                           [&](const Tensor &tensor) {
                                             return tensor.sharedWith.empty() &&
                                                    tensor.name == name;
                                           }) -
                              begin);
}

/// Tensors are the same for all micro-batch sizes.
void State::bindTensors(int32_t h) {
  ReplicaBinding &binding = bindings.front()[h];
  const ReplicaDesc &replica = *binding.replica;
  const StageDesc &stage = *binding.desc;
  const LayerDesc *layers = exe.layers + stage.firstLayer;
  binding.firstTensor = static_cast<int32_t>(allTensors.size());
  // The second moments follow the first ones.
  const int64_t eachMoment =
      binding.share->bytes[static_cast<int>(Buffer::Moments)] /
      std::max(exe.moments, 1);
  for (int32_t l = 0; l < stage.numLayers; ++l) {
    int64_t partial = partialsOf(layers, l);
    for (const LayerTensor &layout : layerTensors(layers[l])) {
      Tensor tensor;
      tensor.name = tensorName(layout);
      tensor.sharedWith = layout.sharedWith ? layout.sharedWith : "";
      tensor.layout = layout;
      tensor.replica = h;
      tensor.owner = ownerOf(replica.stage);
      tensor.layerInStage = l;
      tensor.partial = partial++;
      tensor.count = layout.count;
      if (layout.sharedWith && replica.shards <= 1 && stage.momentShards <= 1 &&
          isTiedInStage(layers, stage.numLayers, l))
        tensor.weightsFrom = numberIn(binding, layout.sharedWith);
      const LayerBinding &layer = binding.layers[l];
      int64_t offset = layout.offset;
      if (binding.shard > 0) {
        // Weights and gradients of a layer are at one place of the stage's.
        const int64_t begin = layer.gradientsOffset / 4 + offset,
                      shard = replica.shard * binding.shard;
        tensor.first = std::clamp<int64_t>(shard - begin, 0, layout.count);
        tensor.count = std::clamp<int64_t>(shard + binding.shard - begin, 0,
                                           layout.count) -
                       tensor.first;
        offset += tensor.first - shard;
      }
      tensor.firstMoment = tensor.first;
      tensor.numMoments = layout.isFrozen ? 0 : tensor.count;
      // Moments of a tensor, in elements from the first of the shard.
      int64_t momentOffset = layer.momentsOffset / 4 + offset;
      if (binding.momentShard > 0 && !layout.isFrozen) {
        const int64_t begin = layer.gradientsOffset / 4 + offset,
                      shard = replica.index % stage.momentShards *
                              binding.momentShard;
        tensor.firstMoment =
            std::clamp<int64_t>(shard - begin, 0, layout.count);
        tensor.numMoments =
            std::clamp<int64_t>(shard + binding.momentShard - begin, 0,
                                layout.count) -
            tensor.firstMoment;
        momentOffset = begin + tensor.firstMoment - shard;
      }
      auto at = [&](char *base) {
        return reinterpret_cast<float *>(base + 4 * offset);
      };
      if (holds(h) && tensor.count > 0) {
        char *weights =
            (binding.weights.empty() ? nullptr : binding.weights.front()) +
            layer.weightsOffset;
        tensor.weights = at(weights);
        const bool isTrained = !layout.isFrozen;
        if (isTrained)
          tensor.gradients = at(binding.gradients + layer.gradientsOffset);
        const bool hasMoments = isTrained && tensor.weightsFrom < 0;
        auto momentAt = [&](char *base) {
          return reinterpret_cast<float *>(base + 4 * momentOffset);
        };
        if (hasMoments && exe.moments > 0)
          tensor.moment1 = momentAt(binding.moments);
        if (hasMoments && exe.moments > 1)
          tensor.moment2 = momentAt(binding.moments + eachMoment);
        if (isTrained && binding.changes)
          tensor.changes = at(binding.changes + layer.gradientsOffset);
        // After the fp32 weights. Shards have none.
        if (layer.desc->dtype == DType::Bf16 && copyBytes(layer.sizes) > 0 &&
            binding.shard == 0)
          tensor.weightsCopy = weights + layer.sizes.gradients +
                               alignedBytes(layer.desc->custom.frozenBytes) +
                               2 * layout.offset;
      }
      allTensors.push_back(tensor);
    }
  }
  binding.lastTensor = static_cast<int32_t>(allTensors.size());
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
