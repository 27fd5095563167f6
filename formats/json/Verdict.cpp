//===- Verdict.cpp - Judges a rondo-schedule/1 object ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/Verdict.h"

#include "formats/json/ScheduleReader.h"
#include "formats/json/VersionClaims.h"
#include "schedule/order/Shards.h"
#include "schedule/rules/Legality.h"
#include "schedule/simulate/Objective.h"

#include <limits>

using llvm::StringRef;

namespace rondo::json {

namespace {

/// The name of what a fault breaks.
const char *ruleOf(const Fault &fault) {
  switch (fault.kind) {
  case FaultKind::UnknownProblem:
    return "problem";
  case FaultKind::TextIncomplete:
    return "completeness";
  case FaultKind::TextLinkOrder:
    return "link-order";
  case FaultKind::TextCopyOrder:
    return "copy-order";
  case FaultKind::WrongClaim:
    return "claim";
  case FaultKind::WrongBound:
    return "bound";
  default:
    return fault.rule == Rule::None ? "format" : ruleName(fault.rule);
  }
}

/// Checks the rules of the rank lists. A fault in reading rank r is reported
/// after faults of the lists before r, except for what these lists lack.
std::optional<Fault> judgeRanks(const ScheduleText &text,
                                const Problem &problem, Schedule &schedule) {
  std::optional<Fault> unread = text.readRanks(problem, schedule);
  if (unread && schedule.numRanks() != problem.numRanks())
    return unread;
  std::optional<Fault> broken = checkCompleteness(problem, schedule);
  if (unread && broken && broken->kind != FaultKind::Twice)
    broken.reset();
  if (!broken)
    broken = checkPlacement(problem, schedule);
  if (!broken && !unread)
    broken = checkCopies(problem, schedule);
  return broken ? broken : unread;
}

std::optional<Fault> judgeLinkOrders(const ScheduleText &text,
                                     const Problem &problem,
                                     Schedule &schedule) {
  std::optional<Fault> unread = text.readLinkOrders(problem, schedule);
  std::optional<Fault> fault = checkLinkOrder(problem, schedule);
  return fault ? fault : unread;
}

std::optional<Fault> judgeCopyOrders(const ScheduleText &text,
                                     const Problem &problem,
                                     Schedule &schedule) {
  std::optional<Fault> unread = text.readCopyOrders(problem, schedule);
  std::optional<Fault> fault = checkCopyOrder(problem, schedule);
  return fault ? fault : unread;
}

/// A rank that waits for itself breaks the order of its own list; a cycle of
/// several ranks is a deadlock. A list may break its order after the point
/// where a cycle stops it, so the run decides, not the list.
std::optional<Fault> judgeRun(const Problem &problem,
                              const Schedule &schedule) {
  const std::optional<Fault> stuck = checkDeadlock(problem, schedule);
  if (stuck && stuck->cycle.size() == 1)
    if (std::optional<Fault> fault = checkDependence(problem, schedule))
      return fault;
  return stuck;
}

std::optional<Fault> claimFault(StringRef key, const std::string &found,
                                const Value &claimed) {
  return TextFault(FaultKind::WrongClaim,
                   key.str() + " is " + found + ", not " + claimed.excerpt());
}

bool claimsPeaks(const Value &claimed, const std::vector<int64_t> &peaks) {
  if (!claimed.isArray())
    return false;
  Elements walk(claimed);
  size_t count = 0;
  for (; std::optional<Value> value = walk.next(); ++count)
    if (count == peaks.size() || value->integer() != peaks[count])
      return false;
  return count == peaks.size();
}

std::optional<Fault> judgeFigures(const ScheduleText &text,
                                  const Simulation &simulation) {
  for (auto [key, found] : {std::pair("makespan_ns", simulation.makespanNs),
                            std::pair("span_ns", simulation.spanNs)})
    if (const Value *claimed = text.find(key))
      if (claimed->integer() != found)
        return claimFault(key, std::to_string(found), *claimed);
  std::vector<int64_t> hostPeaks = simulation.peakHostBytes;
  hostPeaks.resize(simulation.peakBytes.size());
  for (const auto &[key, peaks] :
       {std::pair("peak_memory_bytes", &simulation.peakBytes),
        std::pair("peak_host_bytes",
                  const_cast<const std::vector<int64_t> *>(&hostPeaks))}) {
    const Value *claimed = text.find(key);
    if (!claimed || claimsPeaks(*claimed, *peaks))
      continue;
    std::string found;
    for (int64_t bytes : *peaks)
      found += (found.empty() ? "[" : ", ") + std::to_string(bytes);
    return claimFault(key, found + "]", *claimed);
  }
  return std::nullopt;
}

std::optional<Fault> judgeBound(const ScheduleText &text,
                                const Problem &problem,
                                const Simulation &simulation) {
  std::string objective = objectiveName(problem);
  if (const Value *claimed = text.find("objective")) {
    std::optional<std::string> name = claimed->string();
    if (name != "makespan" && name != "span")
      return TextFault("objective is " + claimed->excerpt() +
                       ", not \"makespan\" or \"span\"");
    objective = *name;
  }
  int64_t reached =
      objective == "span" ? simulation.spanNs : simulation.makespanNs;

  std::optional<int64_t> bound;
  const Value *claimed = text.find("lower_bound_ns");
  if (claimed && !claimed->isNull()) {
    constexpr int64_t most = std::numeric_limits<int64_t>::max();
    int64_t stated = most;
    auto fault = readInteger(*claimed, "lower_bound_ns", 0, most, stated);
    const bool isTooLarge = claimed->isWholeNumber() && !claimed->integer() &&
                            claimed->excerpt().front() != '-';
    if (fault && !isTooLarge)
      return fault;
    bound = stated;
    if (isTooLarge || *bound > reached)
      return TextFault(FaultKind::WrongBound,
                       "lower_bound_ns " + claimed->excerpt() +
                           " is above the " + objective + " " +
                           std::to_string(reached));
  }
  const Value *proven = text.find("proven_optimal");
  if (!proven)
    return std::nullopt;
  std::optional<bool> isProven = proven->boolean();
  if (!isProven)
    return TextFault("proven_optimal is " + proven->excerpt() +
                     ", not true or false");
  const std::string figure = objective + " is " + std::to_string(reached);
  if (*isProven && !bound)
    return TextFault(FaultKind::WrongBound,
                     "proven_optimal needs lower_bound_ns; the " + figure);
  if (*isProven && *bound < reached)
    return TextFault(FaultKind::WrongBound,
                     "proven_optimal needs a lower_bound_ns that is "
                     "reached; it is " +
                         std::to_string(*bound) + ", and the " + figure);
  return std::nullopt;
}

std::optional<Fault> judgeOrders(const ScheduleText &text,
                                 const Problem &problem,
                                 Simulation &simulation) {
  Schedule schedule;
  if (std::optional<Fault> fault = text.checkWindow(problem))
    return fault;
  if (std::optional<Fault> fault = text.checkClip(problem))
    return fault;
  if (std::optional<Fault> fault = judgePolicies(text, problem))
    return fault;
  bool isOrdered = false;
  if (std::optional<Fault> fault =
          text.readAccumulation(problem, schedule, isOrdered))
    return fault;
  if (std::optional<Fault> fault = judgeRanks(text, problem, schedule))
    return fault;
  if (std::optional<Fault> fault =
          isOrdered ? checkAccumulation(problem, schedule) : std::nullopt)
    return fault;
  if (std::optional<Fault> fault = text.readOverlap(problem, schedule))
    return fault;
  if (std::optional<Fault> fault = judgeLinkOrders(text, problem, schedule))
    return fault;
  if (std::optional<Fault> fault = judgeCopyOrders(text, problem, schedule))
    return fault;
  const bool isWindow = problem.iterations > 1;
  // A run does not see that steps and gradients of iterations are mixed, nor
  // that lanes which overlap are listed out of order.
  if (std::optional<Fault> fault = isWindow || schedule.hasCopies()
                                       ? checkDependence(problem, schedule)
                                       : std::nullopt)
    return fault;
  if (std::optional<Fault> fault = checkGathers(problem, schedule))
    return fault;
  const bool hasVersions =
      isWindow || text.find("weight_copies") || text.find("delay");
  if (std::optional<Fault> fault = judgeRun(problem, schedule))
    return fault;
  simulation = simulate(problem, schedule, /*keepTimes=*/hasVersions);
  if (std::optional<Fault> fault = checkMemory(problem, schedule))
    return fault;
  if (std::optional<Fault> fault = checkHostMemory(problem, schedule))
    return fault;
  if (hasVersions) {
    const auto versions = analyzeVersions(problem, schedule, simulation);
    if (!versions)
      return versions.fault();
    if (std::optional<Fault> fault =
            judgeVersionClaims(text, problem, *versions))
      return fault;
    if (std::optional<Fault> fault = judgeNormDelay(text, problem, schedule))
      return fault;
  }
  if (std::optional<Fault> fault = judgeFigures(text, simulation))
    return fault;
  return judgeBound(text, problem, simulation);
}

} // namespace

Verdict judge(StringRef text, const ProblemFile &problems) {
  Verdict verdict;
  verdict.problem = "?";
  const Problem *problem = nullptr;
  auto broken = [&](const Fault &fault) {
    verdict.rule = ruleOf(fault);
    verdict.message = problem ? describe(fault, *problem) : describe(fault);
    return verdict;
  };
  if (std::optional<Fault> fault = checkSyntax(text))
    return broken(*fault);
  ScheduleText schedule{Value(text)};
  if (std::optional<std::string> name = schedule.problemName())
    verdict.problem = *name;
  if (auto fault = schedule.readKeys())
    return broken(*fault);
  problem = problems.find(verdict.problem);
  if (!problem)
    return broken(
        TextFault(FaultKind::UnknownProblem,
                  "there is no problem " + schedule.problemExcerpt()));
  if (std::optional<std::string> why = schedule.infeasible()) {
    verdict.legal = true;
    verdict.message = "called infeasible: " + *why;
    return verdict;
  }
  if (std::optional<Fault> fault =
          judgeOrders(schedule, *problem, verdict.simulation))
    return broken(*fault);
  verdict.legal = true;
  return verdict;
}

} // namespace rondo::json
