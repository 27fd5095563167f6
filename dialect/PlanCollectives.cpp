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

/// Gathers and reductions of the groups of sharded stages, group by group.
static std::vector<Collective> groupMoves(PlanOp plan,
                                          const Replicas &replicas) {
  std::vector<Collective> moves;
  if (!replicas.areSharded())
    return moves;
  for (auto kind : {rondo::CollectiveKind::GatherWeights,
                    rondo::CollectiveKind::ScatterGradients})
    for (int32_t replica = 0; replica < replicas.size(); ++replica) {
      if (!replicas[replica].isSharded() || replicas[replica].shard != 0)
        continue;
      Collective move;
      move.kind = kind;
      for (int32_t shard = 0; shard < replicas[replica].shards; ++shard)
        move.replicas.push_back(replica + shard);
      moves.push_back(std::move(move));
    }
  return moves;
}

/// Sums of gradients over the replicas of stages that have several, from the
/// last stage to the first: the last is the first to have all of its own.
/// Replicas of groups have the sums of their groups, each a shard, which is
/// added to the same shard of the other groups.
static std::vector<Collective> replicaSums(PlanOp plan,
                                           const Replicas &replicas) {
  std::vector<Collective> sums;
  if (!replicas.isReplicated())
    return sums;
  const std::vector<ReplicaBuffers> buffers = replicaBuffers(plan);
  for (int32_t stage = replicas.numStages() - 1; stage >= 0; --stage) {
    const int32_t shards = replicas.of(stage).begin()->shards;
    if (replicas.of(stage).size() == shards)
      continue;
    for (int32_t shard = 0; shard < shards; ++shard) {
      Collective sum;
      sum.kind = rondo::CollectiveKind::ReplicaGradients;
      for (const Replica &replica : replicas.of(stage))
        if (replica.shard == shard)
          sum.replicas.push_back(replicas.numberOf(stage, replica.index));
      if (buffers[sum.replicas.front()][int(BufferKind::Gradients)] != 0)
        sums.push_back(std::move(sum));
    }
  }
  return sums;
}

/// Gathers of the weights that steps have made, for stages that shard their
/// moments alone, from the last stage to the first.
static std::vector<Collective> groupUpdates(PlanOp plan,
                                            const Replicas &replicas) {
  std::vector<Collective> updates;
  SmallVector<StageOp, 0> stages = plan.getStages();
  for (auto stage = static_cast<int32_t>(stages.size()) - 1; stage >= 0;
       --stage) {
    const auto shards = static_cast<int32_t>(stages[stage].getMomentShards());
    const std::vector<ReplicaBuffers> buffers =
        stages[stage].buffersByReplica();
    if (shards == 1 || buffers.empty() ||
        buffers.front()[int(BufferKind::Gradients)] == 0)
      continue;
    for (int32_t first = 0; first < replicas.of(stage).size();
         first += shards) {
      Collective &update = updates.emplace_back();
      update.kind = rondo::CollectiveKind::GatherUpdates;
      for (int32_t shard = 0; shard < shards; ++shard)
        update.replicas.push_back(replicas.numberOf(stage, first + shard));
    }
  }
  return updates;
}

std::vector<int32_t> rondo::pipe::tiedStages(PlanOp plan) {
  ModelOp model = plan.lookupModel();
  if (!model.getSizes() || !model.getSizes()->tied)
    return {};
  // The embedding and the head share the weight.
  llvm::StringMap<LayerData> data;
  for (LayerOp layer : model.getLayers())
    data[layer.getSymName()] = layer.getData();
  std::vector<int32_t> shared;
  for (auto [s, stage] : llvm::enumerate(plan.getStages()))
    if (llvm::any_of(stage.getLayers().getAsRange<FlatSymbolRefAttr>(),
                     [&](FlatSymbolRefAttr layer) {
                       return data[layer.getValue()] != LayerData::None;
                     }))
      shared.push_back(static_cast<int32_t>(s));
  return shared.size() > 1 ? shared : std::vector<int32_t>();
}

