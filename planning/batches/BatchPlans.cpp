//===- BatchPlans.cpp - Cuts of layers over sampled batches ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/batches/BatchPlans.h"

#include "schedule/model/MicrobatchOrder.h"
#include "schedule/partition/Partition.h"

#include <algorithm>
#include <set>

using namespace rondo;

/// Work in 1,000 tasks if none is given, for each batch.
static constexpr int64_t effortOfBatch = 20000;
/// Parts of the effort: for the best cut, and cuts that are judged at most.
static constexpr int64_t partsForBest = 2, maxJudged = 24;

int64_t BatchOrder::ns() const {
  if (!found.schedule)
    return infinite;
  return problem.objective == Objective::Span ? found.simulation.spanNs
                                              : found.simulation.makespanNs;
}

Problem rondo::withStages(const Problem &layers,
                          const std::vector<int32_t> &begins) {
  const auto stages = static_cast<int32_t>(begins.size()) - 1;
  std::vector<int32_t> stageOf;
  for (int32_t stage = 0; stage < stages; ++stage)
    stageOf.resize(begins[stage + 1], stage);
  Problem problem = layers;
  problem.replicas = Replicas();
  for (int32_t stage = 0; stage < stages; ++stage)
    problem.replicas.addStage(stage, layers.samples);
  const int64_t count = layers.microbatches;
  std::vector<Cost> costs(size_t(stages) * numCostColumns * count);
  for (int32_t layer = 0; layer < layers.numStages(); ++layer)
    for (const ActionTraits &traits : actionTable.rows)
      for (int64_t i = 0; traits.isTask() && i < count; ++i) {
        Cost &sum =
            costs[(stageOf[layer] * numCostColumns + costColumn(traits.kind)) *
                      count +
                  i];
        const Cost &own = layers.cost(layer, traits.kind, i);
        sum.ns += own.ns;
        sum.acquireBytes += own.acquireBytes;
        sum.releaseBytes += own.releaseBytes;
      }
  std::vector<int64_t> bytes;
  problem.edges.clear();
  for (size_t e = 0; e < layers.edges.size(); ++e) {
    Edge edge = layers.edges[e];
    edge.from = stageOf[edge.from];
    edge.to = stageOf[edge.to];
    if (edge.from == edge.to)
      continue;
    edge.stageEdge = static_cast<int32_t>(problem.edges.size());
    problem.edges.push_back(edge);
    for (int64_t i = 0; i < count; ++i)
      bytes.push_back(layers.bytesOf(int64_t(e), i));
  }
  problem.costs.assign(size_t(stages) * numCostColumns, Cost());
  problem.setUneven(std::move(costs), std::move(bytes));
  return problem;
}

namespace {

std::optional<Fault> checkLayers(const Problem &layers) {
  bool mayCopy = false;
  for (int32_t layer = 0; layer < layers.numReplicas(); ++layer)
    mayCopy |= layers.hostMemory.mayCopy(layer);
  const char *what = layers.iterations > 1            ? "several iterations"
                     : layers.replicas.isReplicated() ? "replicas"
                     : !layers.recomputation.empty()  ? "recomputation"
                     : !layers.hosts.empty()          ? "times of hosts"
                     : mayCopy                        ? "copies to the host"
                                                      : nullptr;
  if (what)
    return makeFault<FaultKind::PlanRefused>(
        std::string("the layers have ") + what +
        "; cuts over batches have one stage on each rank, without " + what);
  if (!layers.isChain())
    return makeFault<FaultKind::PlanRefused>(
        "the layers are no chain, in which each feeds the next alone");
  return std::nullopt;
}

class CutJudge {
public:
  CutJudge(const std::vector<Problem> &batches, const SearchOptions &options)
      : batches(batches), options(options), ranks(batches.front().numRanks()),
        effortEach((options.effort > 0
                        ? options.effort
                        : effortOfBatch * int64_t(batches.size())) /
                   int64_t(batches.size())) {}

  Result<BatchPlans> run() {
    for (const Problem &batch : batches)
      if (std::optional<Fault> fault = checkLayers(batch))
        return std::move(*fault);
    std::vector<int64_t> mean(batches.front().numStages());
    for (const Problem &batch : batches) {
      const std::vector<int64_t> own = workOf(batch);
      for (size_t layer = 0; layer < mean.size(); ++layer)
        mean[layer] += own[layer] / int64_t(batches.size());
    }
    if (std::optional<Fault> fault = tryBalanced(mean))
      return std::move(*fault);
    if (result.plans.empty())
      return makeFault<FaultKind::PlanRefused>(
          "interrupted before the orders of a cut were found");
    for (const Problem &batch : batches) {
      (void)tryBalanced(workOf(batch));
      (void)tryBalanced(workOfLongest(batch));
    }
    improve();
    sort();
    finish(result.plans.front());
    sort();
    for (const Problem &batch : batches)
      result.boundNs += boundOf(batch);
    result.boundNs /= int64_t(batches.size());
    return std::move(result);
  }

private:
  int64_t timeOf(const Problem &batch, int32_t layer, int64_t i) const {
    return batch.cost(layer, ActionKind::Forward, i).ns +
           batch.cost(layer, ActionKind::InputGrad, i).ns +
           batch.cost(layer, ActionKind::WeightGrad, i).ns;
  }
  std::vector<int64_t> workOf(const Problem &batch) const {
    std::vector<int64_t> work(batch.numStages());
    for (int32_t layer = 0; layer < batch.numStages(); ++layer)
      for (int64_t i = 0; i < batch.microbatches; ++i)
        work[layer] += timeOf(batch, layer, i);
    return work;
  }
  std::vector<int64_t> workOfLongest(const Problem &batch) const {
    const std::vector<int64_t> lengths = lengthsOf(batch);
    const int64_t longest =
        std::max_element(lengths.begin(), lengths.end()) - lengths.begin();
    std::vector<int64_t> work;
    for (int32_t layer = 0; layer < batch.numStages(); ++layer)
      work.push_back(timeOf(batch, layer, longest));
    return work;
  }
  /// No cut takes less for the batch: all ranks work throughout, or one
  /// micro-batch passes all F and I. The time of a B may be less than that of
  /// its I and W.
  int64_t boundOf(const Problem &batch) const {
    int64_t work = 0, path = 0;
    for (int64_t i = 0; i < batch.microbatches; ++i) {
      int64_t own = 0;
      for (int32_t layer = 0; layer < batch.numStages(); ++layer) {
        const int64_t forward = batch.cost(layer, ActionKind::Forward, i).ns,
                      whole = batch.cost(layer, ActionKind::Backward, i).ns,
                      input = batch.cost(layer, ActionKind::InputGrad, i).ns;
        work += forward + std::min(whole, timeOf(batch, layer, i) - forward);
        own += forward + std::min(whole, input);
      }
      path = std::max(path, own);
    }
    return std::max((work + ranks - 1) / ranks, path);
  }

