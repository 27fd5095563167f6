//===- state_checks.cpp - Checks an executable's tables -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/state.h"

#include "runtime/base/error.h"
#include "runtime/bodies/tensors.h"
#include "runtime/model/share.h"

#include <algorithm>
#include <map>
#include <set>

using namespace rondo;
using namespace rondo::runtime;

void State::checkProgram(const ProgramDesc &program) const {
  auto fail = [&](const std::string &what) {
    throw Error("program '" + std::string(program.name) + "': " + what);
  };
  if (program.id < 0 || program.id >= exe.numPrograms ||
      &exe.programs[program.id] != &program)
    fail("its number is " + std::to_string(program.id) +
         ", which is not its place");
  const ProgramDesc &first = exe.programs[0];
  if (int64_t(program.microbatches) * std::max(program.samples, 1) !=
      int64_t(first.microbatches) * std::max(first.samples, 1))
    fail("it takes " + std::to_string(program.microbatches) +
         " micro-batches of " + std::to_string(program.samples) +
         " samples an iteration, program '" + first.name + "' takes " +
         std::to_string(first.microbatches) + " of " +
         std::to_string(first.samples));
  for (int32_t p = 0; p < program.numPools; ++p) {
    const PoolDesc &pool = program.pools[p];
    // Rule L4. Division avoids overflow of the product.
    if (pool.rank < 0 || pool.rank >= exe.numRanks || pool.offset < 0 ||
        pool.slotBytes < 0 || pool.slots < 0 ||
        pool.offset % bufferAlignment != 0 ||
        (pool.slots > 1 && pool.slotBytes % bufferAlignment != 0) ||
        pool.offset > exe.arenaBytes[pool.rank] ||
        (pool.slots > 0 &&
         pool.slotBytes >
             (exe.arenaBytes[pool.rank] - pool.offset) / pool.slots))
      fail("pool " + std::to_string(p) + " of " + std::to_string(pool.slots) +
           " slots of " + std::to_string(pool.slotBytes) + " bytes at " +
           std::to_string(pool.offset) + " does not lie in the arena of rank " +
           std::to_string(pool.rank));
  }
  auto checkPlace = [&](const PlaceDesc &place, const std::string &what,
                        const std::string &name, int64_t bytes) {
    if (place.pool < 0)
      return;
    if (place.pool >= program.numPools || place.period < 1)
      fail(name + " has no pool " + std::to_string(place.pool));
    const PoolDesc &pool = program.pools[place.pool];
    bool areThere = true;
    for (int32_t i = 0; i < numListed(place); ++i)
      areThere &= slotOf(place, i) < pool.slots;
    if (!areThere)
      fail(what + " of " + name + " lies in a slot that pool " +
           std::to_string(place.pool) + " does not have");
    if (pool.slotBytes < bytes)
      fail("slots of " + what + " of " + name + " have " +
           std::to_string(pool.slotBytes) + " bytes, it needs " +
           std::to_string(bytes));
  };
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    const StageDesc &stage = exe.stages[exe.replicas[h].stage];
    const std::string name = "stage '" + std::string(stage.name) + "'";
    if (program.rankOfReplica[h] < 0 ||
        program.rankOfReplica[h] >= program.numRanks)
      fail(name + " is on rank " + std::to_string(program.rankOfReplica[h]) +
           " of " + std::to_string(program.numRanks));
    // Parts of one tensor come into one place.
    std::set<int32_t> inputs;
    for (int32_t e = 0; e < exe.numEdges; ++e)
      if (exe.edges[e].to == h && exe.edges[e].message == Message::Activation)
        inputs.insert(exe.edges[e].received);
    for (int b = 0; b < numBuffers; ++b) {
      // If there are several inputs, each has the size of its edge.
      const bool isOneOfSeveral =
          inputs.size() > 1 &&
          (Buffer(b) == Buffer::Input || Buffer(b) == Buffer::InputGrad ||
           Buffer(b) == Buffer::RecomputedInput);
      checkPlace(placeOf(program, h, Buffer(b)), bufferTable[b].keyword, name,
                 isOneOfSeveral ? 0 : program.shares[h].bytes[b]);
    }
  }
  for (int32_t r = 0; program.staging && r < program.numRanks; ++r) {
    const int32_t pool = program.staging[r];
    if (pool >= program.numPools)
      fail("the staging of rank " + std::to_string(r) + " has no pool " +
           std::to_string(pool));
    if (pool >= 0 &&
        (program.pools[pool].rank != r || program.pools[pool].slots != 1))
      fail("the staging of rank " + std::to_string(r) + " is pool " +
           std::to_string(pool) + " of " +
           std::to_string(program.pools[pool].slots) + " slots on rank " +
           std::to_string(program.pools[pool].rank) +
           "; it has one slot on its own rank");
  }
  for (int32_t p = exe.numReplicas * numBuffers; p < program.numPlaces; ++p)
    checkPlace(program.places[p], "a message", "place " + std::to_string(p), 0);
}

