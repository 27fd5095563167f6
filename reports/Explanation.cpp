//===- Explanation.cpp - Why a schedule takes its time --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reports/Explanation.h"

#include "kinds/Counts.h"
#include "reports/Figures.h"
#include "reports/Table.h"
#include "schedule/timeline/Slack.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace rondo {

namespace {

constexpr size_t maxSteps = 64;
/// Effort of the searches for changes, in thousands of tasks placed or timed.
constexpr int64_t searchEffort = 500;

using Change = WhatIf::Change;

std::string wordsFor(const WhatIf &change) {
  switch (change.change) {
  case Change::FasterStage:
    return "stage " + std::to_string(change.stage) + " 10 % faster";
  case Change::FasterLink:
    return "link from rank " + std::to_string(change.from) + " to rank " +
           std::to_string(change.to) + " twice as fast";
  case Change::Search:
    return "another order, searched";
  case Change::LargerCaps:
    return "caps 10 % larger, searched";
  }
  return "";
}

const char *keyOf(Change change) {
  switch (change) {
  case Change::FasterStage:
    return "faster_stage";
  case Change::FasterLink:
    return "faster_link";
  case Change::Search:
    return "search";
  case Change::LargerCaps:
    return "larger_caps";
  }
  return "";
}

} // namespace

Explanation::Explanation(const Problem &problem, const std::string &name,
                         const Schedule &schedule, const Simulation &simulation,
                         const std::atomic<bool> *interrupt)
    : problem(problem), name(name),
      timeline(layOut(problem, schedule, simulation)),
      path(timeline.criticalPath()), ranks(problem.numRanks()),
      changes(whatIfs(problem, schedule, simulation.makespanNs, searchEffort,
                      interrupt)) {
  const std::vector<int64_t> slack = slackOf(problem, timeline);
  hasSlack = !slack.empty();
  for (int32_t r = 0; r < problem.numRanks(); ++r) {
    RankSlack &rank = ranks[r];
    rank.workNs = simulation.rankWorkNs[r];
    for (int64_t i = timeline.rankBegin[r];
         i < timeline.rankBegin[r + 1] && hasSlack; ++i)
      if (slack[i] == 0) {
        rank.criticalNs += timeline.tasks[i].endNs - timeline.tasks[i].startNs;
      } else if (rank.task < 0 || slack[i] < rank.slackNs) {
        rank.slackNs = slack[i];
        rank.task = i;
      }
  }
}

std::string Explanation::nameOf(const PathStep &step) const {
  if (!step.isMessage)
    return actionName(timeline.tasks[step.number].action, problem);
  const int64_t from = timeline.messages[step.number].from;
  return "message of " + actionName(timeline.tasks[from].action, problem);
}

std::string Explanation::placeOf(const PathStep &step) const {
  if (!step.isMessage)
    return std::to_string(timeline.tasks[step.number].rank);
  const TimelineMessage &message = timeline.messages[step.number];
  return std::to_string(timeline.tasks[message.from].rank) + " to " +
         std::to_string(timeline.tasks[message.to].rank);
}

/// Why it begins then.
std::string Explanation::reasonOf(const PathStep &step) const {
  if (step.isMessage) {
    const TimelineMessage &message = timeline.messages[step.number];
    const int64_t queued = message.leaveNs - step.startNs;
    return queued > 0 ? "waits " + formatNs(queued) + " until its link is free"
                      : "sent at once";
  }
  const TimelineTask &task = timeline.tasks[step.number];
  if (task.waitedFor == WaitedFor::Message) {
    const int64_t from = timeline.messages[task.waited].from;
    return "needs the message of " +
           actionName(timeline.tasks[from].action, problem) + " from rank " +
           std::to_string(timeline.tasks[from].rank);
  }
  if (task.waitedFor == WaitedFor::Task)
    return "its rank runs " +
           actionName(timeline.tasks[task.waited].action, problem) + " first";
  if (task.waitedFor == WaitedFor::HostLink)
    return "its host link carries " +
           actionName(timeline.tasks[task.waited].action, problem) +
           " of rank " + std::to_string(timeline.tasks[task.waited].rank) +
           " first";
  if (task.waitedFor == WaitedFor::Copy) {
    const Action awaited = timeline.tasks[task.waited].action;
    const bool isOwn = awaited.subject == task.action.subject &&
                       awaited.index == task.action.index;
    return (isOwn ? "needs " : "needs the memory that is free after ") +
           actionName(awaited, problem);
  }
  return "begins the iteration";
}

