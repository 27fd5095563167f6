//===- PlanShapes.cpp - Other ways to lay a model on a cluster ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/PlanShapes.h"

#include "dialect/Bridge.h"
#include "passes/Layers.h"
#include "passes/PlanFigures.h"
#include "schedule/families/Placement.h"
#include "schedule/partition/Partition.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

static StringAttr freeName(Operation *module, const Twine &wanted) {
  std::string name = wanted.str();
  while (SymbolTable::lookupSymbolIn(module, name))
    name += "_";
  return StringAttr::get(module->getContext(), name);
}

/// `value` for a micro-batch of the size that `after` of them have, where it
/// is known for one of `before`. What 64 bits do not hold becomes more than
/// checkLayerSizes() takes.
static int64_t scaled(int64_t value, int64_t before, int64_t after) {
  constexpr uint64_t most = std::numeric_limits<int64_t>::max() / 2;
  const uint64_t whole =
      llvm::SaturatingMultiply<uint64_t>(value / after, before);
  return std::min(whole, most) + (value % after * before + after - 1) / after;
}

static void scaleLayer(LayerOp layer, int64_t before, int64_t after) {
  auto to = [&](int64_t value) { return scaled(value, before, after); };
  MLIRContext *context = layer.getContext();
  // Those of several sizes hold for any.
  if (LayerCostsAttr costs = layer.getCostsAttr();
      costs && costs.getSamples().empty())
    layer.setCostsAttr(LayerCostsAttr::get(
        context, to(costs.getForwardNs()), to(costs.getInputGradNs()),
        to(costs.getWeightGradNs()), {}, {}, {}, {}));
  if (SyntheticAttr figures = layer.getSyntheticAttr())
    layer.setSyntheticAttr(SyntheticAttr::get(
        context, to(figures.getForwardNs()), to(figures.getInputGradNs()),
        to(figures.getWeightGradNs()), to(figures.getActivationBytes()),
        to(figures.getInputGradFreesBytes()), to(figures.getOutputBytes()),
        figures.getWeightBytes()));
}

/// `4 or 8`: divisors of `samples` on both sides of a number that is none.
static std::string nextDivisors(int64_t samples, int64_t number) {
  int64_t below = std::min(number, samples);
  while (samples % below != 0)
    --below;
  const int64_t last = std::min(samples, 16 * number);
  int64_t above = number + 1;
  while (above <= last && samples % above != 0)
    ++above;
  std::string text = std::to_string(below);
  if (above <= last)
    text += " or " + std::to_string(above);
  return text;
}

/// The model that `plan`, a copy, needs to run as many samples in `after`
/// micro-batches; what is wrong, if anything.
static std::optional<Fault> resizeMicrobatches(PlanOp plan, int64_t after) {
  const int64_t before = plan.getMicrobatches();
  if (before == after)
    return std::nullopt;
  ModelOp model = plan.lookupModel();
  const std::optional<ModelSizes> sizes = model.getSizes();
  const int64_t samples = sizes ? sizes->batch * before : 0;
  if (samples % after != 0)
    return makeFault<FaultKind::UnevenSamples>(samples, after,
                                               nextDivisors(samples, after));
  for (LayerOp layer : model.getLayers())
    if (layer.getCustomAttr())
      return makeFault<FaultKind::BodyOfOneSize>(layer.getSymName().str(),
                                                 before);
  OpBuilder builder(model);
  builder.setInsertionPointAfter(model);
  auto copy = cast<ModelOp>(builder.clone(*model));
  copy.setSymNameAttr(freeName(plan->getParentOp(), model.getSymName() + "_m" +
                                                        std::to_string(after)));
  if (GptAttr gpt = model.getGptAttr())
    copy.setGptAttr(GptAttr::get(
        gpt.getContext(), gpt.getVocab(), gpt.getSequence(), gpt.getHidden(),
        gpt.getHeads(), gpt.getFfn(), samples / after, gpt.getTied()));
  if (LlamaAttr llama = model.getLlamaAttr())
    copy.setLlamaAttr(LlamaAttr::get(
        llama.getContext(), llama.getVocab(), llama.getSequence(),
        llama.getHidden(), llama.getHeads(), llama.getKvHeads(),
        llama.getHeadWidth(), llama.getFfn(), samples / after, llama.getTied(),
        llama.getNormEpsilon(), llama.getRopeTheta(), llama.getRopeScaling(),
        llama.getQkvBias(), llama.getHeadNorm()));
  for (LayerOp layer : copy.getLayers())
    scaleLayer(layer, before, after);
  plan.setModelAttr(FlatSymbolRefAttr::get(copy.getSymNameAttr()));
  plan.setMicrobatches(after);
  return std::nullopt;
}