/// Tied tensors share a weight and its name.
void State::checkTensorNames() const {
  std::map<std::string, const char *> layerOf;
  for (int32_t l = 0; l < exe.numLayers; ++l)
    for (const LayerTensor &tensor : layerTensors(exe.layers[l])) {
      if (tensor.sharedWith)
        continue;
      const auto [it, isNew] =
          layerOf.try_emplace(tensorName(tensor), exe.layers[l].name);
      if (!isNew)
        throw Error("layers '" + std::string(it->second) + "' and '" +
                    exe.layers[l].name + "' both have a tensor named '" +
                    it->first +
                    "', and a checkpoint finds tensors by name: rename a layer "
                    "or the tensor");
    }
}

void State::checkReplicas() const {
  auto fail = [&](int32_t h, const std::string &what) {
    throw Error("'" + std::string(exe.name) + "': replica " +
                std::to_string(h) + " of " + std::to_string(exe.numReplicas) +
                " " + what);
  };
  int32_t stage = -1, replicaIndex = 0;
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    const ReplicaDesc &replica = exe.replicas[h];
    replicaIndex = replica.stage == stage ? replicaIndex + 1 : 0;
    const bool isNext = replica.stage == stage || replica.stage == stage + 1;
    stage = replica.stage;
    if (!isNext || stage < 0 || stage >= exe.numStages ||
        replica.index != replicaIndex)
      fail(h, "is replica " + std::to_string(replica.index) + " of stage " +
                  std::to_string(stage) + " of " +
                  std::to_string(exe.numStages) +
                  "; replicas are listed by stage and then by replica");
    if (replica.rank < 0 || replica.rank >= exe.numRanks)
      fail(h, "is on rank " + std::to_string(replica.rank) + " of " +
                  std::to_string(exe.numRanks));
  }
  if (stage + 1 != exe.numStages)
    fail(exe.numReplicas,
         "would be of stage " + std::to_string(stage + 1) + ", which has none");
}

/// The replicas of a stage take all samples, one after the other, or all
/// micro-batches in turn.
void State::checkShares(const ProgramDesc &program) const {
  int32_t next = 0;
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    const ShareDesc &share = program.shares[h];
    next = exe.replicas[h].index == 0 ? 0 : next;
    const bool isLast =
        h + 1 == exe.numReplicas || exe.replicas[h + 1].index == 0;
    if (share.turns != 1) {
      const int32_t replicaIndex = exe.replicas[h].index;
      if (share.firstSample != 0 || share.samples != samplesOf(program) ||
          share.turn != replicaIndex || share.turns < replicaIndex + 1 ||
          isLast != (share.turns == replicaIndex + 1))
        throw Error(
            "program '" + std::string(program.name) + "': replica " +
            std::to_string(h) + " has turn " + std::to_string(share.turn) +
            " of " + std::to_string(share.turns) +
            "; the replicas of a stage are assigned whole micro-batches in "
            "turn");
      continue;
    }
    if (share.firstSample != next || share.samples < 1 ||
        share.samples > samplesOf(program) - next ||
        (isLast && next + share.samples != samplesOf(program)))
      throw Error("program '" + std::string(program.name) + "': replica " +
                  std::to_string(h) + " takes " +
                  std::to_string(share.samples) + " samples from " +
                  std::to_string(share.firstSample) + " of " +
                  std::to_string(samplesOf(program)) +
                  "; the replicas of a stage take all, one after the other");
    next += share.samples;
  }
}

