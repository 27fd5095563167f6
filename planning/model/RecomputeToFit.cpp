//===- RecomputeToFit.cpp - Recompute what memory asks for ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/model/RecomputeToFit.h"

#include <algorithm>

using namespace rondo;

/// Maximum number of cuts of one placing, with different numbers of layers
/// recomputed.
static constexpr size_t maxCuts = 24;

namespace {

/// A group of ranks, and what its layers take for one micro-batch.
struct Group {
  /// In model order.
  std::vector<int32_t> layers;
  /// The part of a micro-batch that its fullest rank has.
  double share = 1;
  double workNs = 0;
};

struct Choice {
  std::vector<bool> recomputes;
  double timeNs = 0;
};

class Chooser {
public:
  Chooser(const ModelPlan &plan, const RecomputeCosts &costs)
      : plan(plan), costs(costs) {
    const std::vector<int32_t> firsts = plan.firstStages();
    groups.resize(firsts.size());
    for (const ChainStage &stage : plan.stages)
      for (size_t g = 0; g < groups.size(); ++g)
        if (plan.stages[firsts[g]].devices == stage.devices)
          add(stage, groups[g]);
    for (const Group &group : groups)
      busiestNs = std::max(busiestNs, group.workNs);
  }

  /// Nothing if a group would lack memory with all layers recomputed.
  std::optional<Choice> choose(const Misfit &misfit) const {
    Choice choice{plan.recomputes, 0};
    double busiest = 0;
    for (size_t g = 0; g < groups.size(); ++g) {
      const std::optional<double> moreNs = recomputeIn(
          groups[g], misfit.heldBytes[g], misfit.excessBytes[g], choice);
      if (!moreNs)
        return {};
      busiest = std::max(busiest, groups[g].workNs + *moreNs);
    }
    choice.timeNs =
        double(misfit.timeNs) + (busiest - busiestNs) * costs.kept.microbatches;
    return choice;
  }

private:
  void add(const ChainStage &stage, Group &group) const {
    const auto ranks = static_cast<int64_t>(stage.devices.size()),
               samples = costs.kept.samples;
    group.share = double((samples + ranks - 1) / ranks) / double(samples);
    for (int32_t layer = stage.first; layer < stage.end; ++layer) {
      group.layers.push_back(layer);
      const ChainLayer &own =
          (plan.recomputes[layer] ? costs.recomputed : costs.kept)
              .layers[layer];
      group.workNs += group.share * double(own.forwardNs + own.backwardNs);
    }
  }
  double keptBytes(int32_t layer) const {
    return double(costs.kept.layers[layer].stashBytes);
  }
  double savedBytes(int32_t layer) const {
    return keptBytes(layer) - double(costs.recomputed.layers[layer].stashBytes);
  }

  /// Recomputes layers of a group until `excess` bytes are free. Returns the
  /// time that it takes; nothing if it cannot free them.
  std::optional<double> recomputeIn(const Group &group, int64_t held,
                                    int64_t excess, Choice &choice) const {
    double kept = 0, moreNs = 0, freed = 0;
    for (int32_t layer : group.layers)
      if (!plan.recomputes[layer])
        kept += keptBytes(layer) * group.share;
    for (int32_t layer : group.layers) {
      if (freed >= double(excess))
        break;
      if (plan.recomputes[layer] || savedBytes(layer) <= 0)
        continue;
      const double inFlight = std::max(1., double(held) / kept);
      choice.recomputes[layer] = true;
      freed += savedBytes(layer) * group.share * inFlight;
      moreNs += group.share * double(costs.recomputed.layers[layer].backwardNs -
                                     costs.kept.layers[layer].backwardNs);
    }
    if (freed < double(excess) && freed == 0)
      return {};
    return moreNs;
  }

  const ModelPlan &plan;
  const RecomputeCosts &costs;
  std::vector<Group> groups;
  double busiestNs = 0;
};

} // namespace

std::optional<ModelPlan>
rondo::recomputeMore(const ModelPlan &plan, const std::vector<Misfit> &misfits,
                     const RecomputeCosts &costs, int64_t ceilingNs) {
  const Chooser chooser(plan, costs);
  std::optional<Choice> best;
  for (const Misfit &misfit : misfits)
    if (std::optional<Choice> choice = chooser.choose(misfit);
        choice && choice->timeNs < double(ceilingNs) &&
        (!best || choice->timeNs < best->timeNs))
      best = std::move(choice);
  if (!best)
    return {};
  ModelPlan more = plan;
  more.recomputes = std::move(best->recomputes);
  return more;
}

/// [layer]: micro-batches that hold its activations at a time, in a schedule
/// whose ranks always work.
static std::vector<double> inFlight(const ChainProblem &chain, int32_t groups,
                                    double slack) {
  std::vector<double> workNs = {0};
  for (const ChainLayer &layer : chain.layers)
    workNs.push_back(workNs.back() +
                     double(layer.forwardNs + layer.backwardNs));
  std::vector<double> held;
  for (size_t layer = 0; layer < chain.layers.size(); ++layer)
    held.push_back(
        std::clamp(slack * groups * (1 - workNs[layer] / workNs.back()), 1.,
                   double(chain.microbatches)));
  return held;
}

std::optional<ModelPlan> rondo::inChunksThatFit(const ModelPlan &groups,
                                                const RecomputeCosts &costs,
                                                ChunkPlacing placing,
                                                double slack) {
  const auto &kept = costs.kept.layers, &recomputed = costs.recomputed.layers;
  std::optional<ChunkedPlan> best;
  ModelPlan plan = groups;
  plan.recomputes.assign(kept.size(), false);
  ChainProblem chain = costs.kept;
  const size_t step = (kept.size() + maxCuts - 1) / maxCuts;
  for (size_t first = 0;; ++first) {
    if (first % step == 0 || first == kept.size()) {
      std::optional<ChunkedPlan> cut = inChunks(
          plan, chain, placing, inFlight(chain, groups.numGroups(), slack));
      if (cut && (!best || cut->busiestNs < best->busiestNs))
        best = std::move(cut);
    }
    if (first == kept.size())
      break;
    plan.recomputes[first] =
        recomputed[first].backwardNs != kept[first].backwardNs;
    chain.layers[first] = recomputed[first];
  }
  if (!best)
    return {};
  return std::move(best->plan);
}