/// Puts stages of `begins` in place of the plan's own.
static void writeStages(PlanOp plan, const ShapeGroups &groups,
                        const std::vector<int32_t> &groupOfStage,
                        const std::vector<int32_t> &begins) {
  Block &body = plan.getBody().front();
  body.clear();
  OpBuilder builder = OpBuilder::atBlockEnd(&body);
  SmallVector<LayerOp> layers = plan.lookupModel().getLayers();
  for (size_t s = 0; s < groupOfStage.size(); ++s) {
    SmallVector<Attribute> names;
    for (int32_t layer = begins[s]; layer < begins[s + 1]; ++layer)
      names.push_back(FlatSymbolRefAttr::get(layers[layer].getSymNameAttr()));
    StageOp::create(builder, plan.getLoc(), "s" + std::to_string(s),
                    builder.getArrayAttr(names),
                    builder.getDenseI64ArrayAttr(groups.ranks[groupOfStage[s]]),
                    /*shares=*/DenseI64ArrayAttr(), /*round_robin=*/false,
                    groups.sharded, /*recompute=*/ArrayAttr(), /*across=*/false,
                    /*inputs=*/ArrayAttr(), StageCostsAttr(),
                    /*buffers=*/ArrayAttr());
  }
}

/// By stage, for `ranks` ranks.
static std::vector<int32_t> ranksOfStages(const PlanShape &shape,
                                          size_t ranks) {
  const Chunks chunks{static_cast<int32_t>(ranks), shape.chunks,
                      shape.placing == Placing::V ||
                          shape.placing == Placing::Wave};
  std::vector<int32_t> rankOfStage(chunks.ranks * chunks.count);
  for (int32_t c = 0; c < chunks.count; ++c)
    for (int32_t r = 0; r < chunks.ranks; ++r)
      rankOfStage[chunks.stage(c, r)] = r;
  return rankOfStage;
}

/// Whether the stages of `plan` lie on the groups as `shape` says, however its
/// layers are cut.
static bool hasPlacing(PlanOp plan, const ShapeGroups &groups,
                       const PlanShape &shape) {
  if (shape.placing == Placing::AsWritten)
    return true;
  return llvm::equal(
      plan.getStages(), ranksOfStages(shape, groups.ranks.size()),
      [&](StageOp stage, int32_t group) {
        return llvm::equal(stage.getRanks(), groups.ranks[group]);
      });
}

/// Cuts the layers of `plan`, a copy of `base`; what is wrong, if anything.
static std::optional<Fault> cutLayers(PlanOp plan, PlanOp base,
                                      const ShapeGroups &groups,
                                      const PlanShape &shape, double &gap) {
  if (!plan.isChain())
    return makeFault<FaultKind::NotAChain>(base.getSymName().str());
  SmallVector<DeviceOp> devices = plan.lookupCluster().getDevices();
  PartitionInput input;
  input.rankOfStage = ranksOfStages(shape, groups.ranks.size());
  for (const SmallVector<int64_t> &ranks : groups.ranks) {
    int64_t cap = noMemoryCap;
    for (int64_t rank : ranks)
      cap = std::min<int64_t>(cap, devices[rank].getMemoryBytes());
    input.memoryCaps.push_back(cap);
    input.workNs.emplace_back();
    input.bytes.clear();
    const auto shares = static_cast<int64_t>(ranks.size());
    for (LayerLoad load : layerLoads(plan, ranks.front())) {
      // What all samples take, in every group.
      input.workNs.back().push_back(load.workNs);
      // Sizes are checked to have room for all micro-batches.
      input.bytes.push_back(load.stateBytes / groups.shards() +
                            shape.held * load.activationBytes / shares);
    }
  }
  const Result<Partition> partition = partitionLayers(input, shape.maxLabels);
  if (!partition)
    return partition.fault();
  const auto &cut = *partition;
  writeStages(plan, groups, input.rankOfStage, cut.begins);
  gap = double(cut.busiestNs - cut.leastNs) /
        double(std::max<int64_t>(cut.leastNs, 1));
  return std::nullopt;
}

