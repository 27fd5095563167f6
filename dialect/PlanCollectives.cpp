//===- PlanCollectives.cpp - What the ranks of a plan do together ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"
#include "kinds/Sums.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// What the groups of sharded stages gather and reduce, group by group.
static std::vector<Collective> groupMoves(PlanOp plan, const Homes &homes) {
  std::vector<Collective> moves;
  if (!homes.areSharded())
    return moves;
  for (auto kind : {rondo::CollectiveKind::GatherWeights,
                    rondo::CollectiveKind::ScatterGradients})
    for (int32_t home = 0; home < homes.size(); ++home) {
      if (!homes[home].isSharded() || homes[home].piece != 0)
        continue;
      Collective move;
      move.kind = kind;
      for (int32_t piece = 0; piece < homes[home].pieces; ++piece)
        move.homes.push_back(home + piece);
      moves.push_back(std::move(move));
    }
  return moves;
}

/// Sums of gradients over the homes of stages that have several, from the last
/// stage to the first: the last is the first to have all of its own. Homes of
/// groups have the sums of their groups, each a piece, which is added to the
/// same piece of the other groups.
static std::vector<Collective> homeSums(PlanOp plan, const Homes &homes) {
  std::vector<Collective> sums;
  if (!homes.hasReplicas())
    return sums;
  const std::vector<HomeBuffers> buffers = homeBuffers(plan);
  for (int32_t stage = homes.numStages() - 1; stage >= 0; --stage) {
    const int32_t pieces = homes.of(stage).begin()->pieces;
    if (homes.of(stage).size() == pieces)
      continue;
    for (int32_t piece = 0; piece < pieces; ++piece) {
      Collective sum;
      sum.kind = rondo::CollectiveKind::HomeGradients;
      for (const Home &home : homes.of(stage))
        if (home.piece == piece)
          sum.homes.push_back(homes.numberOf(stage, home.replica));
      if (buffers[sum.homes.front()][int(BufferKind::Gradients)] != 0)
        sums.push_back(std::move(sum));
    }
  }
  return sums;
}

std::vector<Collective> rondo::pipe::planCollectives(PlanOp plan) {
  if (!declaresWeights(plan))
    return {};
  const Homes homes = plan.getHomes();
  std::vector<Collective> collectives = groupMoves(plan, homes);
  llvm::append_range(collectives, homeSums(plan, homes));
  Collective norm;
  for (int32_t home = 0; home < homes.size(); ++home)
    norm.homes.push_back(home);

  ModelOp model = plan.lookupModel();
  if (model.getSizes() && model.getSizes()->tied) {
    Collective tied;
    tied.kind = rondo::CollectiveKind::TiedGradients;
    tied.tensor =
        model.getLlamaAttr() ? "model.embed_tokens.weight" : "wte.weight";
    // The embedding and the head, which share the weight.
    llvm::StringMap<LayerData> data;
    for (LayerOp layer : model.getLayers())
      data[layer.getSymName()] = layer.getData();
    std::vector<bool> isShared(homes.numStages());
    for (auto [s, stage] : llvm::enumerate(plan.getStages()))
      for (FlatSymbolRefAttr layer :
           stage.getLayers().getAsRange<FlatSymbolRefAttr>())
        if (data[layer.getValue()] != LayerData::None)
          isShared[s] = true;
    for (int32_t home = 0; home < homes.size(); ++home)
      if (isShared[homes[home].stage])
        tied.homes.push_back(home);
    if (llvm::count(isShared, true) > 1)
      collectives.push_back(std::move(tied));
  }
  collectives.push_back(std::move(norm));
  return collectives;
}

namespace {
/// A home's part in a collective.
struct Part {
  int32_t rank;
  int64_t count;
  bool contributes;
};
} // namespace

/// Elements of the part of a home that contributes.
static int64_t elementsOf(PlanOp plan, const Collective &collective,
                          int32_t home,
                          const std::vector<HomeBuffers> &buffers) {
  auto elements = [&](BufferKind kind) {
    return std::max<int64_t>(0,
                             buffers[home][int(kind)] / int64_t(sizeof(float)));
  };
  switch (collective.kind) {
  // Of what is gathered, copies in another dtype do not travel.
  case rondo::CollectiveKind::GatherWeights:
  case rondo::CollectiveKind::ScatterGradients:
    return elements(BufferKind::UnreducedGradients);
  case rondo::CollectiveKind::HomeGradients:
    return elements(BufferKind::Gradients);
  case rondo::CollectiveKind::TiedGradients: {
    const ModelSizes sizes = *plan.lookupModel().getSizes();
    return sizes.vocab * sizes.hidden;
  }
  case rondo::CollectiveKind::GradientNorm:
    break;
  }
  const int32_t stage = plan.getHomes()[home].stage;
  return partialsPerLayer *
         static_cast<int64_t>(plan.getStages()[stage].getLayers().size());
}

std::vector<int64_t> rondo::pipe::stagingOfRanks(PlanOp plan, bool hasNorm) {
  const SumLimits limits =
      plan.getTargetKind() == Target::Cuda ? sumsOfGpus : sumsOfProcesses;
  const Homes homes = plan.getHomes();
  const std::vector<HomeBuffers> buffers = homeBuffers(plan);
  std::vector<int64_t> bytes(plan.lookupCluster().getDevices().size(), 0);
  for (const Collective &collective : planCollectives(plan)) {
    const bool isNorm = collective.kind == rondo::CollectiveKind::GradientNorm;
    if (isNorm && !(hasNorm && limits.stagesGathers))
      continue;
    std::vector<Part> parts;
    for (int32_t home : collective.homes) {
      // The first home of a stage owns its tensors, or the first group.
      const bool contributes = allHomesContribute(collective.kind) ||
                               homes[home].replica == homes[home].piece;
      parts.push_back({homes[home].rank,
                       contributes || !isNorm
                           ? elementsOf(plan, collective, home, buffers)
                           : 0,
                       contributes});
    }
    for (auto [rank, needed] : stagingBytes(collective.kind, parts, limits))
      bytes[rank] = std::max(bytes[rank], needed);
  }
  return bytes;
}
