//===- PlanTable.cpp - The best plans of a model --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reports/PlanTable.h"

#include "kinds/Counts.h"
#include "lowering/TimeShares.h"
#include "reports/Figures.h"
#include "reports/Table.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rondo {

/// `8`, or `2, 29 of 4` where groups differ, in pipeline order.
static std::string replicasOf(const ModelPlan &plan) {
  std::vector<std::string> runs;
  const std::vector<int32_t> groups = plan.firstStages();
  for (size_t group = 0; group < groups.size();) {
    const size_t ranks = plan.stages[groups[group]].devices.size();
    size_t end = group;
    while (end < groups.size() &&
           plan.stages[groups[end]].devices.size() == ranks)
      ++end;
    if (end - group == groups.size())
      return std::to_string(ranks);
    runs.push_back((end - group > 1 ? std::to_string(end - group) + " of "
                                    : std::string()) +
                   std::to_string(ranks));
    group = end;
  }
  return join(runs, ", ");
}

/// `2 in a V`, or `2 to 3` if groups differ.
static std::string chunksOf(const ModelPlan &plan) {
  if (plan.chunks == 0) {
    int64_t least = std::numeric_limits<int64_t>::max(), most = 0;
    for (int32_t first : plan.firstStages()) {
      const int64_t count =
          llvm::count_if(plan.stages, [&](const ChainStage &stage) {
            return stage.devices == plan.stages[first].devices;
          });
      least = std::min(least, count);
      most = std::max(most, count);
    }
    return (Twine(least) + " to " + Twine(most)).str();
  }
  return std::to_string(plan.chunks) + (plan.isV ? " in a V" : "");
}

/// `32 of 4`: how many, of how many samples.
static std::string microbatchesOf(const PlanTrial &trial) {
  return (Twine(trial.laid.problem.microbatches) + " of " +
          Twine(trial.laid.plan.samples))
      .str();
}

static std::string recomputedOf(const ModelPlan &plan) {
  const auto count = llvm::count(plan.recomputes, true);
  return count == 0 ? "none" : countOf(count, "layer");
}

static std::string perSecond(double figure) {
  return figure >= 1e6 ? formatv("{0:f2} M", figure / 1e6).str()
                       : formatv("{0:f0}", figure).str();
}

void printPlans(raw_ostream &os, const ModelPlannerResult &result,
                const ModelFigures &figures, int64_t rows) {
  Table table;
  // The bytes on hosts have a column if some plan has copies.
  const bool hasCopies = llvm::any_of(result.plans, [](const PlanTrial &trial) {
    return trial.fullestHostBytes() > 0;
  });
  const auto addRow = [&](std::vector<std::string> cells,
                          const std::string &host) {
    if (hasCopies)
      cells.insert(cells.end() - 1, host);
    table.add(std::move(cells));
  };
  addRow({"stages", "replicas", "chunks", "micro-batches", "recompute",
          "schedule", "time", figures.tokens > 0 ? "tokens/s" : "samples/s",
          "MFU", "memory", "bound by"},
         "host");
  // Sizes of micro-batches make many plans that are hardly different.
  std::vector<std::vector<std::string>> shown;
  for (const PlanTrial &trial : result.plans) {
    const ModelPlan &plan = trial.laid.plan;
    std::vector<std::string> shape = {std::to_string(plan.stages.size()),
                                      replicasOf(plan), chunksOf(plan),
                                      recomputedOf(plan)};
    if (is_contained(shown, shape))
      continue;
    if (static_cast<int64_t>(shown.size()) == rows)
      break;
    shown.push_back(std::move(shape));
    const double seconds = double(trial.timeNs) / 1e9;
    const TimeShares shares =
        timeShares(trial.laid.figures, trial.laid.problem, *trial.schedule);
    const TimeShare use = bindingShare(shares);
    const auto total = double(std::max<int64_t>(1, trial.timeNs));
    addRow(
        {std::to_string(plan.stages.size()), replicasOf(plan), chunksOf(plan),
         microbatchesOf(trial), recomputedOf(plan),
         trial.family.empty() ? "searched" : trial.family,
         formatNs(trial.timeNs),
         perSecond(double(figures.samples) *
                   double(std::max<int64_t>(1, figures.tokens)) / seconds),
         figures.peakFlopsPerUs == 0 || figures.flopsOfSample == 0
             ? "-"
             : formatPercent(figures.flopsOfSample * double(figures.samples) /
                             (figures.peakFlopsPerUs * 1e6 * seconds)),
         fullestArena(trial.arenaBytes, trial.laid.figures.devices),
         (Twine(nameOf(use)) + ", " +
          formatPercent(double(shares[static_cast<int>(use)]) / total))
             .str()},
        trial.fullestHostBytes() == 0 ? "-"
                                      : formatBytes(trial.fullestHostBytes()));
  }
  table.print(os);
}

void printModelBaselines(raw_ostream &os,
                         const std::vector<ModelBaseline> &baselines,
                         const PlanTrial &best) {
  std::vector<std::pair<std::string, const PlanTrial *>> rows;
  rows.emplace_back("rondo", &best);
  Table table;
  table.add({"planner", "stages", "replicas", "micro-batches", "recompute",
             "schedule", "time", "to rondo's", "memory"});
  std::vector<std::vector<std::string>> without;
  for (const ModelBaseline &each : baselines)
    if (each.best && each.best->fits())
      rows.emplace_back(each.baseline->name, &*each.best);
    else if (each.best && each.best->missingBytes > 0)
      without.push_back(
          {each.baseline->name, "no plan fits: a device lacks " +
                                    formatBytes(each.best->missingBytes)});
    else
      without.push_back({each.baseline->name, each.isCutShort
                                                  ? "no plan in the time limit"
                                                  : "no plan"});
  stable_sort(rows, [](const auto &a, const auto &b) {
    return a.second->timeNs < b.second->timeNs;
  });
  for (const auto &[name, trial] : rows) {
    const ModelPlan &plan = trial->laid.plan;
    table.add({name, std::to_string(plan.stages.size()), replicasOf(plan),
               microbatchesOf(*trial), recomputedOf(plan),
               trial->family.empty() ? "searched" : trial->family,
               formatNs(trial->timeNs),
               formatv("{0:f3}", double(trial->timeNs) /
                                     double(std::max<int64_t>(1, best.timeNs)))
                   .str(),
               fullestArena(trial->arenaBytes, trial->laid.figures.devices)});
  }
  for (std::vector<std::string> &row : without)
    table.add(std::move(row));
  os << "published planners, with 1F1B and the same costs:\n";
  table.print(os);
}

} // namespace rondo
