//===- PlanFigures.cpp - Figures of plans for lowering --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "plans/PlanFigures.h"

#include "dialect/Bridge.h"
#include "plans/Layers.h"
#include "plans/VersionedWindow.h"
#include "runtime/model/layer_sizes.h"
#include "runtime/model/layouts.h"
#include "schedule/model/CollectiveTime.h"
#include "schedule/simulate/NormDelay.h"

#include <set>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// The first element of a shared weight in the weights of a stage.
static int64_t beginOfShared(StageOp stage, ModelOp model,
                             ArrayRef<runtime::LayerDesc> layers) {
  int64_t begin = 0;
  const int64_t first = firstLayerOf(stage, model);
  for (size_t l = 0; l < stage.getLayers().size(); ++l) {
    const runtime::LayerDesc &layer = layers[first + l];
    const runtime::LayerData data = runtime::rowOf(layer.kind).data;
    if (data == runtime::LayerData::Tokens)
      return begin + runtime::EmbeddingWeights(layer).token;
    if (data == runtime::LayerData::Targets)
      return begin + runtime::HeadWeights(layer).vocabulary;
    begin += runtime::layerSizes(layer).gradients / int64_t(sizeof(float));
  }
  return begin;
}

/// The sum of a shared weight, where a stage that has it is sharded: one for
/// the elements between each two borders of shards, over the replicas that have
/// them.
static std::vector<Collective> sumsOfShards(PlanOp plan,
                                            const Collective &tied) {
  const Replicas replicas = plan.getReplicas();
  const std::vector<ReplicaBuffers> buffers = replicaBuffers(plan);
  const std::vector<runtime::LayerDesc> layers = describeLayers(plan);
  const ModelSizes sizes = *plan.lookupModel().getSizes();
  const int64_t count = sizes.vocab * sizes.hidden;
  SmallVector<StageOp, 0> stages = plan.getStages();
  // [replica]: the ends of its shard, counted from the first element.
  std::vector<int64_t> begins, ends;
  std::set<int64_t> borders = {0, count};
  for (int32_t replica : tied.replicas) {
    const int64_t elements =
        buffers[replica][int(BufferKind::Gradients)] / int64_t(sizeof(float));
    const int64_t begin = replicas[replica].shard * elements -
                          beginOfShared(stages[replicas[replica].stage],
                                        plan.lookupModel(), layers);
    begins.push_back(begin);
    ends.push_back(begin + elements);
    for (int64_t border : {begin, begin + elements})
      if (border > 0 && border < count)
        borders.insert(border);
  }
  std::vector<Collective> sums;
  for (auto first = borders.begin(), next = std::next(first);
       next != borders.end(); first = next++) {
    Collective &sum = sums.emplace_back(tied);
    sum.firstElement = *first;
    sum.numElements = *next - *first;
    sum.replicas.clear();
    for (size_t i = 0; i < tied.replicas.size(); ++i)
      if (begins[i] <= *first && *next <= ends[i])
        sum.replicas.push_back(tied.replicas[i]);
  }
  return sums;
}

static std::vector<Collective> collectivesOf(PlanOp plan) {
  std::vector<Collective> collectives = planCollectives(plan);
  const Replicas replicas = plan.getReplicas();
  auto tied = llvm::find_if(collectives, [&](const Collective &one) {
    return one.kind == rondo::CollectiveKind::TiedGradients &&
           llvm::any_of(one.replicas, [&](int32_t replica) {
             return replicas[replica].isSharded();
           });
  });
  if (tied == collectives.end())
    return collectives;
  const std::vector<Collective> sums = sumsOfShards(plan, *tied);
  collectives.insert(collectives.erase(tied), sums.begin(), sums.end());
  return collectives;
}

