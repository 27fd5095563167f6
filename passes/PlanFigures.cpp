//===- PlanFigures.cpp - What lowering needs to know of a plan ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/PlanFigures.h"

#include "dialect/Bridge.h"
#include "passes/Layers.h"
#include "passes/VersionedWindow.h"
#include "runtime/model/layer_sizes.h"
#include "schedule/CollectiveTime.h"
#include "schedule/NormDelay.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// With how long each takes.
static std::vector<Collective> timedCollectives(PlanOp plan) {
  std::vector<Collective> collectives = planCollectives(plan);
  if (!plan.getHomes().hasReplicas())
    return collectives;
  FailureOr<Problem> problem = buildProblem(plan);
  const std::vector<HomeBuffers> buffers = homeBuffers(plan);
  for (Collective &sum : collectives)
    if (sum.kind == rondo::CollectiveKind::HomeGradients && succeeded(problem))
      sum.ns = sumOverHomesNs(
          *problem, sum.homes,
          buffers[sum.homes.front()][int(BufferKind::Gradients)]);
  return collectives;
}

PlanFigures rondo::pipe::figuresOf(PlanOp plan, bool hasNorm) {
  PlanFigures figures;
  figures.hasNorm = hasNorm;
  figures.buffers = homeBuffers(plan);
  figures.collectives = timedCollectives(plan);
  figures.stagingBytes = stagingOfRanks(plan, hasNorm);
  figures.devices = deviceBytes(plan);
  figures.declaresWeights = declaresWeights(plan);
  return figures;
}

/// What R, I and B of a home that is moved back need for the largest of its
/// layers.
static int64_t scratchOf(StageOp stage, ArrayRef<runtime::LayerDesc> layers,
                         ModelOp model) {
  int64_t most = 0;
  const int64_t first = firstLayerOf(stage, model);
  for (size_t l = 0; l < stage.getLayers().size(); ++l)
    most = std::max(most, runtime::layerSizes(layers[first + l]).weights);
  return runtime::alignedBytes(most);
}

/// What the tasks of a schedule whose iterations overlap read, and the memory
/// that this takes. Verifying says what is wrong with one that is not sound.
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
  for (const HomeVersions &home : window.versions.homes)
    figures.versions.weightSlots.push_back(home.slots);
  figures.versions.scratchBytes.resize(window.problem.numHomes());
  for (auto [home, bytes] : llvm::enumerate(figures.versions.scratchBytes)) {
    const int32_t stage = window.problem.homes[home].stage;
    if (window.problem.policyOf(stage).backward ==
        rondo::BackwardWeights::Extrapolated)
      bytes = scratchOf(stages[stage], layers, plan.lookupModel());
  }
}

static FailureOr<VersionedWindow> windowOf(ScheduleOp schedule) {
  if (!schedule.overlaps() || schedule.isBodyEmpty())
    return failure();
  return analyzeWindow(schedule);
}

static PlanFigures figuresOf(ScheduleOp schedule,
                             const FailureOr<VersionedWindow> &window) {
  PlanFigures figures =
      rondo::pipe::figuresOf(schedule.lookupPlan(), schedule.computesNorm());
  if (succeeded(window))
    addVersions(schedule, *window, figures);
  return figures;
}

PlanFigures rondo::pipe::figuresOf(ScheduleOp schedule) {
  return ::figuresOf(schedule, windowOf(schedule));
}

ScheduleFigures::Known &ScheduleFigures::find(ScheduleOp schedule) {
  std::unique_ptr<Known> &of = known[schedule];
  if (!of) {
    of = std::make_unique<Known>();
    of->window = windowOf(schedule);
    of->figures = ::figuresOf(schedule, of->window);
  }
  return *of;
}

const PlanFigures &ScheduleFigures::of(ScheduleOp schedule) {
  return find(schedule).figures;
}

const VersionedWindow *ScheduleFigures::window(ScheduleOp schedule) {
  const FailureOr<VersionedWindow> &window = find(schedule).window;
  return succeeded(window) ? &*window : nullptr;
}
