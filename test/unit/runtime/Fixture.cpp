//===- Fixture.cpp - Hand-written executables -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Fixture.h"

#include "ActList.h"

#include "runtime/execution/state.h"
#include "runtime/model/share.h"
#include "runtime/transport/transport.h"

#include <algorithm>
#include <map>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

std::vector<LayerDesc> rondo::runtime::test::gptLayers(int blocks, bool tied) {
  static const char *const names[] = {"h0", "h1", "h2", "h3",
                                      "h4", "h5", "h6", "h7"};
  LayerDesc layer{};
  layer.vocab = 256;
  layer.sequence = 8;
  layer.hidden = 16;
  layer.heads = 2;
  layer.ffn = 32;
  layer.batch = 2;
  layer.tied = tied;
  std::vector<LayerDesc> layers(blocks + 2, layer);
  for (int i = 0; i < blocks; ++i) {
    layers[i + 1].kind = LayerKind::GptBlock;
    layers[i + 1].name = names[i];
  }
  layers.front().kind = LayerKind::GptEmbedding;
  layers.front().name = "wte";
  layers.back().kind = LayerKind::GptHead;
  layers.back().name = "lm_head";
  return layers;
}

std::vector<LayerDesc> rondo::runtime::test::syntheticLayers(int count,
                                                             int64_t ns) {
  static const char *const names[] = {"l0", "l1", "l2", "l3",
                                      "l4", "l5", "l6", "l7"};
  std::vector<LayerDesc> layers(count);
  for (int i = 0; i < count; ++i) {
    LayerDesc &layer = layers[i];
    layer.name = names[i];
    layer.kind = LayerKind::Synthetic;
    layer.forwardNs = layer.inputGradNs = layer.weightGradNs = ns;
    layer.activationBytes = 256;
    layer.inputGradFreesBytes = 128;
    layer.numInputs = i > 0 ? 1 : 0;
    layer.inputBytes[0] = i > 0 ? 192 : 0;
    layer.outputBytes = i + 1 < count ? 192 : 0;
    layer.weightBytes = 128;
  }
  return layers;
}

Spec rondo::runtime::test::timedOnRanks(int ranks, int64_t ns,
                                        int microbatches) {
  Spec spec;
  spec.microbatches = microbatches;
  spec.layers = syntheticLayers(ranks, ns);
  for (int r = 0; r < ranks; ++r) {
    spec.layersOfStage.push_back(1);
    spec.rankOfStage.push_back(r);
  }
  spec.pipeline = oneForwardOneBackward(spec, false);
  return spec;
}

//===----------------------------------------------------------------------===//
// Tables.
//===----------------------------------------------------------------------===//

Program::Program(const Spec &spec) {
  const int each = spec.sharding.replicas, shards = spec.sharding.shards;
  for (size_t s = 0; s < spec.layersOfStage.size(); ++s) {
    names.push_back("s" + std::to_string(s));
    allStages.push_back(static_cast<int32_t>(s));
    for (int j = 0; j < each; ++j)
      replicas.push_back({static_cast<int32_t>(s), j,
                          spec.rankOfStage[s] * each + j, j % shards, shards});
  }
  tiedStages = {0, allStages.back()};
  if (each > 1)
    sharded = shardedCollectives(spec);
  arenaBytes.resize(numRanks(spec.rankOfStage) * each);
  int most = spec.microbatches;
  for (const Spec::Other &other : spec.others)
    most = std::max(most, other.microbatches);
  addPrograms(spec, "pipeline", addSizes(spec, most));
  for (const Spec::Other &other : spec.others) {
    Spec own = spec;
    own.microbatches = other.microbatches;
    for (LayerDesc &layer : own.layers)
      layer.batch = other.samples;
    own.overlap = {};
    own.pipeline = other.lists(own);
    addPrograms(own, other.name, addSizes(own, most));
  }
  for (size_t p = 0; p < programs.size(); ++p)
    programs[p].id = static_cast<int32_t>(p);

  const Sizes &first = allSizes.front();
  exe.name = "fixture";
  exe.numLayers = static_cast<int32_t>(first.layers.size());
  exe.layers = first.layers.data();
  exe.numStages = static_cast<int32_t>(first.stages.size());
  exe.stages = first.stages.data();
  exe.numReplicas = static_cast<int32_t>(replicas.size());
  exe.replicas = replicas.data();
  exe.numEdges = static_cast<int32_t>(first.edges.size());
  exe.edges = first.edges.data();
  exe.numRanks = static_cast<int32_t>(arenaBytes.size());
  exe.arenaBytes = arenaBytes.data();
  exe.numPrograms = static_cast<int32_t>(programs.size());
  exe.programs = programs.data();
  exe.backend = &tcpBackend;
  exe.extras = {nullptr,    &adaptiveRuns,   &linkEmulation,
                &bodyCheck, &textGeneration, &activationCopies};
}

