//===- state_bindings.cpp - Where replicas and tensors lie ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/state.h"

#include "runtime/base/error.h"
#include "runtime/bodies/tensors.h"

#include <algorithm>
#include <utility>

using namespace rondo::runtime;
using namespace rondo;

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
  auto elementsOf = [&](int32_t shards) {
    const LayerSizes sizes =
        stageSizes(program.layers + stage.firstLayer, stage.numLayers);
    return elementsOfShard(
        alignedBytes(sizes.gradients) / int64_t(sizeof(float)), shards);
  };
  if (replica.shards > 1)
    binding.shard = elementsOf(replica.shards);
  if (stage.momentShards > 1)
    binding.momentShard = elementsOf(stage.momentShards);
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
