//===- ModelPlans.cpp - Plans of a model on its cluster -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "plans/PlanFactory.h"

#include "dialect/Bridge.h"
#include "plans/LayerTimes.h"
#include "plans/Layers.h"
#include "plans/PlanFigures.h"

#include "mlir/IR/Builders.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// The highest rate of a chain, which a link without a limit has.
static constexpr int64_t maxRate = int64_t(1) << 36;

/// Times that layers state are the same on all devices.
static bool haveStatedTimes(ArrayRef<LayerOp> layers) {
  return llvm::all_of(layers, [](LayerOp layer) {
    return layer.getSyntheticAttr() || layer.getCostsAttr();
  });
}

/// The layers that a stage says it recomputes; null if it has none of those.
static ArrayAttr recomputed(ArrayRef<LayerOp> layers, int32_t first,
                            const std::vector<bool> &recomputes) {
  SmallVector<Attribute> names;
  for (auto [place, layer] : llvm::enumerate(layers))
    if (recomputes[first + place])
      names.push_back(FlatSymbolRefAttr::get(LayerOp(layer).getSymNameAttr()));
  if (names.empty())
    return {};
  // An empty list means all.
  if (names.size() == layers.size())
    names.clear();
  return ArrayAttr::get(LayerOp(layers.front()).getContext(), names);
}

/// Whether all of a stage's devices have links to their hosts.
static bool haveHostLinks(PlanOp plan, ArrayRef<int64_t> ranks) {
  SmallVector<DeviceOp, 0> devices = plan.lookupCluster().getDevices();
  return llvm::all_of(
      ranks, [&](int64_t rank) { return devices[rank].getHostLink(); });
}

/// A stage of consecutive layers among all of the plan's model. All that it
/// keeps may be copied to the host if `kept.offloads` and its devices can.
static void addStage(PlanOp plan, ArrayRef<LayerOp> all,
                     const ChainStage &stage, int64_t samples,
                     const KeptLayers &kept) {
  const std::vector<bool> &recomputes = kept.recomputes;
  const auto layers = all.slice(stage.first, stage.end - stage.first);
  const SmallVector<int64_t> ranks(stage.devices.begin(), stage.devices.end());
  const auto count = static_cast<int64_t>(ranks.size());
  StageOp added = addStage(plan, layers, ranks);
  added.setRecomputeAttr(recomputed(layers, stage.first, recomputes));
  if (kept.offloads && haveHostLinks(plan, ranks) &&
      std::find(recomputes.begin() + stage.first,
                recomputes.begin() + stage.end,
                false) != recomputes.begin() + stage.end)
    added.setOffloadAttr(ArrayAttr::get(plan.getContext(), {}));
  // Shares that differ by at most one if they cannot be equal.
  if (samples % count == 0)
    return;
  SmallVector<int64_t> shares(count, samples / count);
  for (int64_t k = 0; k < samples % count; ++k)
    ++shares[k];
  added.setSharesAttr(DenseI64ArrayAttr::get(plan.getContext(), shares));
}

/// Returns the servers, as the chain planner defines them: devices joined by
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

/// A copy without stages, with micro-batches of this size.
static OwningOpRef<PlanOp> copyOfBase(PlanFactory &factory, int64_t samples,
                                      int64_t microbatchSamples) {
  OwningOpRef<PlanOp> plan = factory.copyOfBase();
  plan->setMicrobatches(samples / microbatchSamples);
  // A model of timed layers alone has no samples, and one with layers of one
  // size has its own.
  ModelOp model = plan->lookupModel();
  if (!model.findLayerOfOneSize() &&
      (model.getSizes() || microbatchSamples > 1))
    plan->setSamplesAttr(
        Builder(plan->getContext()).getI64IntegerAttr(microbatchSamples));
  plan->getBody().front().clear();
  return plan;
}