/// Gives `plan`, a copy of `base`, the shape; what is wrong, if anything. `gap`
/// becomes ShapedPlan::cutGap.
static std::optional<Fault> reshape(PlanOp plan, PlanOp base,
                                    const ShapeGroups &groups,
                                    const PlanShape &shape, double &gap) {
  std::optional<Fault> why = resizeMicrobatches(plan, shape.microbatches);
  if (why)
    return why;
  // What these say to people is of a plan that nobody wrote.
  ScopedDiagnosticHandler handler(plan.getContext(), [&](Diagnostic &fault) {
    if (!why)
      why = makeFault<FaultKind::PlanRefused>(fault.str());
    return success();
  });
  if (failed(checkLayerSizes(plan.lookupModel(), plan)))
    return why;
  if (shape.placing != Placing::AsWritten)
    if (std::optional<Fault> fault = cutLayers(plan, base, groups, shape, gap))
      return fault;
  const StageFigures figures(plan);
  for (StageOp stage : plan.getStages()) {
    stage.setCostsAttr(figures.costs(stage));
    stage.setBuffersByReplica(figures.buffers(stage));
  }
  if (failed(buildProblem(plan)))
    return why;
  return std::nullopt;
}

/// `plan` states a sound problem.
static ShapedPlan valueOf(PlanOp plan, StringRef name) {
  ShapedPlan shaped;
  shaped.problem = *buildProblem(plan);
  shaped.problem.name = name.str();
  // A chosen plan is one that compiles, so what weights are not declared is 0.
  takeState(plan, shaped.problem);
  shaped.figures = figuresOf(plan);
  shaped.begins.push_back(0);
  for (StageOp stage : plan.getStages()) {
    shaped.ranks.push_back(stage.getRanks()[0]);
    shaped.begins.push_back(shaped.begins.back() + stage.getLayers().size());
  }
  return shaped;
}

FailureOr<ShapeGroups> rondo::pipe::shapeGroups(PlanOp plan) {
  ShapeGroups groups;
  SmallVector<StageOp, 0> stages = plan.getStages();
  if (llvm::all_of(
          stages, [](StageOp stage) { return stage.getRanks().size() == 1; })) {
    const size_t ranks = plan.lookupCluster().getDevices().size();
    for (size_t rank = 0; rank < ranks; ++rank)
      groups.ranks.push_back({static_cast<int64_t>(rank)});
    return groups;
  }
  constexpr const char *rule =
      "; a search over placements takes stages on one rank, or stages sharded "
      "in one way over groups of ranks";
  DenseMap<int64_t, size_t> groupOf;
  for (StageOp stage : stages) {
    if (!stage.getShardedAttr() || stage.getShares())
      return stage.emitError()
             << "stage @" << stage.getSymName() << " is on "
             << stage.describeRanks() << rule << searchAsWritten;
    if (!groups.sharded)
      groups.sharded = stage.getShardedAttr();
    if (stage.getShardedAttr() != groups.sharded ||
        stage.getRanks().size() != stages.front().getRanks().size()) {
      InFlightDiagnostic error =
          stage.emitError()
          << "stage @" << stage.getSymName() << " is on "
          << stage.describeRanks() << " and does not shard its state as stage @"
          << stages.front().getSymName() << " does" << rule << searchAsWritten;
      error.attachNote(stages.front().getLoc())
          << "stage @" << stages.front().getSymName() << " is here";
      return error;
    }
    const auto known = groupOf.find(stage.getRanks()[0]);
    if (known != groupOf.end() &&
        llvm::equal(groups.ranks[known->second], stage.getRanks()))
      continue;
    for (int64_t rank : stage.getRanks())
      if (!groupOf.insert({rank, groups.ranks.size()}).second)
        return stage.emitError()
               << "stage @" << stage.getSymName() << " is on "
               << stage.describeRanks() << ", but rank " << rank
               << " shares the state of another stage with other ranks" << rule
               << searchAsWritten;
    groups.ranks.push_back(llvm::to_vector(stage.getRanks()));
  }
  return groups;
}

PlanShapes::PlanShapes(PlanOp base) : base(base) {
  if (base)
    groups = *shapeGroups(base);
}

Result<ShapedPlan> PlanShapes::make(const PlanShape &shape) {
  OpBuilder builder(base);
  builder.setInsertionPointAfter(base);
  auto plan = cast<PlanOp>(builder.clone(*base));
  plan.setSymNameAttr(
      freeName(base->getParentOp(), base.getSymName() + "_shaped"));
  double gap = 0;
  if (std::optional<Fault> why = reshape(plan, base, groups, shape, gap)) {
    plan.erase();
    return *why;
  }
  ShapedPlan shaped = valueOf(plan, base.getSymName());
  shaped.cutGap = gap;
  shaped.id = made.size();
  made.push_back(plan);
  return shaped;
}

PlanSpace PlanShapes::space() {
  PlanSpace space;
  space.name = base.getSymName().str();
  space.ranks = groups.ranks.size();
  space.layers = base.lookupModel().getLayers().size();
  space.make = [this](const PlanShape &shape) { return make(shape); };
  space.isWrittenAs = [this](const PlanShape &shape) {
    return hasPlacing(base, groups, shape);
  };
  return space;
}