/// Samples of replica j of a stage.
static ShareDesc shareOfReplica(const Spec &spec, const LayerDesc *layers,
                                int32_t numLayers, int j, int maxMicrobatches) {
  const int each = spec.sharding.replicas, all = std::max(layers[0].batch, 1);
  ShareDesc share{};
  share.firstSample = all * j / each;
  share.samples = all * (j + 1) / each - share.firstSample;
  std::vector<LayerDesc> own;
  for (int32_t l = 0; l < numLayers; ++l)
    own.push_back(shareOf(layers[l], {share.firstSample, share.samples}, all));
  stageBytes(own.data(), numLayers, maxMicrobatches, share.bytes,
             spec.sharding.shards);
  return share;
}

const Program::Sizes &Program::addSizes(const Spec &spec, int maxMicrobatches) {
  allSizes.emplace_back();
  Sizes &sizes = allSizes.back();
  sizes.layers = spec.layers;
  int first = 0;
  for (size_t s = 0; s < spec.layersOfStage.size(); ++s) {
    StageDesc stage{};
    stage.name = names[s].c_str();
    stage.firstLayer = first;
    stage.numLayers = spec.layersOfStage[s];
    for (int j = 0; j < spec.sharding.replicas; ++j) {
      ShareDesc share = shareOfReplica(spec, sizes.layers.data() + first,
                                       stage.numLayers, j, maxMicrobatches);
      if (spec.keepsChanges) {
        share.bytes[static_cast<int>(Buffer::WeightChanges)] =
            share.bytes[static_cast<int>(Buffer::Gradients)];
        share.bytes[static_cast<int>(Buffer::Workspace)] +=
            movedBytes(sizes.layers.data() + first, stage.numLayers);
      }
      sizes.shares.push_back(share);
    }
    first += stage.numLayers;
    sizes.stages.push_back(stage);
  }
  const int32_t each = spec.sharding.replicas;
  for (Message message : {Message::Activation, Message::Gradient})
    for (int32_t h = each; h < static_cast<int32_t>(replicas.size()); ++h) {
      const bool isForward = message == Message::Activation;
      const int32_t from = isForward ? h - each : h,
                    to = isForward ? h : h - each;
      auto number = [](int32_t replica, Buffer buffer) {
        return replica * numBuffers + static_cast<int32_t>(buffer);
      };
      sizes.edges.push_back(
          {from, to, message,
           sizes.shares[h - each].bytes[static_cast<int>(Buffer::Output)],
           number(from, isForward ? Buffer::Output : Buffer::InputGrad),
           number(to, isForward ? Buffer::Input : Buffer::OutputGrad), 0, 0});
    }
  return sizes;
}

void Program::addPrograms(const Spec &spec, const char *name,
                          const Sizes &sizes) {
  std::vector<int> onOne(spec.rankOfStage.size(), 0);
  addProgram(spec, ProgramKind::Sequential, "sequential", sizes, onOne,
             sequentialLists(spec, onOne));
  addProgram(spec, ProgramKind::Pipeline, name, sizes, spec.rankOfStage,
             spec.pipeline.empty() ? oneForwardOneBackward(spec, false)
                                   : spec.pipeline);
  addProgram(spec, ProgramKind::Evaluation, "evaluation", sizes,
             spec.rankOfStage, evaluationLists(spec));
}