/// A layer of the chain that recomputes or keeps what it needs; `before` is the
/// preceding layer if that keeps its activations.
static ChainLayer chainLayer(StringRef name, const LayerFigures &figures,
                             bool recomputes, const LayerFigures *before) {
  ChainLayer layer;
  layer.name = name.str();
  layer.forwardNs = figures.forwardNs;
  layer.backwardNs = figures.inputGradNs + figures.weightGradNs;
  layer.outputBytes = figures.outputBytes;
  layer.parameterBytes = figures.gradientBytes;
  layer.stateBytes = figures.stateBytes;
  const int64_t held = figures.heldToInputGrad + figures.heldToWeightGrad;
  layer.workingBytes = figures.keptByInputGrad;
  if (!recomputes) {
    layer.stashBytes = held;
    return layer;
  }
  layer.backwardNs += figures.forwardNs;
  layer.workingBytes += held;
  // The output that it starts from again.
  if (before)
    layer.stashBytes = before->outputBytes;
  return layer;
}

/// The bytes that the slowest host link copies away and back while the layer
/// works on a micro-batch stay for one micro-batch only.
static void copyAway(PlanOp plan, ChainLayer &layer) {
  double copied = double(layer.stashBytes);
  for (DeviceOp device : plan.lookupCluster().getDevices()) {
    HostLinkAttr link = device.getHostLink();
    if (!link)
      return;
    if (link.getBytesPerUs() == 0)
      continue;
    const double inTime = double(layer.forwardNs + layer.backwardNs) *
                          double(link.getBytesPerUs()) / 1000;
    copied = std::min(copied,
                      link.getDuplex() == Duplex::Half ? inTime / 2 : inTime);
  }
  const auto bytes = static_cast<int64_t>(copied);
  layer.stashBytes -= bytes;
  layer.workingBytes += bytes;
}

/// Whether some layer cannot divide the samples of a micro-batch.
static bool takesWholeOnes(ModelOp model) {
  return model.findLayerOfOneSize() ||
         llvm::any_of(model.getLayers(), [](LayerOp layer) {
           const CustomAttr custom = layer.getCustomAttr();
           return custom && !custom.getBySample();
         });
}

/// See ModelSpace::chain.
static Result<ChainProblem> makeChain(PlanFactory &factory, int64_t samples,
                                      int64_t microbatchSamples,
                                      const KeptLayers &kept) {
  const std::vector<bool> &recomputes = kept.recomputes;
  OwningOpRef<PlanOp> owned = copyOfBase(factory, samples, microbatchSamples);
  PlanOp plan = *owned;
  SmallVector<LayerOp> layers = plan.lookupModel().getLayers();
  addStage(plan, layers, {0, static_cast<int32_t>(layers.size()), {0}},
           microbatchSamples, {kept.recomputes});
  if (std::optional<UnsoundSize> size =
          findUnsoundSize(plan.lookupModel(), plan))
    return std::move(size->fault);
  const StageFigures stageFigures(plan);
  for (StageOp stage : plan.getStages())
    stage.setCostsAttr(stageFigures.costs(stage));
  Result<Problem> problem = problemOf(plan);
  if (!problem)
    return std::move(problem.fault());
  ChainProblem chain;
  chain.name = factory.base().getSymName().str();
  chain.microbatches = static_cast<int32_t>(plan.getMicrobatches());
  chain.samples = takesWholeOnes(plan.lookupModel()) ? 1 : microbatchSamples;
  takeCluster(plan, *problem, chain);
  const std::vector<int64_t> speeds = flopsPerUsOf(plan);
  const int64_t slowest =
      std::min_element(speeds.begin(), speeds.end()) - speeds.begin();
  const std::vector<LayerFigures> all = layerFigures(plan, slowest);
  if (!haveStatedTimes(layers))
    takeSpeeds(speeds, chain);
  for (auto [k, figures] : llvm::enumerate(all))
    chain.layers.push_back(
        chainLayer(LayerOp(layers[k]).getSymName(), figures, recomputes[k],
                   k > 0 && !recomputes[k - 1] ? &all[k - 1] : nullptr));
  if (kept.offloads)
    for (auto [layer, recomputed] : llvm::zip_equal(chain.layers, recomputes))
      if (!recomputed)
        copyAway(plan, layer);
  chain.layers.back().outputBytes = 0;
  if (std::optional<Fault> fault = chain.check())
    return *fault;
  return chain;
}

