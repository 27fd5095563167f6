//===- state_layout.cpp - Where replicas and tensors lie ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/state.h"

#include "runtime/base/error.h"
#include "runtime/bodies/tensors.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::runtime;

static_assert(maxLayerTensors <= partialsPerLayer,
              "control memory has a partial norm for every tensor");

ReplicaBinding State::bindReplica(int32_t h, const ProgramDesc &program) {
  const ReplicaDesc &replica = exe.replicas[h];
  const StageDesc &stage = exe.stages[replica.stage];
  ReplicaBinding binding;
  binding.replica = &replica;
  binding.desc = &stage;
  binding.share = &program.shares[h];

  // Where each slot of a buffer is, the same in all programs.
  auto findAll = [&](Buffer buffer) -> std::vector<char *> {
    const PoolDesc *firstPool = nullptr;
    std::vector<int64_t> first;
    for (int32_t p = 0; p < exe.numPrograms; ++p) {
      const PlaceDesc &place = placeOf(exe.programs[p], h, buffer);
      if (place.pool < 0) {
        if (binding.share->bytes[static_cast<int>(buffer)] == 0)
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
                    "' lie at another place in program '" +
                    exe.programs[p].name + "' than in program '" +
                    exe.programs[0].name + "'");
      firstPool = &pool;
      first = here;
    }
    std::vector<char *> places;
    if (firstPool && processes.holds(firstPool->rank))
      for (int64_t offset : first)
        places.push_back(arenas[firstPool->rank]->base() + offset);
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
  binding.weights = findAll(Buffer::Weights);
  if (binding.weights.size() > 1 && replica.shards > 1)
    throw Error("stage '" + std::string(stage.name) + "' has " +
                std::to_string(binding.weights.size()) +
                " slots for its weights; a stage whose state is sharded has 1");
  if (binding.weights.size() > 1 &&
      exe.layers[stage.firstLayer].target != Target::Cpu)
    throw Error("stage '" + std::string(stage.name) + "' has " +
                std::to_string(binding.weights.size()) +
                " slots for its weights; programs on GPUs have 1");
  binding.gradients = find(Buffer::Gradients);
  binding.moments = find(Buffer::Moments);
  binding.changes = find(Buffer::WeightChanges);
  if (char *control = find(Buffer::Control))
    binding.control = controlView(control, stage.numLayers);

  const LayerDesc *layers = program.layers + stage.firstLayer;
  if (binding.share->samples != samplesOf(program)) {
    binding.shared = layersOf(h, program);
    layers = binding.shared.data();
  }
  binding.innerBytes = innerBytes(layers, stage.numLayers);
  binding.numInner = numInnerBuffers(stage.numLayers);
  binding.unkeptOffset = stageSizes(layers, stage.numLayers).workspace -
                         unkeptBytes(layers, stage.numLayers);
  LayerBinding next;
  RecomputedSizes again;
  int64_t checkpoints = 0, copies = 0;
  for (int32_t l = 0; l < stage.numLayers; ++l) {
    LayerBinding layer = next;
    layer.desc = &layers[l];
    if (holds(h))
      layer.body = devices[replica.rank]->body(*layer.desc);
    layer.sizes = layerSizes(*layer.desc);
    if (replica.shards > 1) {
      // All that is gathered, in fp32, and then the copies.
      if (copyBytes(layer.sizes) > 0)
        layer.copyOffset =
            int64_t(sizeof(float)) * replica.shards * binding.shard + copies;
      copies += copyBytes(layer.sizes);
      next.weightsOffset += layer.sizes.gradients;
    } else {
      next.weightsOffset += layer.sizes.weights;
    }
    next.gradientsOffset += layer.sizes.gradients;
    next.momentsOffset += replica.shards > 1
                              ? layer.sizes.gradients
                              : momentBytes(layers, stage.numLayers, l);
    if (layers[l].recomputes) {
      layer.savedForInputGradOffset = again.forInputGrad;
      layer.savedForWeightGradOffset = again.forWeightGrad;
      again.forInputGrad += layer.sizes.savedForInputGrad;
      again.forWeightGrad += layer.sizes.savedForWeightGrad;
    } else {
      next.savedForInputGradOffset += layer.sizes.savedForInputGrad;
      next.savedForWeightGradOffset += layer.sizes.savedForWeightGrad;
    }
    if (l > 0 && beginsRecompute(layers, l)) {
      layer.checkpointOffset = checkpoints;
      checkpoints += layerSizes(layers[l - 1]).output;
    }
    next.dataOffset += layer.sizes.data;
    binding.layers.push_back(layer);
  }
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
  // The second moments lie behind the first ones.
  const int64_t eachMoment =
      binding.share->bytes[static_cast<int>(Buffer::Moments)] /
      std::max(exe.moments, 1);
  for (int32_t l = 0; l < stage.numLayers; ++l) {
    int32_t index = 0;
    for (const LayerTensor &layout : layerTensors(layers[l])) {
      Tensor tensor;
      tensor.name = tensorName(layout);
      tensor.sharedWith = layout.sharedWith ? layout.sharedWith : "";
      tensor.layout = layout;
      tensor.replica = h;
      tensor.owner = ownerOf(replica.stage);
      tensor.layerInStage = l;
      tensor.index = index++;
      tensor.count = layout.count;
      if (layout.sharedWith && replica.shards <= 1 &&
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
      auto at = [&](char *base) {
        return reinterpret_cast<float *>(base + 4 * offset);
      };
      if (holds(h) && tensor.count > 0) {
        char *weights =
            (binding.weights.empty() ? nullptr : binding.weights.front()) +
            layer.weightsOffset;
        tensor.weights = at(weights);
        tensor.gradients = at(binding.gradients + layer.gradientsOffset);
        const bool hasMoments = tensor.weightsFrom < 0;
        if (hasMoments && exe.moments > 0)
          tensor.moment1 = at(binding.moments + layer.momentsOffset);
        if (hasMoments && exe.moments > 1)
          tensor.moment2 =
              at(binding.moments + eachMoment + layer.momentsOffset);
        if (binding.changes)
          tensor.changes = at(binding.changes + layer.gradientsOffset);
        // After the fp32 weights, which are as large as the gradients. Shards
        // have none.
        if (layer.desc->dtype == DType::Bf16 && copyBytes(layer.sizes) > 0 &&
            binding.shard == 0)
          tensor.weightsCopy =
              weights + layer.sizes.gradients + 2 * layout.offset;
      }
      allTensors.push_back(tensor);
    }
  }
  binding.lastTensor = static_cast<int32_t>(allTensors.size());
}