void Explanation::writeText(raw_ostream &os) const {
  os << name << ": critical path of " << countOf(int64_t(path.size()), "step")
     << "\n";
  Table steps;
  steps.add({"rank", "step", "start", "end", "why not earlier"});
  for (size_t i = 0; i < path.size(); ++i) {
    if (path.size() > maxSteps && i == maxSteps / 2) {
      const size_t hidden = path.size() - maxSteps;
      steps.add({"...", std::to_string(hidden) + " steps; --json has all"});
      i += hidden;
    }
    const PathStep &step = path[i];
    steps.add({placeOf(step), nameOf(step), formatNs(step.startNs),
               formatNs(step.endNs), reasonOf(step)});
  }
  steps.print(os);
  os << name << ": slack, how much longer a task may take\n";
  Table slacks;
  slacks.add({"rank", "work", "idle", "work without slack",
              "least slack of the rest", "of"});
  for (size_t r = 0; r < ranks.size(); ++r) {
    const RankSlack &rank = ranks[r];
    slacks.add({std::to_string(r), formatNs(rank.workNs),
                formatNs(timeline.makespanNs - rank.workNs),
                hasSlack ? formatNs(rank.criticalNs) : "-",
                rank.task < 0 ? "-" : formatNs(rank.slackNs),
                rank.task < 0
                    ? "-"
                    : actionName(timeline.tasks[rank.task].action, problem)});
  }
  slacks.print(os);
  if (!hasSlack && !path.empty())
    os << "slack is not known where ranks share NICs or the state of "
          "stages, or copy to their hosts\n";
  os << name << ": what would make it faster\n";
  Table gains;
  gains.add({"change", "makespan", "gain", "compared with"});
  for (const WhatIf &change : changes) {
    std::string gain;
    raw_string_ostream(gain)
        << formatNs(std::abs(change.gainNs()))
        << format(" (%.1f %%)", change.comparedNs > 0
                                    ? 100 * double(std::abs(change.gainNs())) /
                                          double(change.comparedNs)
                                    : 0.0);
    gains.add({wordsFor(change), formatNs(change.makespanNs),
               (change.gainNs() < 0 ? "-" : "") + gain,
               change.change == Change::LargerCaps
                   ? formatNs(change.comparedNs) +
                         ", searched under the caps as they are"
                   : formatNs(change.comparedNs)});
  }
  gains.print(os);
}

void Explanation::writeJson(raw_ostream &os) const {
  llvm::json::OStream json(os);
  json.object([&] {
    json.attribute("format", "rondo-explanation/1");
    json.attribute("problem", problem.name);
    json.attribute("schedule", name);
    json.attribute("makespan_ns", timeline.makespanNs);
    json.attributeArray("critical_path", [&] {
      for (const PathStep &step : path)
        json.object([&] {
          json.attribute("what", step.isMessage ? "message" : "task");
          const int64_t task = step.isMessage
                                   ? timeline.messages[step.number].from
                                   : step.number;
          json.attribute("task",
                         actionName(timeline.tasks[task].action, problem));
          json.attribute("rank", timeline.tasks[task].rank);
          if (step.isMessage)
            json.attribute(
                "to", timeline.tasks[timeline.messages[step.number].to].rank);
          json.attribute("start_ns", step.startNs);
          json.attribute("end_ns", step.endNs);
          json.attribute("why", reasonOf(step));
        });
    });
    json.attributeArray("ranks", [&] {
      for (const RankSlack &rank : ranks)
        json.object([&] {
          json.attribute("work_ns", rank.workNs);
          json.attribute("idle_ns", timeline.makespanNs - rank.workNs);
          if (hasSlack)
            json.attribute("critical_ns", rank.criticalNs);
          if (rank.task < 0)
            return;
          json.attribute("slack_ns", rank.slackNs);
          json.attribute("slack_task",
                         actionName(timeline.tasks[rank.task].action, problem));
        });
    });
    json.attributeArray("changes", [&] {
      for (const WhatIf &change : changes)
        json.object([&] {
          json.attribute("change", keyOf(change.change));
          if (change.stage >= 0)
            json.attribute("stage", change.stage);
          if (change.from >= 0) {
            json.attribute("from", change.from);
            json.attribute("to", change.to);
          }
          json.attribute("makespan_ns", change.makespanNs);
          json.attribute("compared_ns", change.comparedNs);
          json.attribute("gain_ns", change.gainNs());
        });
    });
  });
  os << "\n";
}

} // namespace rondo