/// See ModelSpace::leastWorkNs.
static double leastWorkNs(PlanFactory &factory, int64_t samples,
                          int64_t microbatchSamples) {
  OwningOpRef<PlanOp> owned = copyOfBase(factory, samples, microbatchSamples);
  PlanOp plan = *owned;
  const std::vector<int64_t> speeds = flopsPerUsOf(plan);
  const std::vector<LayerFigures> all =
      layerFigures(plan, llvm::min_element(speeds) - speeds.begin());
  const std::optional<ModelSizes> sizes = plan.lookupModel().getSizes();
  double fixed = 0;
  std::vector<LayerCostsAttr> bySize;
  for (auto [layer, figures] :
       llvm::zip_equal(plan.lookupModel().getLayers(), all)) {
    if (LayerCostsAttr costs = layer.getCostsAttr();
        costs && !costs.areOfModelSize())
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

/// See ModelSpace::leastTimes.
static std::vector<LeastTimes> leastTimes(PlanFactory &factory, int64_t samples,
                                          int64_t microbatchSamples) {
  OwningOpRef<PlanOp> owned = copyOfBase(factory, samples, microbatchSamples);
  PlanOp plan = *owned;
  const std::vector<int64_t> speeds = flopsPerUsOf(plan);
  const std::optional<ModelSizes> sizes = plan.lookupModel().getSizes();
  std::vector<LeastTimes> all;
  for (auto [layer, figures] : llvm::zip_equal(
           plan.lookupModel().getLayers(),
           layerFigures(plan, llvm::min_element(speeds) - speeds.begin()))) {
    LeastTimes &least = all.emplace_back(
        LeastTimes{double(figures.forwardNs), double(figures.inputGradNs),
                   double(figures.weightGradNs)});
    LayerCostsAttr costs = layer.getCostsAttr();
    if (!costs || costs.areOfModelSize())
      continue;
    for (int64_t share = 1; share <= microbatchSamples; ++share) {
      const LayerTimes times =
          timesFor(costs, share, sizes ? sizes->batch : share);
      const double parts = double(microbatchSamples) / double(share);
      least.forwardNs = std::min(least.forwardNs, parts * double(times.ns[0]));
      least.inputGradNs =
          std::min(least.inputGradNs, parts * double(times.ns[1]));
      least.weightGradNs =
          std::min(least.weightGradNs, parts * double(times.ns[2]));
    }
  }
  return all;
}

static Result<LaidPlan> makeLaid(PlanFactory &factory, int64_t samples,
                                 const ModelPlan &wanted) {
  OwningOpRef<PlanOp> owned = copyOfBase(factory, samples, wanted.samples);
  PlanOp plan = *owned;
  SmallVector<LayerOp> layers = plan.lookupModel().getLayers();
  for (const ChainStage &stage : wanted.stages)
    addStage(plan, layers, stage, wanted.samples,
             {wanted.recomputes, wanted.offloads});
  if (std::optional<Fault> fault = factory.check(plan))
    return std::move(*fault);
  resolveStages(plan);
  LaidPlan laid;
  Result<size_t> id = factory.keep(std::move(owned), laid.problem);
  if (!id)
    return std::move(id.fault());
  laid.id = *id;
  laid.plan = wanted;
  takeState(plan, laid.problem);
  laid.figures = figuresOf(plan);
  return laid;
}

ModelSpace rondo::pipe::modelSpace(PlanFactory &factory, int64_t samples) {
  PlanOp base = factory.base();
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
  for (DeviceOp device : base.lookupCluster().getDevices())
    if (HostLinkAttr link = device.getHostLink())
      space.hostNsPerByte = std::min(
          space.hostNsPerByte,
          link.getBytesPerUs() == 0 ? 0 : 1000 / double(link.getBytesPerUs()));
  space.chain = [&factory, samples](int64_t microbatchSamples,
                                    const KeptLayers &kept) {
    return makeChain(factory, samples, microbatchSamples, kept);
  };
  space.leastWorkNs = [&factory, samples](int64_t microbatchSamples) {
    return leastWorkNs(factory, samples, microbatchSamples);
  };
  space.leastTimes = [&factory, samples](int64_t microbatchSamples) {
    return leastTimes(factory, samples, microbatchSamples);
  };
  space.make = [&factory, samples](const ModelPlan &plan) {
    return makeLaid(factory, samples, plan);
  };
  return space;
}
