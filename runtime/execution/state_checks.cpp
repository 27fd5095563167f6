//===- state_checks.cpp - Checks an executable's tables -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/error.h"
#include "runtime/bodies/custom.h"
#include "runtime/bodies/tensors.h"
#include "runtime/execution/state.h"
#include "runtime/model/share.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

using namespace rondo::runtime;
using namespace rondo;

template <typename... Parts>
[[noreturn]] static void fail(const Parts &...parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw Error(text.str());
}

template <typename... Parts>
[[noreturn]] static void failOn(const ProgramDesc &program,
                                const Parts &...parts) {
  fail("program '", program.name, "': ", parts...);
}

/// Rule L4.
static void checkPools(const Executable &exe, const ProgramDesc &program) {
  for (int32_t p = 0; p < program.numPools; ++p) {
    const PoolDesc &pool = program.pools[p];
    const int64_t *arenas = pool.isOnHost ? exe.hostArenaBytes : exe.arenaBytes;
    // Division avoids overflow of the product.
    if (!arenas || pool.rank < 0 || pool.rank >= exe.numRanks ||
        pool.offset < 0 || pool.slotBytes < 0 || pool.slots < 0 ||
        pool.offset % bufferAlignment != 0 ||
        (pool.slots > 1 && pool.slotBytes % bufferAlignment != 0) ||
        pool.offset > arenas[pool.rank] ||
        (pool.slots > 0 &&
         pool.slotBytes > (arenas[pool.rank] - pool.offset) / pool.slots))
      failOn(program, "pool ", p, " of ", pool.slots, " slots of ",
             pool.slotBytes, " bytes at ", pool.offset,
             " does not lie in the arena of rank ", pool.rank);
  }
}

/// The slots of `what` of `name` are there and have room for `bytes`.
static void checkPlace(const ProgramDesc &program, const PlaceDesc &place,
                       const std::string &what, const std::string &name,
                       int64_t bytes) {
  if (place.pool < 0)
    return;
  if (place.pool >= program.numPools || place.period < 1)
    failOn(program, name, " has no pool ", place.pool);
  const PoolDesc &pool = program.pools[place.pool];
  bool areThere = true;
  for (int32_t i = 0; i < numListed(place); ++i)
    areThere &= slotOf(place, i) < pool.slots;
  if (!areThere)
    failOn(program, what, " of ", name, " lies in a slot that pool ",
           place.pool, " does not have");
  if (!place.spans && pool.slotBytes < bytes)
    failOn(program, "slots of ", what, " of ", name, " have ", pool.slotBytes,
           " bytes, it needs ", bytes);
}

static void checkBuffers(const Executable &exe, const ProgramDesc &program) {
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    const StageDesc &stage = exe.stages[exe.replicas[h].stage];
    const std::string name = "stage '" + std::string(stage.name) + "'";
    if (program.rankOfReplica[h] < 0 ||
        program.rankOfReplica[h] >= program.numRanks)
      failOn(program, name, " is on rank ", program.rankOfReplica[h], " of ",
             program.numRanks);
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
      checkPlace(program, placeOf(program, h, Buffer(b)),
                 bufferTable[b].keyword, name,
                 isOneOfSeveral ? 0 : program.shares[h].bytes[b]);
    }
  }
}

static void checkStagings(const ProgramDesc &program) {
  for (int32_t r = 0; program.staging && r < program.numRanks; ++r) {
    const int32_t pool = program.staging[r];
    if (pool >= program.numPools)
      failOn(program, "the staging of rank ", r, " has no pool ", pool);
    if (pool >= 0 &&
        (program.pools[pool].rank != r || program.pools[pool].slots != 1))
      failOn(program, "the staging of rank ", r, " is pool ", pool, " of ",
             program.pools[pool].slots, " slots on rank ",
             program.pools[pool].rank, "; it has one slot on its own rank");
  }
}

void State::checkProgram(const ProgramDesc &program) const {
  if (program.id < 0 || program.id >= exe.numPrograms ||
      &exe.programs[program.id] != &program)
    failOn(program, "its number is ", program.id, ", which is not its place");
  const ProgramDesc &first = exe.programs[0];
  if (int64_t(program.microbatches) * std::max(program.samples, 1) !=
      int64_t(first.microbatches) * std::max(first.samples, 1))
    failOn(program, "it takes ", program.microbatches, " micro-batches of ",
           program.samples, " samples an iteration, program '", first.name,
           "' takes ", first.microbatches, " of ", first.samples);
  checkPools(exe, program);
  checkBuffers(exe, program);
  checkStagings(program);
  for (int32_t p = exe.numReplicas * numBuffers; p < program.numPlaces; ++p)
    checkPlace(program, program.places[p], "a message",
               "place " + std::to_string(p), 0);
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
        fail("layers '", it->second, "' and '", exe.layers[l].name,
             "' both have a tensor named '", it->first,
             "', and a checkpoint finds tensors by name: rename a layer "
             "or the tensor");
    }
}