std::vector<LayerDesc> State::layersOf(int32_t h,
                                       const ProgramDesc &program) const {
  const StageDesc &stage = exe.stages[exe.replicas[h].stage];
  const ShareDesc &share = program.shares[h];
  std::vector<LayerDesc> layers;
  for (int32_t l = 0; l < stage.numLayers; ++l)
    layers.push_back(shareOf(program.layers[stage.firstLayer + l],
                             {share.firstSample, share.samples},
                             samplesOf(program)));
  return layers;
}

void State::checkEdges(const ProgramDesc &program) const {
  for (int32_t e = 0; e < exe.numEdges; ++e) {
    const EdgeDesc &edge = program.edges[e];
    const bool isForward = edge.message != Message::Gradient;
    if (std::min(edge.from, edge.to) < 0 ||
        std::max(edge.from, edge.to) >= exe.numReplicas ||
        (edge.from < edge.to) != isForward || edge.bytes < 0)
      throw Error(
          "edge " + std::to_string(e) + " hands " + std::to_string(edge.bytes) +
          " bytes from replica " + std::to_string(edge.from) + " to replica " +
          std::to_string(edge.to) + " of " + std::to_string(exe.numReplicas));
    for (auto [number, offset] :
         {std::pair(edge.sent, edge.sentOffset),
          std::pair(edge.received, edge.receivedOffset)}) {
      const int32_t pool = number < 0 || number >= program.numPlaces
                               ? -1
                               : program.places[number].pool;
      if (number < 0 || number >= program.numPlaces || offset < 0 ||
          (pool >= 0 && program.pools[pool].slotBytes - offset < edge.bytes))
        throw Error("program '" + std::string(program.name) +
                    "' has no room for the " + std::to_string(edge.bytes) +
                    " bytes of edge " + std::to_string(e));
    }
  }
}

void State::checkStages(const ProgramDesc &program) const {
  int64_t microbatches = 0;
  for (int32_t p = 0; p < exe.numPrograms; ++p)
    microbatches =
        std::max<int64_t>(microbatches, exe.programs[p].microbatches);
  int32_t nextLayer = 0;
  for (int32_t s = 0; s < exe.numStages; ++s) {
    const StageDesc &stage = exe.stages[s];
    if (stage.firstLayer != nextLayer || stage.numLayers < 1 ||
        stage.firstLayer + stage.numLayers > exe.numLayers)
      throw Error("stage '" + std::string(stage.name) +
                  "' does not begin with the layer behind the stage before it");
    nextLayer += stage.numLayers;
  }
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    const StageDesc &stage = exe.stages[exe.replicas[h].stage];
    const ShareDesc &share = program.shares[h];
    int64_t needed[numBuffers];
    stageBytes(layersOf(h, program).data(), stage.numLayers, microbatches,
               needed, exe.replicas[h].shards, exe.moments);
    for (int b = 0; b < numBuffers; ++b)
      if (share.bytes[b] < needed[b])
        throw Error("stage '" + std::string(stage.name) + "' plans " +
                    std::to_string(share.bytes[b]) + " bytes of " +
                    bufferTable[b].keyword + ", its layers need " +
                    std::to_string(needed[b]));
    const ShareDesc &first = exe.programs[0].shares[h];
    for (Buffer state : {Buffer::Weights, Buffer::Gradients, Buffer::Moments,
                         Buffer::WeightChanges, Buffer::Control})
      if (share.bytes[static_cast<int>(state)] !=
          first.bytes[static_cast<int>(state)])
        throw Error("program '" + std::string(program.name) +
                    "' has another state of stage '" + stage.name +
                    "' than program '" + exe.programs[0].name + "'");
  }
}
