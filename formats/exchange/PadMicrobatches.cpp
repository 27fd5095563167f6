//===- PadMicrobatches.cpp - Micro-batches in formats without sizes -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/exchange/Adapt.h"

#include "schedule/rules/Legality.h"
#include "schedule/simulate/Simulator.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"

using namespace rondo;
using namespace rondo::exchange;
using llvm::Twine;

std::optional<Fault> exchange::needEqualMessages(const Problem &problem,
                                                 const char *who) {
  if (problem.unevenBytes.empty())
    return std::nullopt;
  for (size_t e = 0; e < problem.edges.size(); ++e)
    for (int32_t i = 1; i < problem.microbatches; ++i) {
      const int64_t first = problem.bytesOf(int64_t(e), 0),
                    other = problem.bytesOf(int64_t(e), i);
      if (first == other)
        continue;
      const auto stage = [&](int32_t replica) {
        return Twine(problem.replicas[replica].stage).str();
      };
      return fail("messages from stage " + stage(problem.edges[e].from) +
                  " to stage " + stage(problem.edges[e].to) +
                  " differ: micro-batch 0 has " + Twine(first) +
                  " bytes, micro-batch " + Twine(i) + " " + Twine(other) +
                  "; " + who +
                  " have fixed shapes; --pad writes the schedule with every "
                  "micro-batch at the largest size");
    }
  return std::nullopt;
}

std::optional<Fault>
exchange::padMicrobatches(ExchangedSchedule &schedule,
                          std::vector<std::string> &notes) {
  const Problem &given = schedule.problem;
  if (!given.isUneven()) {
    notes.push_back("--pad: all micro-batches have one size");
    return std::nullopt;
  }
  Problem padded = given;
  // The bytes are those of the largest micro-batch already, the times are not.
  for (int32_t replica = 0; replica < given.numReplicas(); ++replica)
    for (const ActionTraits &traits : actionTable.rows)
      for (int32_t i = 0;
           (traits.isTask() || traits.isCopy()) && i < given.microbatches;
           ++i) {
        int64_t &ns = padded.cost(replica, traits.kind).ns;
        const int64_t own = given.cost(replica, traits.kind, i).ns;
        ns = i == 0 ? own : std::max(ns, own);
      }
  padded.unevenCosts.clear();
  padded.unevenBytes.clear();
  if (std::optional<Fault> fault = checkSchedule(padded, schedule.schedule))
    return fail("with every micro-batch at the largest size the schedule "
                "breaks a rule: " +
                describe(*fault, padded));
  const int64_t beforeNs = simulate(given, schedule.schedule).makespanNs;
  const int64_t afterNs = simulate(padded, schedule.schedule).makespanNs;
  std::string change;
  llvm::raw_string_ostream(change)
      << llvm::format("%+.1f %%", 100.0 * double(afterNs - beforeNs) /
                                      double(std::max<int64_t>(beforeNs, 1)));
  notes.push_back("--pad: every micro-batch has the largest size; predicted " +
                  std::to_string(beforeNs) + " ns before, " +
                  std::to_string(afterNs) + " ns after (" + change + ")");
  schedule.problem = std::move(padded);
  return std::nullopt;
}