/// There is one value of a tensor that F replaces, after each micro-batch.
void State::checkRunningTensors() const {
  const bool overlaps =
      std::any_of(exe.programs, exe.programs + exe.numPrograms,
                  [](const ProgramDesc &program) { return program.overlap; });
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    const StageDesc &stage = exe.stages[exe.replicas[h].stage];
    for (int32_t l = 0; l < stage.numLayers; ++l) {
      const LayerDesc &layer = exe.layers[stage.firstLayer + l];
      const std::optional<LayerTensor> running = findRunning(layer);
      if (!running)
        continue;
      const std::string what = "F of layer '" + std::string(layer.name) +
                               "' replaces its tensor '" +
                               tensorName(*running) + "'";
      if (exe.replicas[h].index > 0)
        fail(what, ", and each of the replicas of stage '", stage.name,
             "' would have other values: put the stage on "
             "one rank");
      if (overlaps)
        fail(what, ", and iterations overlap, so that there would be "
                   "several versions of it: choose a schedule whose "
                   "iterations do not overlap");
    }
  }
}

void State::checkReplicas() const {
  auto failOnReplica = [&](int32_t h, const auto &...parts) {
    fail("'", exe.name, "': replica ", h, " of ", exe.numReplicas, " ",
         parts...);
  };
  int32_t stage = -1, replicaIndex = 0;
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    const ReplicaDesc &replica = exe.replicas[h];
    replicaIndex = replica.stage == stage ? replicaIndex + 1 : 0;
    const bool isNext = replica.stage == stage || replica.stage == stage + 1;
    stage = replica.stage;
    if (!isNext || stage < 0 || stage >= exe.numStages ||
        replica.index != replicaIndex)
      failOnReplica(h, "is replica ", replica.index, " of stage ", stage,
                    " of ", exe.numStages,
                    "; replicas are listed by stage and then by replica");
    if (replica.rank < 0 || replica.rank >= exe.numRanks)
      failOnReplica(h, "is on rank ", replica.rank, " of ", exe.numRanks);
  }
  if (stage + 1 != exe.numStages)
    failOnReplica(exe.numReplicas, "would be of stage ", stage + 1,
                  ", which has none");
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
        failOn(program, "replica ", h, " has turn ", share.turn, " of ",
               share.turns,
               "; the replicas of a stage are assigned whole micro-batches in "
               "turn");
      continue;
    }
    if (share.firstSample != next || share.samples < 1 ||
        share.samples > samplesOf(program) - next ||
        (isLast && next + share.samples != samplesOf(program)))
      failOn(program, "replica ", h, " takes ", share.samples, " samples from ",
             share.firstSample, " of ", samplesOf(program),
             "; the replicas of a stage take all, one after the other");
    next += share.samples;
  }
}

std::vector<LayerDesc> rondo::runtime::layersOf(const Executable &exe,
                                                const ProgramDesc &program,
                                                int32_t h) {
  const StageDesc &stage = exe.stages[exe.replicas[h].stage];
  const ShareDesc &share = program.shares[h];
  std::vector<LayerDesc> layers;
  for (int32_t l = 0; l < stage.numLayers; ++l)
    layers.push_back(shareOf(program.layers[stage.firstLayer + l],
                             {share.firstSample, share.samples},
                             samplesOf(program)));
  return layers;
}

void State::checkOtherSizes(const ProgramDesc &program) const {
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    if (program.layers == exe.layers &&
        program.shares[h].samples == samplesOf(program))
      continue;
    for (const LayerDesc &layer : layersOf(exe, program, h))
      checkCustom(layer);
  }
}

void State::checkCustom(const LayerDesc &layer) const {
  if (layer.kind != LayerKind::Custom)
    return;
  if (!exe.extras.bodyCheck)
    throw Error("layer '" + std::string(layer.name) +
                "' is custom, but the program does not name `bodyCheck`, "
                "which checks it: compile it again");
  exe.extras.bodyCheck->checkLayer(layer);
}

