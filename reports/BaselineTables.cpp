//===- BaselineTables.cpp - Published planners next to a plan -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reports/BaselineTables.h"

#include "kinds/Counts.h"
#include "reports/Figures.h"
#include "reports/Table.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

using namespace llvm;

namespace rondo {

namespace {

/// Ratios of a planner's times to Rondo's.
struct Summary {
  const char *name = "";
  double sum = 0, greatest = 0;
  /// Plans in all, those that fit memory, and those that Rondo's plan meets or
  /// beats of these.
  int64_t plans = 0, fitting = 0, metOrBeaten = 0;
};

std::string ratioText(double ratio) {
  std::string text;
  raw_string_ostream(text) << format("%.3f", ratio);
  return text;
}

std::string memoryText(const ChainProblem &problem, int64_t bytes) {
  if (problem.memoryBytes == 0)
    return formatBytes(bytes);
  return formatBytes(bytes) + " of " + formatBytes(problem.memoryBytes) +
         (bytes > problem.memoryBytes ? ", does not fit" : "");
}

void printTable(raw_ostream &os, const ChainProblem &problem,
                const ChainPlannerResult &result, StringRef evaluator,
                ArrayRef<const TimedBaseline *> baselines) {
  os << problem.name << ": " << countOf(problem.numLayers(), "layer") << " on "
     << countOf(problem.numDevices(), "device") << ", "
     << countOf(problem.microbatches, "micro-batch") << ", " << evaluator
     << "\n";
  if (result.plan)
    os << "lower bound " << formatNs(result.lowerBoundNs) << "\n";
  Table table;
  table.add({"planner", "stages", "time", "to rondo's", "memory"});
  auto addRow = [&](const char *name, size_t stages, int64_t timeNs,
                    int64_t memoryBytes) {
    // Layers may take no time at all.
    const bool hasRatio = result.plan && result.timeNs > 0;
    table.add({name, std::to_string(stages), formatNs(timeNs),
               hasRatio ? ratioText(static_cast<double>(timeNs) /
                                    static_cast<double>(result.timeNs))
                        : "-",
               memoryText(problem, memoryBytes)});
  };
  auto addRondo = [&] {
    addRow("rondo", result.plan->size(), result.timeNs, result.memoryBytes);
  };
  bool isAdded = !result.plan;
  for (const TimedBaseline *row : baselines) {
    if (!isAdded && (!row->found.plan || row->timeNs >= result.timeNs)) {
      addRondo();
      isAdded = true;
    }
    if (row->found.plan)
      addRow(row->baseline->name, row->found.plan->size(), row->timeNs,
             row->memoryBytes);
    else
      table.add({row->baseline->name, "no plan: " + row->found.whyNot});
  }
  if (!isAdded)
    addRondo();
  if (!result.plan)
    table.add({"rondo", "no plan: " + describe(*result.fault)});
  table.print(os);
}

void printSummary(raw_ostream &os, ArrayRef<Summary> summaries) {
  Table table;
  table.add({"planner", "plans", "mean to rondo's", "greatest", "fits",
             "rondo's meets or beats"});
  for (const Summary &summary : summaries) {
    if (summary.plans == 0) {
      table.add({summary.name, "no plan to compare"});
      continue;
    }
    table.add({summary.name, std::to_string(summary.plans),
               ratioText(summary.sum / static_cast<double>(summary.plans)),
               ratioText(summary.greatest), std::to_string(summary.fitting),
               std::to_string(summary.metOrBeaten) + " of " +
                   std::to_string(summary.fitting)});
  }
  os << "summary\n";
  table.print(os);
}

} // namespace

void printBaselines(raw_ostream &os, ArrayRef<ChainProblem> problems,
                    ArrayRef<ChainPlannerResult> results, StringRef evaluator,
                    const TimeBaselines &time) {
  std::vector<Summary> summaries;
  for (auto [problem, result] : zip_equal(problems, results)) {
    const std::vector<TimedBaseline> timed = time(problem);
    summaries.resize(timed.size());
    std::vector<const TimedBaseline *> rows;
    for (auto [row, summary] : zip_equal(timed, summaries)) {
      rows.push_back(&row);
      summary.name = row.baseline->name;
      if (!row.found.plan || !result.plan || result.timeNs == 0)
        continue;
      const double ratio =
          static_cast<double>(row.timeNs) / static_cast<double>(result.timeNs);
      summary.sum += ratio;
      summary.greatest = std::max(summary.greatest, ratio);
      ++summary.plans;
      if (!row.fits(problem))
        continue;
      ++summary.fitting;
      if (row.timeNs >= result.timeNs)
        ++summary.metOrBeaten;
    }
    stable_sort(rows, [](const TimedBaseline *a, const TimedBaseline *b) {
      return a->found.plan && (!b->found.plan || a->timeNs < b->timeNs);
    });
    printTable(os, problem, result, evaluator, rows);
    os << "\n";
  }
  if (problems.size() > 1)
    printSummary(os, summaries);
}

} // namespace rondo
