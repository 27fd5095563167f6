//===- VersionClaims.cpp - What a schedule says of its versions -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/VersionClaims.h"

#include "formats/json/ProblemText.h"
#include "formats/json/Table.h"
#include "kinds/Counts.h"
#include "schedule/order/Repeating.h"
#include "schedule/simulate/NormDelay.h"
#include "schedule/transforms/Recomputed.h"

#include <algorithm>

namespace rondo::json {

namespace {

std::optional<TextFault> claimFault(const std::string &key, int64_t found,
                                    const Value &claimed) {
  return TextFault(FaultKind::WrongClaim, key + " is " + std::to_string(found) +
                                              ", not " + claimed.excerpt());
}

/// A list with an element for each of `number` things.
template <typename Judge>
std::optional<TextFault> judgeList(const ScheduleText &text,
                                   llvm::StringRef key, int64_t number,
                                   const char *what, Judge judge) {
  const Value *list = text.find(key);
  if (!list)
    return {};
  if (!list->isArray())
    return key.str() + " is " + list->excerpt() +
           ", not a list with an element for each of the problem's " +
           countOf(number, what);
  Elements walk(*list);
  int64_t i = 0;
  for (std::optional<Value> value; (value = walk.next()); ++i)
    if (i < number)
      if (auto fault =
              judge(*value, key.str() + "[" + std::to_string(i) + "]", i))
        return fault;
  if (i != number)
    return TextFault(FaultKind::WrongClaim,
                     key.str() + " has " + std::to_string(i) +
                         " elements; the problem has " + countOf(number, what));
  return {};
}

} // namespace

std::optional<TextFault> readPolicies(const ScheduleText &text,
                                      int32_t numStages,
                                      std::vector<VersionPolicy> &policies) {
  Context context;
  context.version = 2;
  context.format = "rondo-schedule/2";
  const Place root(context, "schedule"), list = root["versions"];
  return judgeList(text, "versions", numStages, "stage",
                   [&](const Value &value, const std::string &, int64_t stage) {
                     return readPolicy(list[stage], value,
                                       policies.emplace_back());
                   });
}

std::optional<TextFault> judgePolicies(const ScheduleText &text,
                                       const Problem &problem) {
  const Value *stated = text.find("versions");
  if (!stated)
    return {};
  if (problem.iterations == 1)
    return "versions is for iterations that overlap, but problem " +
           quoted(problem.name) + " has one";
  std::vector<VersionPolicy> policies;
  if (auto fault = readPolicies(text, problem.numStages(), policies))
    return fault;
  for (int32_t stage = 0; stage < problem.numStages(); ++stage)
    if (!(policies[stage] == problem.policyOf(stage)))
      return TextFault(FaultKind::WrongClaim,
                       "versions[" + std::to_string(stage) +
                           "] is not the policy of stage " +
                           std::to_string(stage) + " in problem " +
                           quoted(problem.name));
  return {};
}

void writePolicies(llvm::json::OStream &json, const Problem &window) {
  json.attributeArray("versions", [&] {
    for (int32_t stage = 0; stage < window.numStages(); ++stage)
      writePolicy(json, window.policyOf(stage));
  });
}

std::optional<TextFault> judgeVersionClaims(const ScheduleText &text,
                                            const Problem &problem,
                                            const VersionAnalysis &versions) {
  if (auto fault =
          judgeList(text, "weight_copies", problem.numReplicas(), "replica",
                    [&](const Value &value, const std::string &where,
                        int64_t replica) -> std::optional<TextFault> {
                      const int64_t copies = versions.replicas[replica].copies;
                      return value.integer() == copies
                                 ? std::optional<TextFault>()
                                 : claimFault(where, copies, value);
                    }))
    return fault;
  const std::vector<StageVersions> delays = stageVersions(problem, versions);
  return judgeList(
      text, "delay", problem.numStages(), "stage",
      [&](const Value &value, const std::string &where,
          int64_t stage) -> std::optional<TextFault> {
        Fields kinds;
        if (auto fault = kinds.read(value, where, {}, {"F", "B", "R"}))
          return fault;
        for (auto [kind, delay] :
             {std::pair("F", delays[stage].forwardDelay),
              std::pair("B", delays[stage].backwardDelay),
              std::pair("R", delays[stage].recomputeDelay)})
          if (const Value *claimed = kinds.find(kind))
            if (claimed->integer() != delay)
              return claimFault(where + "." + kind, delay, *claimed);
        return {};
      });
}

std::optional<int64_t> programNormDelay(const Problem &problem,
                                        const Schedule &schedule) {
  const Schedule order =
      schedule.hasCounts() ? withSingleBackwards(schedule) : schedule;
  return normDelay(problem, order,
                   simulate(problem, order, /*keepTimes=*/true));
}

std::optional<TextFault> judgeNormDelay(const ScheduleText &text,
                                        const Problem &problem,
                                        const Schedule &schedule) {
  const Value *claimed = text.find("norm_delay");
  if (!claimed)
    return {};
  const std::optional<int64_t> delay = programNormDelay(problem, schedule);
  if (!delay)
    return TextFault(FaultKind::WrongClaim,
                     "norm_delay is " + claimed->excerpt() + ", but " +
                         std::to_string(problem.iterations) +
                         " iterations are too few to check it; use a "
                         "longer window");
  return claimed->integer() == *delay
             ? std::optional<TextFault>()
             : claimFault("norm_delay", *delay, *claimed);
}

void writeVersionClaims(llvm::json::OStream &json, const Problem &problem,
                        const VersionAnalysis &versions) {
  json.attributeArray("weight_copies", [&] {
    for (const ReplicaVersions &replica : versions.replicas)
      json.value(replica.copies);
  });
  json.attributeArray("delay", [&] {
    for (const StageVersions &delay : stageVersions(problem, versions))
      json.object([&] {
        json.attribute("F", delay.forwardDelay);
        json.attribute("B", delay.backwardDelay);
        if (hasRecomputation(problem))
          json.attribute("R", delay.recomputeDelay);
      });
  });
}

} // namespace rondo::json
