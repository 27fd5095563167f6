//===- ModelPlans.cpp - Plans of a model as ops ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/ModelPlans.h"

#include "dialect/Bridge.h"
#include "passes/LayerTimes.h"
#include "passes/Layers.h"
#include "passes/PlanFigures.h"
#include "passes/ScratchDiagnostics.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// What a chain's rate is at most; a link without a limit has this.
static constexpr int64_t maxRate = int64_t(1) << 36;

/// Times that layers state are the same on all devices.
static bool haveStatedTimes(ArrayRef<LayerOp> layers) {
  return llvm::all_of(layers, [](LayerOp layer) {
    return layer.getSyntheticAttr() || layer.getCostsAttr();
  });
}

/// References to all of them, or to those chosen by their place.
static SmallVector<Attribute> namesOf(
    ArrayRef<LayerOp> layers,
    function_ref<bool(size_t)> isChosen = [](size_t) { return true; }) {
  SmallVector<Attribute> names;
  for (auto [place, each] : llvm::enumerate(layers)) {
    LayerOp layer = each;
    if (isChosen(place))
      names.push_back(FlatSymbolRefAttr::get(layer.getSymNameAttr()));
  }
  return names;
}

/// The layers that a stage says it recomputes; null if it has none of those.
static ArrayAttr recomputed(ArrayRef<LayerOp> layers, int32_t first,
                            const std::vector<bool> &recomputes) {
  const SmallVector<Attribute> names =
      namesOf(layers, [&](size_t place) { return recomputes[first + place]; });
  if (names.empty())
    return {};
  LayerOp any = layers.front();
  MLIRContext *context = any.getContext();
  // An empty list means all.
  return names.size() == layers.size() ? ArrayAttr::get(context, {})
                                       : ArrayAttr::get(context, names);
}

static void addStage(PlanOp plan, size_t number, ArrayRef<LayerOp> layers,
                     int32_t first, ArrayRef<int32_t> ranks, int64_t samples,
                     const std::vector<bool> &recomputes) {
  OpBuilder builder = OpBuilder::atBlockEnd(&plan.getBody().front());
  const SmallVector<int64_t> replicas(ranks.begin(), ranks.end());
  const auto count = static_cast<int64_t>(replicas.size());
  // Shares that differ by one at most, where they cannot be equal.
  DenseI64ArrayAttr shares;
  if (samples % count != 0) {
    SmallVector<int64_t> each(count, samples / count);
    for (int64_t k = 0; k < samples % count; ++k)
      ++each[k];
    shares = builder.getDenseI64ArrayAttr(each);
  }
  StageOp::create(builder, plan.getLoc(), "s" + std::to_string(number),
                  builder.getArrayAttr(namesOf(layers)),
                  builder.getDenseI64ArrayAttr(replicas), shares,
                  /*round_robin=*/false, ShardedAttr(),
                  recomputed(layers, first, recomputes), /*across=*/false,
                  /*inputs=*/ArrayAttr(), StageCostsAttr(),
                  /*buffers=*/ArrayAttr());
}

/// Servers, as the chain planner wants to know them: devices that are joined by
/// links of at least the geometric mean of the slowest and the fastest.
static std::vector<int32_t> nodesOf(const Problem &problem,
                                    const std::vector<int64_t> &rates) {
  const auto ranks = static_cast<size_t>(problem.numRanks());
  double slowest = double(maxRate), fastest = 0;
  for (size_t u = 0; u < ranks; ++u)
    for (size_t v = 0; v < ranks; ++v)
      if (u != v) {
        slowest = std::min(slowest, double(rates[u * ranks + v]));
        fastest = std::max(fastest, double(rates[u * ranks + v]));
      }
  const double enough = std::sqrt(slowest * fastest);
  std::vector<int32_t> nodeOf(ranks, -1);
  int32_t nodes = 0;
  for (size_t first = 0; first < ranks; ++first) {
    if (nodeOf[first] >= 0)
      continue;
    std::vector<size_t> reached = {first};
    nodeOf[first] = nodes;
    while (!reached.empty()) {
      const size_t u = reached.back();
      reached.pop_back();
      for (size_t v = 0; v < ranks; ++v)
        if (nodeOf[v] < 0 && double(std::min(rates[u * ranks + v],
                                             rates[v * ranks + u])) >= enough) {
          nodeOf[v] = nodes;
          reached.push_back(v);
        }
    }
    ++nodes;
  }
  return nodeOf;
}

/// Devices that have NICs and cross none to each other are on one server.
static void joinServers(const Nics &nics, std::vector<int32_t> &nodeOf) {
  const auto ranks = static_cast<int32_t>(nodeOf.size());
  for (int32_t u = 0; u < ranks && !nics.empty(); ++u)
    for (int32_t v = 0; v < u; ++v)
      if (nics.ofRank[u] >= 0 && nics.ofRank[v] >= 0 &&
          !nics.between(u, v).any()) {
        nodeOf[u] = nodeOf[v];
        break;
      }
}

