//===- Comparison.cpp - Schedules of one problem side by side -------------===//

#include "tools/driver/Comparison.h"

#include "codegen/json/ScheduleWriter.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Report.h"
#include "tools/driver/Timeline.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/Process.h"

#include <algorithm>

using namespace llvm;

namespace rondo::driver {

namespace {

/// `[6, 4, 2]` for few ranks, the extremes for many.
std::string peakText(const std::vector<int64_t> &peaks) {
  if (peaks.size() <= 8) {
    std::string text;
    for (int64_t bytes : peaks)
      text += (text.empty() ? "" : ", ") + formatBytes(bytes);
    return text;
  }
  auto [least, most] = std::minmax_element(peaks.begin(), peaks.end());
  if (*least == *most)
    return formatBytes(*most) + " each";
  auto extreme = [&](auto it) {
    return formatBytes(*it) + " (rank " + std::to_string(it - peaks.begin()) +
           ")";
  };
  return extreme(least) + " to " + extreme(most);
}

std::string bubbleText(double bubble) {
  std::string text;
  raw_string_ostream(text) << format("%.1f %%", 100 * bubble);
  return text;
}

int terminalWidth() {
  unsigned columns = sys::Process::StandardOutColumns();
  return columns ? columns : 100;
}

} // namespace

Comparison::Comparison(const Problem &problem, Style style)
    : problem(problem), style(style) {
  table.add({"family", "makespan", "span", "bubble", "peak memory by rank"});
}

void Comparison::add(const Candidate &candidate) {
  outcome.hasSchedule |= candidate.schedule.has_value();
  outcome.isOverCap |= candidate.isOverCap();
  if (!candidate.schedule) {
    if (style == Style::Json)
      reportNote(problem.name + ": " + candidate.name + ": " +
                 candidate.reason);
    else
      table.add({candidate.name,
                 (candidate.isOverCap() ? "does not fit: " : "no schedule: ") +
                     candidate.reason});
    return;
  }
  const Simulation &run = candidate.simulation;
  if (style == Style::Json) {
    json::writeSchedule(outs(), problem, *candidate.schedule, run,
                        candidate.family);
    outs() << "\n";
    return;
  }
  table.add({candidate.name, formatNs(run.makespanNs), formatNs(run.spanNs),
             bubbleText(run.bubble), peakText(run.peakBytes)});
  if (style == Style::Timeline)
    timelines += "\n" + candidate.name + "\n" +
                 renderTimeline(problem, *candidate.schedule, run,
                                terminalWidth(), outs().has_colors());
}

Outcome Comparison::finish() {
  if (style != Style::Json) {
    outs() << problem.name << ": " << countOf(problem.numStages(), "stage")
           << " on " << countOf(problem.numRanks(), "rank") << ", "
           << problem.microbatches << " micro-batches\n";
    table.print(outs());
    outs() << timelines;
  }
  return outcome;
}

Outcome Comparison::infeasible(const std::string &why) {
  if (style == Style::Json) {
    json::writeInfeasible(outs(), problem, why);
    outs() << "\n";
  }
  return {false, true};
}

int exitCodeOf(const std::vector<Outcome> &outcomes) {
  if (outcomes.size() != 1 || outcomes.front().hasSchedule)
    return Success;
  return outcomes.front().isOverCap ? Infeasible : Failure;
}

} // namespace rondo::driver