void State::checkEdges(const ProgramDesc &program) const {
  for (int32_t e = 0; e < exe.numEdges; ++e) {
    const EdgeDesc &edge = program.edges[e];
    const bool isForward = edge.message != Message::Gradient;
    if (std::min(edge.from, edge.to) < 0 ||
        std::max(edge.from, edge.to) >= exe.numReplicas ||
        (edge.from < edge.to) != isForward || edge.bytes < 0)
      fail("edge ", e, " hands ", edge.bytes, " bytes from replica ", edge.from,
           " to replica ", edge.to, " of ", exe.numReplicas);
    for (auto [number, offset] :
         {std::pair(edge.sent, edge.sentOffset),
          std::pair(edge.received, edge.receivedOffset)}) {
      const int32_t pool = number < 0 || number >= program.numPlaces
                               ? -1
                               : program.places[number].pool;
      if (number < 0 || number >= program.numPlaces || offset < 0 ||
          (pool >= 0 && !program.places[number].spans &&
           program.pools[pool].slotBytes - offset < edge.bytes))
        fail("program '", program.name, "' has no room for the ", edge.bytes,
             " bytes of edge ", e);
    }
  }
}

void State::checkStages(const ProgramDesc &program) const {
  const int64_t microbatches = maxMicrobatches(exe);
  int32_t nextLayer = 0;
  for (int32_t s = 0; s < exe.numStages; ++s) {
    const StageDesc &stage = exe.stages[s];
    if (stage.firstLayer != nextLayer || stage.numLayers < 1 ||
        stage.firstLayer + stage.numLayers > exe.numLayers)
      fail("stage '", stage.name,
           "' does not begin with the layer after the previous stage");
    nextLayer += stage.numLayers;
  }
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    const StageDesc &stage = exe.stages[exe.replicas[h].stage];
    const ShareDesc &share = program.shares[h];
    int64_t needed[numBuffers];
    stageBytes(layersOf(exe, program, h).data(), stage.numLayers, microbatches,
               needed, exe.replicas[h].shards, exe.moments, stage.momentShards);
    for (int b = 0; b < numBuffers; ++b)
      if (share.bytes[b] < needed[b])
        fail("stage '", stage.name, "' plans ", share.bytes[b], " bytes of ",
             bufferTable[b].keyword, ", its layers need ", needed[b]);
    const ShareDesc &first = exe.programs[0].shares[h];
    for (Buffer state : {Buffer::Weights, Buffer::Gradients, Buffer::Moments,
                         Buffer::WeightChanges, Buffer::Control})
      if (share.bytes[static_cast<int>(state)] !=
          first.bytes[static_cast<int>(state)])
        fail("program '", program.name, "' has another state of stage '",
             stage.name, "' than program '", exe.programs[0].name, "'");
  }
}

//===----------------------------------------------------------------------===//
// Sharded state.
//===----------------------------------------------------------------------===//

/// The replicas of a stage are groups of as many, by their shards.
void State::checkGroups() const {
  auto failOnReplica = [&](int32_t h, const auto &...parts) {
    fail("'", exe.name, "': replica ", h, " of stage '",
         exe.stages[exe.replicas[h].stage].name, "' ", parts...);
  };
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    const ReplicaDesc &replica = exe.replicas[h];
    const ReplicaDesc &first = exe.replicas[h - replica.index];
    const bool isLast =
        h + 1 == exe.numReplicas || exe.replicas[h + 1].stage != replica.stage;
    if (replica.shards < 1 || replica.shards != first.shards ||
        replica.shard != replica.index % replica.shards ||
        (isLast && replica.shard + 1 != replica.shards))
      failOnReplica(
          h,
          "has shard " + std::to_string(replica.shard) + " of " +
              std::to_string(replica.shards) +
              "; a stage's replicas have as many shards each, and those of a "
              "group follow each other by their shards");
    const int32_t momentShards = exe.stages[replica.stage].momentShards;
    if (momentShards < 1 || (momentShards > 1 && replica.shards > 1) ||
        (isLast && (replica.index + 1) % momentShards != 0))
      failOnReplica(
          h, "has its moments in ", momentShards,
          " shards, which must divide its stage's replicas, and whole "
          "weights");
    for (int32_t other = groupOf(exe.replicas, h); other < h; ++other)
      if (exe.replicas[other].rank == replica.rank)
        failOnReplica(h, "keeps its shard on rank ", replica.rank,
                      ", and so does replica ", other,
                      "; each shard of a group is on another rank");
  }
}