/// Devices without a cap are as large as the largest with one, or together
/// have none.
static void takeMemory(ArrayRef<int64_t> bytes, ChainProblem &chain) {
  auto capOf = [](int64_t own) { return own == noMemoryCap ? 0 : own; };
  chain.memoryBytes = 0;
  for (int64_t own : bytes)
    chain.memoryBytes = std::max(chain.memoryBytes, capOf(own));
  if (llvm::all_of(bytes, [&](int64_t own) {
        return own == noMemoryCap || own == chain.memoryBytes;
      }))
    return;
  for (int64_t own : bytes)
    chain.memoryLess.push_back(own == noMemoryCap ? 0
                                                  : chain.memoryBytes - own);
}

/// Times are those of the slowest device; stated ones are the same on all.
static void takeSpeeds(ArrayRef<int64_t> speeds, ChainProblem &chain) {
  const auto slowest = *llvm::min_element(speeds);
  if (llvm::all_of(speeds, [&](int64_t speed) { return speed == slowest; }))
    return;
  for (int64_t speed : speeds)
    chain.speedPercent.push_back(
        std::llround(100. * double(speed) / double(slowest)));
}

/// The devices of a plan's cluster and their links.
static void takeCluster(PlanOp plan, const Problem &problem,
                        ChainProblem &chain) {
  const int32_t ranks = problem.numRanks();
  chain.bytesPerUs.assign(static_cast<size_t>(ranks) * ranks, 0);
  for (int32_t u = 0; u < ranks; ++u)
    for (int32_t v = 0; v < ranks; ++v) {
      const int64_t rate = problem.linkBetween(u, v).bytesPerUs;
      chain.bytesPerUs[static_cast<size_t>(u) * ranks + v] =
          rate == 0 ? maxRate : std::min(rate, maxRate);
    }
  chain.nodeOf = nodesOf(problem, chain.bytesPerUs);
  chain.nicOf = problem.nics.ofRank;
  joinServers(problem.nics, chain.nodeOf);
  for (int32_t u = 0; u < ranks; ++u)
    for (int32_t v = 0; v < ranks; ++v) {
      if (u == v)
        continue;
      const int64_t ns = problem.linkBetween(u, v).latencyNs;
      int64_t &most = chain.nodeOf[u] == chain.nodeOf[v]
                          ? chain.latencyInsideNs
                          : chain.latencyAcrossNs;
      most = std::max(most, ns);
    }
  takeMemory(deviceBytes(plan), chain);
}

PlanOp ModelPlans::copyOfBase(int64_t microbatchSamples) {
  OpBuilder builder(base);
  builder.setInsertionPointAfter(base);
  auto plan = cast<PlanOp>(builder.clone(*base));
  plan.setSymName(
      (base.getSymName() + "_" + std::to_string(made.size())).str());
  plan.setMicrobatches(samples / microbatchSamples);
  // A model of timed layers alone has no samples, and one with layers of one
  // size has its own.
  ModelOp model = base.lookupModel();
  if (!model.findLayerOfOneSize() &&
      (model.getSizes() || microbatchSamples > 1))
    plan.setSamplesAttr(builder.getI64IntegerAttr(microbatchSamples));
  plan.getBody().front().clear();
  return plan;
}

Result<ChainProblem> ModelPlans::chain(int64_t microbatchSamples,
                                       const std::vector<bool> &recomputes) {
  ScratchDiagnostics refusals(base.getContext());
  PlanOp plan = copyOfBase(microbatchSamples);
  llvm::scope_exit erase([&] { plan.erase(); });
  SmallVector<LayerOp> layers = plan.lookupModel().getLayers();
  addStage(plan, 0, layers, 0, {0}, microbatchSamples, recomputes);
  if (failed(checkLayerSizes(plan.lookupModel(), plan)))
    return *refusals.fault;
  const StageFigures stageFigures(plan);
  for (StageOp stage : plan.getStages())
    stage.setCostsAttr(stageFigures.costs(stage));
  FailureOr<Problem> problem = buildProblem(plan);
  if (failed(problem))
    return *refusals.fault;
  ChainProblem chain;
  chain.name = base.getSymName().str();
  chain.microbatches = static_cast<int32_t>(plan.getMicrobatches());
  // A layer of one size takes whole micro-batches.
  chain.samples =
      plan.lookupModel().findLayerOfOneSize() ? 1 : microbatchSamples;
  takeCluster(plan, *problem, chain);
  const std::vector<int64_t> speeds = flopsPerUsOf(plan);
  const int64_t slowest =
      std::min_element(speeds.begin(), speeds.end()) - speeds.begin();
  const std::vector<LayerFigures> all = layerFigures(plan, slowest);
  if (!haveStatedTimes(layers))
    takeSpeeds(speeds, chain);
  for (auto [k, figures] : llvm::enumerate(all)) {
    ChainLayer &layer = chain.layers.emplace_back();
    LayerOp op = layers[k];
    layer.name = op.getSymName().str();
    layer.forwardNs = figures.forwardNs;
    layer.backwardNs = figures.inputGradNs + figures.weightGradNs;
    layer.outputBytes = k + 1 < all.size() ? figures.outputBytes : 0;
    layer.parameterBytes = figures.gradientBytes;
    layer.stateBytes = figures.stateBytes;
    const int64_t held = figures.heldToInputGrad + figures.heldToWeightGrad;
    if (!recomputes[k]) {
      layer.stashBytes = held;
      continue;
    }
    layer.backwardNs += figures.forwardNs;
    layer.workingBytes = held;
    // The output that it starts from again.
    if (k > 0 && !recomputes[k - 1])
      layer.stashBytes = all[k - 1].outputBytes;
  }
  if (std::optional<Fault> fault = chain.check())
    return *fault;
  return chain;
}