void Program::addProgram(const Spec &spec, ProgramKind kind, const char *name,
                         const Sizes &sizes,
                         const std::vector<int> &rankOfStage,
                         const Lists &stageLists) {
  storage.emplace_back();
  ProgramTables &tables = storage.back();
  const bool isOnOne = kind == ProgramKind::Sequential;
  std::vector<int> ranks = rankOfStage;
  Lists lists = stageLists;
  if (spec.sharding.replicas > 1) {
    ranks.clear();
    for (const ReplicaDesc &replica : replicas)
      ranks.push_back(isOnOne ? 0 : replica.rank);
    lists = shardedLists(spec, stageLists, ranks, sharded,
                         kind != ProgramKind::Evaluation);
  }
  tables.rankOfReplica.assign(ranks.begin(), ranks.end());
  const bool overlaps =
      kind == ProgramKind::Pipeline && spec.overlap.policy != Overlap::None;
  for (size_t r = 0; r < lists.size(); ++r)
    tables.rows.push_back(
        overlaps ? encodeLoop(overlapped(spec, static_cast<int>(r)))
                 : encode(lists[r]));
  for (const std::vector<int64_t> &row : tables.rows)
    tables.ranks.push_back({overlaps ? runLoop : runList, row.data()});
  tables.peaks.resize(lists.size());
  addCollectives(spec, overlaps, tables);
  place(spec, sizes.shares, tables, kind == ProgramKind::Pipeline);

  ProgramDesc desc{};
  desc.name = name;
  desc.kind = kind;
  desc.microbatches = spec.microbatches;
  desc.samples = sizes.layers.front().batch;
  desc.accumulatesInIndexOrder = true;
  desc.layers = sizes.layers.data();
  desc.shares = sizes.shares.data();
  desc.edges = sizes.edges.data();
  desc.numRanks = static_cast<int32_t>(lists.size());
  desc.ranks = tables.ranks.data();
  desc.rankOfReplica = tables.rankOfReplica.data();
  desc.numPools = static_cast<int32_t>(tables.pools.size());
  desc.pools = tables.pools.data();
  desc.numPlaces = static_cast<int32_t>(tables.places.size());
  desc.places = tables.places.data();
  desc.numCollectives = static_cast<int32_t>(tables.collectives.size());
  desc.collectives = tables.collectives.data();
  desc.peakMemoryBytes = tables.peaks.data();
  desc.staging = tables.staging.data();
  if (overlaps) {
    addOverlap(spec, tables);
    desc.overlap = &tables.overlap;
  }
  programs.push_back(desc);
}

void Program::addCollectives(const Spec &spec, bool overlaps,
                             ProgramTables &tables) {
  for (const Collective &each : sharded)
    tables.collectives.push_back(
        {each.kind,
         each.kind == CollectiveKind::TiedGradients ? "wte.weight" : "",
         static_cast<int32_t>(each.replicas.size()), each.replicas.data(), 0,
         each.firstElement, each.numElements});
  if (spec.sharding.replicas > 1)
    return;
  if (isTied(spec))
    tables.collectives.push_back(
        {CollectiveKind::TiedGradients, "wte.weight", 2, tiedStages.data()});
  if (!overlaps || spec.overlap.norm)
    tables.collectives.push_back({CollectiveKind::GradientNorm, "",
                                  static_cast<int32_t>(allStages.size()),
                                  allStages.data(), 0, 0, 0,
                                  overlaps ? spec.overlap.normDelay : 0});
}

void Program::addOverlap(const Spec &spec, ProgramTables &tables) {
  for (size_t s = 0; s < spec.rankOfStage.size(); ++s) {
    tables.delays.push_back(delaysOf(spec, static_cast<int>(s)));
    const Delays &delays = tables.delays.back();
    const bool anew = spec.overlap.recomputesAnew;
    tables.versions.push_back({delays.forward.data(), delays.backward.data(),
                               (anew ? delays.backward : delays.forward).data(),
                               delays.meanForward, delays.meanBackward,
                               anew ? delays.meanBackward : delays.meanForward,
                               spec.overlap.policy == Overlap::Extrapolated,
                               /*recomputesExtrapolated=*/false});
  }
  tables.overlap = {static_cast<int32_t>(tables.delays.front().forward.size()),
                    spec.microbatches, spec.overlap.each,
                    tables.versions.data(), checkOverlap};
}