/// Checks on which ranks a program runs the replicas of a group.
void State::checkShards(const ProgramDesc &program) const {
  auto shardsOf = [&](int32_t h, CollectiveKind kind) {
    const ReplicaDesc &replica = exe.replicas[h];
    return readsSteps(kind) ? exe.stages[replica.stage].momentShards
                            : replica.shards;
  };
  std::set<std::pair<CollectiveKind, int32_t>> there;
  for (int32_t c = 0; c < program.numCollectives; ++c) {
    const CollectiveDesc &desc = program.collectives[c];
    if (!movesState(desc.kind) && !readsSteps(desc.kind))
      continue;
    const int32_t first = desc.numReplicas > 0 ? desc.replicas[0] : -1;
    bool isGroup = first >= 0 && first < exe.numReplicas &&
                   shardsOf(first, desc.kind) == desc.numReplicas &&
                   exe.replicas[first].index % desc.numReplicas == 0 &&
                   desc.numReplicas > 1;
    for (int32_t i = 0; isGroup && i < desc.numReplicas; ++i)
      isGroup = desc.replicas[i] == first + i;
    if (!isGroup || !there.insert({desc.kind, first}).second)
      failOn(program, "collective ", c, ", ", traitsOf(desc.kind).keyword,
             ", is of ", desc.numReplicas, " replicas from replica ", first,
             "; each group has one, of its replicas in their order");
  }
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    const ReplicaDesc &replica = exe.replicas[h];
    const std::string name =
        "stage '" + std::string(exe.stages[replica.stage].name) + "'";
    const int32_t momentShards = exe.stages[replica.stage].momentShards;
    if (momentShards > 1 && replica.index % momentShards == 0 &&
        program.kind != ProgramKind::Evaluation &&
        program.shares[h].bytes[static_cast<int>(Buffer::Gradients)] > 0 &&
        !there.count({CollectiveKind::GatherUpdates, h}))
      failOn(program, name, " shards its moments, and replica ", h,
             " has no collective ",
             traitsOf(CollectiveKind::GatherUpdates).keyword);
    if (replica.shards == 1)
      continue;
    if (program.overlap)
      failOn(program, name,
             " has sharded state, and iterations overlap, which do "
             "not go together yet; compile it without one of both");
    const bool evaluates = program.kind == ProgramKind::Evaluation;
    for (Buffer buffer : {Buffer::GatheredWeights, Buffer::UnreducedGradients})
      if (program.places[h * numBuffers + static_cast<int>(buffer)].pool < 0 &&
          program.shares[h].bytes[static_cast<int>(buffer)] > 0 &&
          !(evaluates && buffer == Buffer::UnreducedGradients))
        failOn(program, name, " has no memory for its ",
               traitsOf(buffer).keyword);
    const bool hasWeights =
        program.shares[h].bytes[static_cast<int>(Buffer::Weights)] > 0;
    if (replica.shard > 0)
      continue;
    const int32_t *ranks = program.rankOfReplica + h;
    const std::set<int32_t> distinct(ranks, ranks + replica.shards);
    if (distinct.size() == 1)
      continue;
    if (static_cast<int32_t>(distinct.size()) != replica.shards)
      failOn(program, "the ", replica.shards, " replicas of a group of ", name,
             " are on ", distinct.size(),
             " ranks; they are all on one rank or each on another");
    for (CollectiveKind kind :
         {CollectiveKind::GatherWeights, CollectiveKind::ScatterGradients})
      if (hasWeights && !there.count({kind, h}) &&
          !(evaluates && kind == CollectiveKind::ScatterGradients))
        failOn(program, "the group of replica ", h, " of ", name,
               " has no collective ", traitsOf(kind).keyword);
  }
}

//===----------------------------------------------------------------------===//
// Iterations that overlap.
//===----------------------------------------------------------------------===//

/// No order begins more iterations at once.
static constexpr int32_t maxNormDelay = 4096;

int64_t rondo::runtime::movedBytes(const LayerDesc *layers, int32_t count) {
  int64_t most = 0;
  for (int32_t l = 0; l < count; ++l)
    most = std::max(most, layerSizes(layers[l]).weights);
  return alignedBytes(most);
}

void State::checkOverlap(const ProgramDesc &program) const {
  for (int32_t c = 0; c < program.numCollectives; ++c) {
    const CollectiveDesc &desc = program.collectives[c];
    if (desc.delay < 0 || desc.delay > maxNormDelay)
      failOn(program, "collective ", c, " is awaited ", desc.delay,
             " iterations later; it may be 0 to ", maxNormDelay);
    if (desc.delay > 0 &&
        (!program.overlap || desc.kind != CollectiveKind::GradientNorm))
      failOn(program, "collective ", c, " is awaited ", desc.delay,
             " iterations later, which only a norm may be, and only where "
             "iterations overlap");
  }
  if (program.overlap)
    program.overlap->check(exe, program);
}
