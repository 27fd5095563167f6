//===- ScheduleWriter.cpp - Schedule to rondo-schedule --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ScheduleWriter.h"

#include "formats/json/LinkMessages.h"
#include "formats/json/VersionClaims.h"
#include "schedule/model/MicrobatchOrder.h"
#include "schedule/simulate/Objective.h"
#include "schedule/transforms/Recomputed.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

namespace rondo::json {

namespace {

template <typename Range>
void writeActions(llvm::json::OStream &json, const Range &actions,
                  const Replicas &replicas) {
  json.rawValue([&](llvm::raw_ostream &os) {
    os << '[';
    bool first = true;
    for (Action action : actions) {
      os << (first ? "\"" : ",\"") << replicas[action.subject].stage
         << action.traits().code << uint64_t(action.index);
      if (action.count != 1)
        os << 'x' << uint64_t(action.count);
      os << '"';
      first = false;
    }
    os << ']';
  });
}

/// Whether a task sends several messages over a link whose order is given: they
/// have names only in version 2.
bool namesMessages(const Schedule &schedule, const LinkMessages &messages) {
  for (const auto &[pair, actions] : schedule.linkOrders)
    for (Action action : actions)
      if (messages.receivers(action, pair.second).size() > 1)
        return true;
  return false;
}

void writeLinkOrders(llvm::json::OStream &json, const Schedule &schedule,
                     const LinkMessages &messages) {
  for (const auto &[pair, actions] : schedule.linkOrders) {
    const int32_t to = pair.second;
    json.attributeArray(
        std::to_string(pair.first) + ">" + std::to_string(to), [&] {
          for (Action action : actions) {
            const auto receivers = messages.receivers(action, to);
            if (receivers.size() <= 1)
              json.value(actionName(action, messages.problem));
            else
              for (int32_t stage : receivers)
                json.value(actionName(action, messages.problem) + ">" +
                           std::to_string(stage));
          }
        });
  }
}

void writeIteration(llvm::json::OStream &json, const IterationRecord &record) {
  json.attributeObject("settled", [&] {
    json.attribute("iterations", record.iterations);
    json.attribute("ns", record.ns);
    json.attribute("exact", record.isExact);
  });
  json.attribute("iteration_bound_ns", record.lowerBoundNs);
  json.attribute("iteration_optimal", record.isOptimal);
  if (!record.policy.empty())
    json.attribute("policy", record.policy);
  json.attributeArray("held_bytes", [&] {
    for (int64_t bytes : record.heldBytes)
      json.value(bytes);
  });
}

} // namespace

void writeSchedule(llvm::raw_ostream &os, const Problem &problem,
                   const Schedule &schedule, const Simulation &simulation,
                   llvm::StringRef family, const SearchRecord *search,
                   const ComparisonRecord *comparison,
                   llvm::ArrayRef<std::pair<Action, Action>> overlap,
                   bool clipsByNorm) {
  // Only orders of links need the edges by stage.
  std::optional<LinkMessages> messages;
  if (!schedule.linkOrders.empty())
    messages.emplace(problem);
  const bool isVersion2 =
      problem.replicas.isReplicated() || hasRecomputation(problem) ||
      schedule.hasSteps() || schedule.hasCounts() || schedule.hasCopies() ||
      problem.isUneven() || !schedule.accumulation.empty() ||
      (messages && namesMessages(schedule, *messages));
  llvm::json::OStream json(os);
  json.object([&] {
    json.attribute("format",
                   isVersion2 ? "rondo-schedule/2" : "rondo-schedule/1");
    json.attribute("problem", problem.name);
    json.attributeArray("ranks", [&] {
      for (int32_t rank = 0; rank < schedule.numRanks(); ++rank)
        writeActions(json, schedule.rank(rank), problem.replicas);
    });
    if (!schedule.linkOrders.empty())
      json.attributeObject("link_order",
                           [&] { writeLinkOrders(json, schedule, *messages); });
    if (!schedule.copyOrders.empty())
      json.attributeObject("copy_order", [&] {
        for (const auto &[link, actions] : schedule.copyOrders) {
          json.attributeBegin(std::to_string(link));
          writeActions(json, actions, problem.replicas);
          json.attributeEnd();
        }
      });
    if (isIndexOrder(schedule.accumulation) && !schedule.accumulation.empty())
      json.attribute("accumulate", "index");
    else if (!schedule.accumulation.empty())
      json.attributeArray("accumulate", [&] {
        for (int32_t microbatch : schedule.accumulation)
          json.value(microbatch);
      });
    if (!overlap.empty())
      json.attributeArray("overlap", [&] {
        for (const auto &[first, second] : overlap)
          writeActions(json, llvm::ArrayRef({first, second}), problem.replicas);
      });
    if (problem.iterations > 1)
      writePolicies(json, problem);
    if (!family.empty())
      json.attribute("family", family);
    json.attribute("objective", objectiveName(problem));
    json.attribute("makespan_ns", simulation.makespanNs);
    json.attribute("span_ns", simulation.spanNs);
    if (search) {
      json.attribute("lower_bound_ns", search->lowerBoundNs);
      json.attribute("bound", search->bound);
      json.attribute("proven_optimal", search->provenOptimal);
    } else if (comparison) {
      json.attribute("lower_bound_ns", comparison->lowerBoundNs);
      json.attribute("bound", comparison->bound);
    }
    json.attributeArray("peak_memory_bytes", [&] {
      for (int64_t bytes : simulation.peakBytes)
        json.value(bytes);
    });
    if (!simulation.peakHostBytes.empty())
      json.attributeArray("peak_host_bytes", [&] {
        for (int64_t bytes : simulation.peakHostBytes)
          json.value(bytes);
      });
    if (problem.iterations > 1 && !simulation.startNs.empty()) {
      const auto versions = analyzeVersions(problem, schedule, simulation);
      if (versions)
        writeVersionClaims(json, problem, *versions);
    }
    if (clipsByNorm) {
      json.attribute("clip", "global");
      if (auto delay = programNormDelay(problem, schedule))
        json.attribute("norm_delay", *delay);
    }
    if (search)
      json.attributeObject("search", [&] {
        json.attribute("seed", search->seed);
        json.attribute("effort", search->effort);
        json.attributeBegin("seconds");
        json.rawValue([&](llvm::raw_ostream &os) {
          os << llvm::format("%.6f", search->seconds);
        });
        json.attributeEnd();
        json.attribute("stopped", search->stopped);
      });
    const bool isCompared = comparison && (comparison->exposedNs ||
                                           comparison->exposedInOneQueueNs);
    const bool isRobust = search && !search->robust.empty();
    const bool isWindow = search && search->iteration;
    const bool hasCap = search && search->cap;
    if (isCompared || isRobust || isWindow || hasCap)
      json.attributeObject("provenance", [&] {
        if (isCompared) {
          if (comparison->exposedNs)
            json.attribute("exposed_ns", *comparison->exposedNs);
          if (comparison->exposedInOneQueueNs)
            json.attribute("exposed_in_one_queue_ns",
                           *comparison->exposedInOneQueueNs);
        }
        if (isWindow)
          writeIteration(json, *search->iteration);
        if (hasCap) {
          json.attribute("cap_bytes", search->cap->capBytes);
          json.attribute("lower_bound_within_cap_ns",
                         search->cap->lowerBoundNs);
          json.attribute("bound_within_cap", search->cap->bound);
          json.attribute("proven_optimal_within_cap",
                         search->cap->provenOptimal);
        }
        if (isRobust) {
          json.attribute("robust", search->robust);
          json.attribute("samples", search->samples);
          json.attribute("jitter_percent", search->jitterPercent);
          if (search->robustNs)
            json.attribute("robust_ns", *search->robustNs);
        }
      });
  });
}

void writeInfeasible(llvm::raw_ostream &os, const Problem &problem,
                     llvm::StringRef why) {
  llvm::json::OStream json(os);
  json.object([&] {
    json.attribute("format", "rondo-schedule/1");
    json.attribute("problem", problem.name);
    json.attribute("infeasible", why);
  });
}

} // namespace rondo::json