std::map<int32_t, int64_t>
Program::stagingOf(const Spec &spec, const std::vector<ShareDesc> &shares,
                   const ProgramTables &tables) const {
  std::map<int32_t, int64_t> most;
  auto elements = [&](int32_t replica, Buffer buffer) {
    return shares[replica].bytes[static_cast<int>(buffer)] / 4;
  };
  auto countOf = [&](const CollectiveDesc &desc, int32_t replica) {
    switch (desc.kind) {
    case CollectiveKind::GatherWeights:
    case CollectiveKind::ScatterGradients:
      return elements(replica, Buffer::UnreducedGradients);
    case CollectiveKind::ReplicaGradients:
    case CollectiveKind::GatherUpdates:
      return elements(replica, Buffer::Gradients);
    case CollectiveKind::TiedGradients:
      return desc.numElements > 0 ? desc.numElements
                                  : int64_t(spec.layers.front().vocab) *
                                        spec.layers.front().hidden;
    case CollectiveKind::GradientNorm:
      break;
    }
    return rondo::partialsOfLayer(0) *
           spec.layersOfStage[replicas[replica].stage];
  };
  for (const CollectiveDesc &collective : tables.collectives) {
    CollectiveParams parts;
    for (int32_t i = 0; i < collective.numReplicas; ++i) {
      const int32_t replica = collective.replicas[i];
      const bool contributes =
          rondo::allReplicasContribute(collective.kind) ||
          replicas[replica].index == replicas[replica].shard;
      parts.push_back({tables.rankOfReplica[replica], nullptr,
                       countOf(collective, replica), contributes});
    }
    for (auto [rank, bytes] :
         rondo::stagingBytes(collective.kind, parts, rondo::sumsOfGpus))
      most[rank] = std::max(most[rank], bytes);
  }
  return most;
}

/// One pool for each buffer of each stage: state first, so that it is at the
/// same place in every program.
void Program::place(const Spec &spec, const std::vector<ShareDesc> &shares,
                    ProgramTables &tables, bool hasRings) {
  const int numReplicas = static_cast<int>(shares.size());
  tables.places.assign(numReplicas * numBuffers, PlaceDesc{-1, 0, nullptr});
  std::vector<int64_t> ends(arenaBytes.size(), 0);
  auto add = [&](int s, int b, int slots) {
    int64_t bytes = shares[s].bytes[b];
    if (bytes == 0)
      return;
    int64_t &end = ends[replicas[s].rank];
    tables.slots.emplace_back();
    for (int i = 0; i < slots; ++i)
      tables.slots.back().push_back(static_cast<uint16_t>(i));
    tables.places[s * numBuffers + b] = {
        static_cast<int32_t>(tables.pools.size()), slots,
        tables.slots.back().data()};
    tables.pools.push_back({replicas[s].rank, end, bytes, slots});
    end += bytes * slots;
  };
  const int m = spec.microbatches;
  for (int s = 0; s < numReplicas; ++s)
    for (int b = 0; b <= static_cast<int>(Buffer::Data); ++b)
      add(s, b, spec.stateSlots(b));
  tables.staging.assign(ends.size(), -1);
  for (auto [rank, bytes] : stagingOf(spec, shares, tables)) {
    tables.staging[rank] = static_cast<int32_t>(tables.pools.size());
    tables.pools.push_back({rank, ends[rank], bytes, 1});
    ends[rank] +=
        (bytes + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
  }
  for (int s = 0; s < numReplicas; ++s)
    add(s, static_cast<int>(Buffer::Workspace), 1);
  auto slotsOf = [&](int slots) { return hasRings && slots > 0 ? slots : m; };
  for (int s = 0; s < numReplicas; ++s)
    for (int b = static_cast<int>(Buffer::Input); b < numBuffers; ++b) {
      bool isSaved = b >= static_cast<int>(Buffer::SavedForInputGrad);
      bool isFirstGrad =
          replicas[s].stage == 0 && b == static_cast<int>(Buffer::InputGrad);
      if (Buffer(b) == Buffer::GatheredWeights)
        add(s, b, 1);
      else if (Buffer(b) == Buffer::UnreducedGradients)
        add(s, b, spec.sharding.slots);
      else if (!isFirstGrad)
        add(s, b, slotsOf(isSaved ? spec.savedSlots : spec.messageSlots));
    }
  // A consumer on the producer's rank reads the producer's buffer.
  auto at = [&](int s, Buffer b) -> PlaceDesc & {
    return tables.places[s * numBuffers + static_cast<int>(b)];
  };
  const int each = spec.sharding.replicas;
  for (int s = 0; s + each < numReplicas; ++s)
    if (tables.rankOfReplica[s] == tables.rankOfReplica[s + each]) {
      at(s + each, Buffer::Input) = at(s, Buffer::Output);
      at(s, Buffer::OutputGrad) = at(s + each, Buffer::InputGrad);
    }
  for (size_t r = 0; r < ends.size(); ++r)
    arenaBytes[r] = std::max(arenaBytes[r], ends[r]);
}