double ModelPlans::leastWorkNs(int64_t microbatchSamples) {
  PlanOp plan = copyOfBase(microbatchSamples);
  llvm::scope_exit erase([&] { plan.erase(); });
  const std::vector<int64_t> speeds = flopsPerUsOf(plan);
  const std::vector<LayerFigures> all =
      layerFigures(plan, llvm::min_element(speeds) - speeds.begin());
  const std::optional<ModelSizes> sizes = plan.lookupModel().getSizes();
  double fixed = 0;
  std::vector<LayerCostsAttr> bySize;
  for (auto [layer, figures] :
       llvm::zip_equal(plan.lookupModel().getLayers(), all)) {
    if (LayerCostsAttr costs = layer.getCostsAttr();
        costs && !costs.getSamples().empty())
      bySize.push_back(costs);
    else
      fixed += double(figures.forwardNs + figures.inputGradNs +
                      figures.weightGradNs);
  }
  double least = bySize.empty() ? 0 : std::numeric_limits<double>::infinity();
  for (int64_t share = 1; share <= microbatchSamples && !bySize.empty();
       ++share) {
    double work = 0;
    for (LayerCostsAttr costs : bySize)
      for (int64_t ns : timesFor(costs, share, sizes ? sizes->batch : share).ns)
        work += double(ns);
    least = std::min(least, work * double(microbatchSamples) / double(share));
  }
  return fixed + least;
}

Result<LaidPlan> ModelPlans::make(const ModelPlan &wanted) {
  ScratchDiagnostics refusals(base.getContext());
  PlanOp plan = copyOfBase(wanted.samples);
  llvm::scope_exit erase([&] { plan.erase(); });
  SmallVector<LayerOp> layers = plan.lookupModel().getLayers();
  for (auto [s, stage] : llvm::enumerate(wanted.stages))
    addStage(
        plan, s,
        ArrayRef<LayerOp>(layers).slice(stage.first, stage.end - stage.first),
        stage.first, stage.devices, wanted.samples, wanted.recomputes);
  // The verifier of the plan leaves out what it uses outside of it.
  SymbolTableCollection tables;
  if (failed(verify(plan)) || failed(plan.verifySymbolUses(tables)) ||
      failed(checkLayerSizes(plan.lookupModel(), plan)))
    return *refusals.fault;
  const StageFigures figures(plan);
  for (StageOp stage : plan.getStages()) {
    stage.setCostsAttr(figures.costs(stage));
    stage.setBuffersByReplica(figures.buffers(stage));
  }
  FailureOr<Problem> problem = buildProblem(plan);
  if (failed(problem))
    return *refusals.fault;
  LaidPlan laid;
  laid.id = made.size();
  laid.plan = wanted;
  laid.problem = std::move(*problem);
  laid.problem.name = base.getSymName().str();
  takeState(plan, laid.problem);
  laid.figures = figuresOf(plan);
  erase.release();
  made.push_back(plan);
  return laid;
}

ModelSpace ModelPlans::space() {
  ModelSpace space;
  space.name = base.getSymName().str();
  space.samples = samples;
  const std::vector<int64_t> speeds = flopsPerUsOf(base);
  space.ranks = static_cast<int32_t>(speeds.size());
  space.slowestDevices =
      haveStatedTimes(base.lookupModel().getLayers())
          ? space.ranks
          : std::accumulate(speeds.begin(), speeds.end(), 0.) /
                double(*std::min_element(speeds.begin(), speeds.end()));
  space.fastestRank = static_cast<int32_t>(
      std::max_element(speeds.begin(), speeds.end()) - speeds.begin());
  for (LayerOp layer : base.lookupModel().getLayers())
    space.mayRecompute.push_back(layer.getKind() == LayerKind::Block);
  space.layers = static_cast<int32_t>(space.mayRecompute.size());
  space.chain = [this](int64_t microbatchSamples,
                       const std::vector<bool> &recomputes) {
    return chain(microbatchSamples, recomputes);
  };
  space.leastWorkNs = [this](int64_t microbatchSamples) {
    return leastWorkNs(microbatchSamples);
  };
  space.make = [this](const ModelPlan &plan) { return make(plan); };
  return space;
}