  std::optional<Fault> tryBalanced(const std::vector<int64_t> &work) {
    PartitionInput input;
    for (int32_t rank = 0; rank < ranks; ++rank)
      input.rankOfStage.push_back(rank);
    input.workNs.assign(ranks, work);
    input.bytes.assign(work.size(), 0);
    input.memoryCaps.assign(ranks, noMemoryCap);
    Result<Partition> cut = partitionLayers(input);
    if (!cut)
      return cut.fault();
    judge(std::move(cut->begins));
    return std::nullopt;
  }

  SearchOptions limits(int64_t effort) const {
    SearchOptions own = options;
    own.effort = std::max<int64_t>(1, effort);
    own.timeLimitMs = 0;
    return own;
  }
  bool isInterrupted() const { return options.interrupt && *options.interrupt; }

  void rate(BatchPlan &plan) const {
    plan.meanNs = plan.worstNs = 0;
    int64_t remainders = 0;
    const auto count = static_cast<int64_t>(batches.size());
    for (size_t k = 0; k < plan.batches.size(); ++k) {
      const int64_t ns = plan.batches[k].ns();
      if (ns > plan.worstNs) {
        plan.worstNs = ns;
        plan.worst = k;
      }
      plan.meanNs += ns / count;
      remainders += ns % count;
    }
    plan.meanNs =
        plan.worstNs == infinite ? infinite : plan.meanNs + remainders / count;
  }

  /// Whether the cut is better than all before.
  bool judge(std::vector<int32_t> begins) {
    if (int64_t(known.size()) >= maxJudged || isInterrupted() ||
        !known.insert(begins).second)
      return false;
    BatchPlan plan;
    plan.begins = std::move(begins);
    for (const Problem &layers : batches) {
      BatchOrder &batch = plan.batches.emplace_back();
      batch.problem = withStages(layers, plan.begins);
      batch.found =
          search(batch.problem, limits(effortEach / partsForBest / maxJudged));
      if (!batch.found.schedule)
        break;
    }
    // Without an order it would look as if it did not fit.
    if (isInterrupted() && !plan.batches.back().found.schedule)
      return false;
    rate(plan);
    const bool isBetter =
        result.plans.empty() || plan.meanNs < result.plans[best].meanNs;
    if (isBetter)
      best = result.plans.size();
    result.plans.push_back(std::move(plan));
    return isBetter;
  }

  /// Moves a layer over one boundary of the best cut while that helps.
  void improve() {
    for (bool isBetter = true; isBetter;) {
      isBetter = false;
      const std::vector<int32_t> from = result.plans[best].begins;
      for (size_t stage = 1; stage + 1 < from.size(); ++stage)
        for (int32_t step : {-1, 1}) {
          std::vector<int32_t> begins = from;
          begins[stage] += step;
          if (begins[stage - 1] < begins[stage] &&
              begins[stage] < begins[stage + 1])
            isBetter |= judge(std::move(begins));
        }
    }
  }

  /// Searches longer for the orders of the best cut, from those that are known.
  void finish(BatchPlan &plan) const {
    for (BatchOrder &batch : plan.batches) {
      if (!batch.found.schedule || isInterrupted())
        return;
      SearchOptions own = limits(effortEach / partsForBest);
      own.starts = {*batch.found.schedule};
      SearchResult found = search(batch.problem, own);
      if (found.schedule)
        batch.found = std::move(found);
    }
    rate(plan);
  }

  void sort() {
    std::stable_sort(result.plans.begin(), result.plans.end(),
                     [](const BatchPlan &a, const BatchPlan &b) {
                       return a.meanNs < b.meanNs;
                     });
  }

  const std::vector<Problem> &batches;
  const SearchOptions &options;
  const int32_t ranks;
  const int64_t effortEach;
  std::set<std::vector<int32_t>> known;
  size_t best = 0;
  BatchPlans result;
};

} // namespace

Result<BatchPlans> rondo::planOverBatches(const std::vector<Problem> &batches,
                                          const SearchOptions &options) {
  return CutJudge(batches, options).run();
}
