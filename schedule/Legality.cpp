//===- Legality.cpp - The rules together, and their words -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/Legality.h"

using namespace rondo;

namespace {

struct RuleText {
  const char *id, *name;
};
/// By Rule.
constexpr RuleText ruleTexts[] = {
    {"S1", "completeness"}, {"S2", "completeness"}, {"S3", "dependence"},
    {"S4", "deadlock"},     {"S5", "memory"},       {"S6", "link-order"},
    {"S7", "accumulation"},
};

std::string text(int64_t n) { return std::to_string(n); }

std::string place(int32_t rank, int64_t position) {
  return "at position " + text(position) + " of rank " + text(rank);
}

std::string missing(const Violation &violation) {
  Action action = violation.action;
  std::string onRank = " on rank " + text(violation.rank);
  if (action.kind() != ActionKind::Backward)
    return actionName(action) + " is missing" + onRank;
  Action inputGrad(ActionKind::InputGrad, action.stage, action.index);
  Action weightGrad(ActionKind::WeightGrad, action.stage, action.index);
  return actionName(action) + ", or " + actionName(inputGrad) + " and " +
         actionName(weightGrad) + ", is missing" + onRank;
}

std::string overCap(const Violation &v, const Problem &problem) {
  DeviceMemory memory{v.allowed, 0};
  if (!problem.devices.empty())
    memory = problem.devices[v.rank];
  const int64_t held = memory.stateBytes + v.found;
  std::string said = "rank " + text(v.rank) + " holds " + text(held) +
                     " bytes at " + actionName(v.action) + ", " +
                     text(held - memory.deviceBytes) + " more than its " +
                     text(memory.deviceBytes);
  if (memory.stateBytes > 0)
    said += ": " + text(memory.stateBytes) +
            " of weights, gradients, optimizer state, data and workspace, " +
            text(v.found) + " of activations";
  return said;
}

std::string sentence(const Violation &v, const Problem &problem) {
  using What = Violation::What;
  std::string name = actionName(v.action);
  std::string link = text(v.rank) + ">" + text(v.otherRank);
  switch (v.what) {
  case What::RankCount:
    return "the schedule orders " + text(v.found) + " ranks, the problem has " +
           text(v.allowed);
  case What::UnknownTask:
    return name + " " + place(v.rank, v.position) +
           " is not a task: the problem has stages 0 to " +
           text(problem.numStages() - 1) + " and micro-batches 0 to " +
           text(problem.microbatches - 1);
  case What::UnsupportedKind:
    return std::string(v.action.traits().keyword) + " " +
           place(v.rank, v.position) +
           " is not a task: a schedule orders F, I, W and B";
  case What::Twice:
    return name + " stands twice: " + place(v.otherRank, v.otherPosition) +
           " and " + place(v.rank, v.position);
  case What::Missing:
    return missing(v);
  case What::Mixture:
    return name + " " + place(v.rank, v.position) + " and " +
           actionName(v.other) + " " + place(v.otherRank, v.otherPosition) +
           " are both there; a micro-batch has either B, or I and W";
  case What::WrongRank:
    return name + " stands on rank " + text(v.rank) + ", but stage " +
           text(v.action.stage) + " is on rank " + text(v.otherRank);
  case What::Order:
    return name + " " + place(v.rank, v.position) + " stands before " +
           actionName(v.other) + " at position " + text(v.otherPosition) +
           ", which it needs";
  case What::Cycle:
    return describeCycle(v.cycle);
  case What::OverCap:
    return overCap(v, problem);
  case What::NoSuchLink:
    return "the link order " + link + " names no link between two of " +
           text(problem.numRanks()) + " ranks";
  case What::NotOnLink:
    return name + " at position " + text(v.position) + " of the link order " +
           link + " is not a message of that link, or is there twice";
  case What::NotListed:
    return name + " is missing in the link order " + link;
  case What::OutOfOrder:
    return name + " " + place(v.rank, v.position) + " stands behind " +
           actionName(v.other) + " at position " + text(v.otherPosition) +
           "; gradients are added in micro-batch order unless the schedule "
           "says accumulate(schedule_order)";
  }
  return "";
}

} // namespace

const char *rondo::ruleId(Rule rule) {
  return ruleTexts[static_cast<int>(rule)].id;
}

const char *rondo::ruleName(Rule rule) {
  return ruleTexts[static_cast<int>(rule)].name;
}

std::optional<Violation> rondo::checkSchedule(const Problem &problem,
                                              const Schedule &schedule,
                                              Simulation *simulation,
                                              bool keepTimes) {
  for (auto rule :
       {checkCompleteness, checkPlacement, checkLinkOrder, checkDependence})
    if (auto violation = rule(problem, schedule))
      return violation;
  Simulation run = simulate(problem, schedule, keepTimes);
  if (auto violation = checkDeadlock(run))
    return violation;
  if (simulation)
    *simulation = std::move(run);
  return checkMemory(problem, schedule);
}

std::string rondo::actionName(Action action) {
  return text(action.stage) + action.traits().letter + text(action.index);
}

std::string rondo::describeCycle(const std::vector<Wait> &cycle) {
  std::string said;
  for (const Wait &wait : cycle) {
    if (!said.empty())
      said += " -> ";
    said += "rank " + text(wait.rank) + " waits for " + actionName(wait.needs) +
            " of rank " + text(wait.onRank) + " at " + actionName(wait.at);
    if (wait.isBehind)
      said +=
          " (the link order puts it behind " + actionName(wait.behind) + ")";
  }
  return said;
}

std::string rondo::describe(const Violation &violation,
                            const Problem &problem) {
  return sentence(violation, problem) + " [" + ruleId(violation.rule) + "]";
}