/// With how long each takes.
static std::vector<Collective> timedCollectives(PlanOp plan) {
  std::vector<Collective> collectives = collectivesOf(plan);
  if (!plan.getReplicas().isReplicated())
    return collectives;
  FailureOr<Problem> problem = buildProblem(plan);
  const std::vector<ReplicaBuffers> buffers = replicaBuffers(plan);
  for (Collective &sum : collectives)
    if (movesState(sum.kind) && succeeded(problem))
      sum.ns = problem
                   ->cost(sum.replicas.front(),
                          sum.kind == rondo::CollectiveKind::GatherWeights
                              ? ActionKind::Unshard
                              : ActionKind::ReduceGrad)
                   .ns;
    else if (sum.kind == rondo::CollectiveKind::GatherUpdates &&
             succeeded(problem))
      sum.ns = gatherOverReplicasNs(
          *problem, sum.replicas,
          buffers[sum.replicas.front()][int(BufferKind::Gradients)]);
    else if (sum.kind == rondo::CollectiveKind::ReplicaGradients &&
             succeeded(problem))
      sum.ns = sumOverReplicasNs(
          *problem, sum.replicas,
          buffers[sum.replicas.front()][int(BufferKind::Gradients)]);
  return collectives;
}

/// [rank]: bytes of the buffers of all tokens in flight; empty if the plan does
/// not limit these.
static std::vector<int64_t> roomBytes(PlanOp plan) {
  if (!plan.getTokensAttr())
    return {};
  std::vector<int64_t> bytes(deviceBytes(plan).size(), 0);
  for (auto [replica, buffers] :
       llvm::zip_equal(plan.getReplicas(), replicaBuffers(plan)))
    for (const BufferTraits &traits : bufferTable)
      if (!traits.isState() && traits.slotPer == SlotPer::Microbatch)
        bytes[replica.rank] += runtime::alignedBytes(
            bytesInFlight(plan, buffers[int(traits.kind)]));
  return bytes;
}

PlanFigures rondo::pipe::figuresOf(PlanOp plan, bool hasNorm) {
  PlanFigures figures;
  figures.hasNorm = hasNorm;
  figures.buffers = replicaBuffers(plan);
  figures.buffersByMicrobatch = buffersByMicrobatch(plan);
  figures.collectives = timedCollectives(plan);
  figures.stagingBytes = stagingOfRanks(plan, hasNorm);
  figures.devices = deviceBytes(plan);
  figures.declaresWeights = declaresWeights(plan);
  figures.resident = plan.getResident();
  figures.roomBytes = roomBytes(plan);
  return figures;
}

/// Bytes that R, I and B of a replica that is moved back need for its largest
/// layer.
static int64_t scratchOf(StageOp stage, ArrayRef<runtime::LayerDesc> layers,
                         ModelOp model) {
  int64_t most = 0;
  const int64_t first = firstLayerOf(stage, model);
  for (size_t l = 0; l < stage.getLayers().size(); ++l)
    most = std::max(most, runtime::layerSizes(layers[first + l]).weights);
  return runtime::alignedBytes(most);
}

/// Adds the versions that the tasks of a schedule whose iterations overlap
/// read, and the memory that these take. Faults are left to
/// pipe-verify-scheduled.
static void addVersions(ScheduleOp schedule, const VersionedWindow &window,
                        PlanFigures &figures) {
  figures.delays = window.delays;
  for (Collective &collective : figures.collectives)
    if (collective.kind == rondo::CollectiveKind::GradientNorm &&
        window.normDelay) {
      collective.delay = *window.normDelay;
      collective.ns = normNs(window.problem);
    }
  PlanOp plan = schedule.lookupPlan();
  SmallVector<StageOp, 0> stages = plan.getStages();
  const std::vector<runtime::LayerDesc> layers = describeLayers(plan);
  for (const ReplicaVersions &replica : window.versions.replicas)
    figures.versions.weightSlots.push_back(replica.slots);
  figures.versions.scratchBytes.resize(window.problem.numReplicas());
  for (auto [replica, bytes] : llvm::enumerate(figures.versions.scratchBytes)) {
    const int32_t stage = window.problem.replicas[replica].stage;
    if (window.problem.policyOf(stage).backward ==
        rondo::BackwardWeights::Extrapolated)
      bytes = scratchOf(stages[stage], layers, plan.lookupModel());
  }
}

PlanFigures rondo::pipe::figuresOf(ScheduleOp schedule) {
  PlanFigures figures =
      figuresOf(schedule.lookupPlan(), schedule.computesNorm());
  if (!schedule.overlaps() || schedule.isBodyEmpty())
    return figures;
  FailureOr<VersionedWindow> window = analyzeWindow(schedule);
  if (succeeded(window))
    addVersions(schedule, *window, figures);
  return figures;
}