std::vector<Collective> rondo::pipe::planCollectives(PlanOp plan) {
  if (!declaresWeights(plan))
    return {};
  const Replicas replicas = plan.getReplicas();
  std::vector<Collective> collectives = groupMoves(plan, replicas);
  llvm::append_range(collectives, replicaSums(plan, replicas));
  Collective norm;
  for (int32_t replica = 0; replica < replicas.size(); ++replica)
    norm.replicas.push_back(replica);

  if (const std::vector<int32_t> shared = tiedStages(plan); !shared.empty()) {
    Collective tied;
    tied.kind = rondo::CollectiveKind::TiedGradients;
    tied.tensor = plan.lookupModel().getArchitecture()->getTiedTensor().str();
    for (int32_t replica = 0; replica < replicas.size(); ++replica)
      if (llvm::is_contained(shared, replicas[replica].stage))
        tied.replicas.push_back(replica);
    collectives.push_back(std::move(tied));
  }
  collectives.push_back(std::move(norm));
  llvm::append_range(collectives, groupUpdates(plan, replicas));
  return collectives;
}

namespace {
/// A replica's part in a collective.
struct Part {
  int32_t rank;
  int64_t count;
  bool contributes;
};
} // namespace

/// Elements of the part of a replica that contributes.
static int64_t elementsOf(PlanOp plan, const Collective &collective,
                          int32_t replica,
                          const std::vector<ReplicaBuffers> &buffers) {
  auto elements = [&](BufferKind kind) {
    return std::max<int64_t>(0, buffers[replica][int(kind)] /
                                    int64_t(sizeof(float)));
  };
  switch (collective.kind) {
  // Copies in another dtype are not sent.
  case rondo::CollectiveKind::GatherWeights:
  case rondo::CollectiveKind::ScatterGradients:
    return elements(BufferKind::UnreducedGradients);
  case rondo::CollectiveKind::ReplicaGradients:
  case rondo::CollectiveKind::GatherUpdates:
    return elements(BufferKind::Gradients);
  case rondo::CollectiveKind::TiedGradients: {
    const ModelSizes sizes = *plan.lookupModel().getSizes();
    return sizes.vocab * sizes.hidden;
  }
  case rondo::CollectiveKind::GradientNorm:
    break;
  }
  ModelOp model = plan.lookupModel();
  int64_t places = 0;
  for (Attribute name :
       plan.getStages()[plan.getReplicas()[replica].stage].getLayers()) {
    auto layer = cast<LayerOp>(SymbolTable::lookupSymbolIn(
        model, cast<FlatSymbolRefAttr>(name).getAttr()));
    const CustomAttr custom = layer.getCustomAttr();
    places += partialsOfLayer(custom ? custom.getTensors() : 0);
  }
  return places;
}

std::vector<int64_t> rondo::pipe::stagingOfRanks(PlanOp plan, bool hasNorm) {
  const SumLimits limits =
      plan.getTargetKind() == Target::Cuda ? sumsOfGpus : sumsOfProcesses;
  const Replicas replicas = plan.getReplicas();
  const std::vector<ReplicaBuffers> buffers = replicaBuffers(plan);
  std::vector<int64_t> bytes(plan.lookupCluster().getDevices().size(), 0);
  for (const Collective &collective : planCollectives(plan)) {
    const bool isNorm = collective.kind == rondo::CollectiveKind::GradientNorm;
    if (isNorm && !(hasNorm && limits.stagesGathers))
      continue;
    std::vector<Part> parts;
    for (int32_t replica : collective.replicas) {
      // The first replica of a stage owns its tensors, or the first group.
      const bool contributes =
          allReplicasContribute(collective.kind) ||
          replicas[replica].index == replicas[replica].shard;
      parts.push_back({replicas[replica].rank,
                       contributes || !isNorm
                           ? elementsOf(plan, collective, replica, buffers)
                           : 0,
                       contributes});
    }
    for (auto [rank, needed] : stagingBytes(collective.kind, parts, limits))
      bytes[rank] = std::max(bytes[rank], needed);
  }
  return bytes;
}
