//===- state_checks.cpp - Checks an executable's tables -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/state.h"

#include "runtime/base/error.h"
#include "runtime/bodies/tensors.h"

#include <algorithm>
#include <map>

using namespace rondo;
using namespace rondo::runtime;

static const PlaceDesc &placeOf(const ProgramDesc &program, int32_t home,
                                Buffer buffer) {
  return program.places[home * numBuffers + static_cast<int>(buffer)];
}

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
    if (std::any_of(place.slotOf, place.slotOf + place.period,
                    [&](uint16_t slot) { return slot >= pool.slots; }))
      fail(what + " of " + name + " lies in a slot that pool " +
           std::to_string(place.pool) + " does not have");
    if (pool.slotBytes < bytes)
      fail("slots of " + what + " of " + name + " have " +
           std::to_string(pool.slotBytes) + " bytes, it needs " +
           std::to_string(bytes));
  };
  for (int32_t h = 0; h < exe.numHomes; ++h) {
    const StageDesc &stage = program.stages[exe.homes[h].stage];
    const std::string name = "stage '" + std::string(stage.name) + "'";
    if (program.rankOfHome[h] < 0 || program.rankOfHome[h] >= program.numRanks)
      fail(name + " is on rank " + std::to_string(program.rankOfHome[h]) +
           " of " + std::to_string(program.numRanks));
    int32_t inputs = 0;
    for (int32_t e = 0; e < exe.numEdges; ++e)
      inputs += exe.edges[e].to == exe.homes[h].stage &&
                exe.edges[e].message == Message::Activation;
    for (int b = 0; b < numBuffers; ++b) {
      // If there are several inputs, each has the size of its edge.
      const bool isOneOfSeveral =
          inputs > 1 &&
          (Buffer(b) == Buffer::Input || Buffer(b) == Buffer::InputGrad);
      checkPlace(placeOf(program, h, Buffer(b)), bufferTable[b].keyword, name,
                 isOneOfSeveral ? 0 : stage.bytes[b]);
    }
  }
  for (int32_t p = exe.numHomes * numBuffers; p < program.numPlaces; ++p)
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

void State::checkHomes() const {
  for (int32_t h = 0; h < exe.numHomes; ++h) {
    const HomeDesc &home = exe.homes[h];
    if (exe.numHomes != exe.numStages || home.stage != h || home.replica != 0)
      throw Error("'" + std::string(exe.name) + "' has " +
                  std::to_string(exe.numHomes) + " homes for " +
                  std::to_string(exe.numStages) +
                  " stages; each stage has one home, in order");
    if (home.rank < 0 || home.rank >= exe.numRanks)
      throw Error("stage '" + std::string(exe.stages[h].name) +
                  "' is on rank " + std::to_string(home.rank) + " of " +
                  std::to_string(exe.numRanks));
  }
}

void State::checkEdges(const ProgramDesc &program) const {
  for (int32_t e = 0; e < exe.numEdges; ++e) {
    const EdgeDesc &edge = program.edges[e];
    const bool isForward = edge.message == Message::Activation;
    if (std::min(edge.from, edge.to) < 0 ||
        std::max(edge.from, edge.to) >= exe.numStages ||
        (edge.from < edge.to) != isForward || edge.bytes < 0)
      throw Error(
          "edge " + std::to_string(e) + " hands " + std::to_string(edge.bytes) +
          " bytes from stage " + std::to_string(edge.from) + " to stage " +
          std::to_string(edge.to) + " of " + std::to_string(exe.numStages));
    for (int32_t number : {edge.sent, edge.received}) {
      const int32_t pool = number < 0 || number >= program.numPlaces
                               ? -1
                               : program.places[number].pool;
      if (number < 0 || number >= program.numPlaces ||
          (pool >= 0 && program.pools[pool].slotBytes < edge.bytes))
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
    const StageDesc &stage = program.stages[s], &first = exe.stages[s];
    if (stage.firstLayer != nextLayer || stage.numLayers < 1 ||
        stage.firstLayer + stage.numLayers > exe.numLayers)
      throw Error("stage '" + std::string(stage.name) +
                  "' does not begin with the layer behind the stage before it");
    nextLayer += stage.numLayers;
    int64_t needed[numBuffers];
    stageBytes(program.layers + stage.firstLayer, stage.numLayers, microbatches,
               needed);
    for (int b = 0; b < numBuffers; ++b)
      if (stage.bytes[b] < needed[b])
        throw Error("stage '" + std::string(stage.name) + "' plans " +
                    std::to_string(stage.bytes[b]) + " bytes of " +
                    bufferTable[b].keyword + ", its layers need " +
                    std::to_string(needed[b]));
    for (Buffer state :
         {Buffer::Weights, Buffer::Gradients, Buffer::Moments, Buffer::Control})
      if (stage.firstLayer != first.firstLayer ||
          stage.bytes[static_cast<int>(state)] !=
              first.bytes[static_cast<int>(state)])
        throw Error("program '" + std::string(program.name) +
                    "' has another state of stage '" + stage.name +
                    "' than program '" + exe.programs[0].name + "'");
  }
}
