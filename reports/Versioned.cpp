//===- Versioned.cpp - The weights that tasks read, in words --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reports/Versioned.h"

#include "kinds/Counts.h"
#include "reports/Figures.h"
#include "reports/Table.h"
#include "schedule/rules/Legality.h"
#include "schedule/transforms/Recomputed.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace llvm;

namespace rondo {

/// `@s2`'s number, with the replica where it has several.
static std::string replicaText(const Problem &problem, int32_t replica) {
  const Replica &of = problem.replicas[replica];
  const std::string stage = std::to_string(of.stage);
  return problem.replicas.of(of.stage).size() == 1
             ? stage
             : stage + " on rank " + std::to_string(of.rank);
}

static void printSums(raw_ostream &os, const Problem &problem,
                      const VersionedSums &sums) {
  if (sums.normDelay)
    os << "  the norm of all gradients is there "
       << countOf(*sums.normDelay, "iteration") << " later"
       << (sums.clipsByNorm ? "; steps clip by it" : "") << "\n";
  for (const SumWait &wait : sums.waits) {
    const Collective &sum = sums.sums[wait.collective];
    os << "  all_reduce of "
       << (sum.tensor.empty()
               ? "stage " + std::to_string(
                                problem.replicas[sum.replicas.front()].stage)
               : sum.tensor)
       << ": ";
    if (wait.iterations)
      os << countOf(*wait.iterations, "iteration")
         << " late if no step waited; ";
    os << "steps wait ";
    bool isFirst = true;
    for (const StepWait &step : wait.steps) {
      os << (isFirst ? "" : ", ")
         << formatNs(static_cast<int64_t>(std::llround(step.meanNs)))
         << " on stage " << replicaText(problem, step.replica);
      isFirst = false;
    }
    os << "\n";
  }
}

static void writeSums(llvm::json::OStream &json, const Problem &problem,
                      const VersionedSums &sums) {
  if (sums.normDelay)
    json.attribute("norm_delay", *sums.normDelay);
  json.attribute("clip", sums.clipsByNorm ? "global" : "stage");
  json.attributeArray("sums", [&] {
    for (const SumWait &wait : sums.waits)
      json.object([&] {
        const Collective &sum = sums.sums[wait.collective];
        json.attribute("kind", traitsOf(sum.kind).keyword);
        if (!sum.tensor.empty())
          json.attribute("tensor", sum.tensor);
        if (wait.iterations)
          json.attribute("late", *wait.iterations);
        json.attributeArray("steps", [&] {
          for (const StepWait &step : wait.steps)
            json.object([&] {
              json.attribute("stage", problem.replicas[step.replica].stage);
              json.attribute("rank", problem.replicas[step.replica].rank);
              json.attribute("mean_wait_ns", step.meanNs);
              json.attribute("most_wait_ns", step.maxNs);
            });
        });
      });
  });
}

namespace {

/// `0`, `0 to 3, mean 1.75` where they differ.
std::string delayText(const Delays &delays) {
  if (delays.least == delays.most)
    return std::to_string(delays.most);
  std::string mean;
  raw_string_ostream(mean) << format("%.4g", delays.mean());
  return std::to_string(delays.least) + " to " + std::to_string(delays.most) +
         ", mean " + mean;
}

std::string copiesText(const Problem &problem, const ReplicaVersions &replica,
                       int32_t stage) {
  const std::string copies = std::to_string(replica.copies);
  if (problem.weightBytes.empty())
    return copies;
  return copies + " (" +
         formatBytes(problem.weightBytes[stage] * replica.copies) + ")";
}

void printTasks(raw_ostream &os, const Versioned &of) {
  const Problem &problem = of.problem;
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    os << "rank " << rank << ":";
    for (Action action : of.schedule.rank(rank)) {
      const ReplicaVersions &replica = of.versions.replicas[action.subject];
      os << " " << actionName(action, problem);
      if (action.kind() == ActionKind::Step)
        os << "=" << action.index + 1;
      else if (action.kind() == ActionKind::Forward ||
               action.kind() == ActionKind::Recompute)
        os << "@" << replica.readBy(action.kind())[action.index];
      else if (action.traits().makes & inputGradDone)
        // Each micro-batch of the backward may read another version.
        for (int64_t i = 0; i < int64_t(action.count); ++i)
          if (i == 0 || replica.backward[action.index + i] !=
                            replica.backward[action.index + i - 1])
            os << (i == 0 ? "@" : ",") << replica.backward[action.index + i];
    }
    os << "\n";
  }
}

} // namespace

void writeText(raw_ostream &os, const Versioned &of, bool withTasks) {
  const Problem &problem = of.problem;
  os << "\n" << of.name << ": " << formatNs(of.simulation.makespanNs) << "\n";
  Table table;
  const bool hasAgain = hasRecomputation(problem);
  std::vector<std::string> heads = {"stage",        "rank",     "forward",
                                    "updates late", "backward", "updates late",
                                    "activations",  "copies"};
  if (hasAgain)
    heads.insert(heads.end() - 1, "updates late");
  table.add(heads);
  for (int32_t number = 0; number < problem.numReplicas(); ++number) {
    const Replica &replica = problem.replicas[number];
    const ReplicaVersions &versions = of.versions.replicas[number];
    const VersionPolicy policy = problem.policyOf(replica.stage);
    std::vector<std::string> row = {
        std::to_string(replica.stage),
        std::to_string(replica.rank),
        wordOf(policy.forward),
        delayText(versions.forwardDelay),
        wordOf(policy.backward),
        delayText(versions.backwardDelay),
        wordOf(policy.activations),
        copiesText(problem, versions, replica.stage)};
    if (hasAgain)
      row.insert(row.end() - 1, problem.recomputes(number)
                                    ? delayText(versions.recomputeDelay)
                                    : "-");
    table.add(row);
  }
  table.print(os);
  os << "  the forwards of a micro-batch read "
     << (of.versions.areForwardsVertical ? "one version" : "several versions")
     << ", its backwards "
     << (of.versions.areBackwardsVertical ? "one" : "several") << "\n";
  printSums(os, problem, of.sums);
  if (withTasks)
    printTasks(os, of);
}

static void writeDelays(llvm::json::OStream &json, const char *key,
                        const Delays &delays) {
  json.attributeObject(key, [&] {
    json.attribute("least", delays.least);
    json.attribute("most", delays.most);
    json.attribute("mean", delays.mean());
  });
}

void writeJson(raw_ostream &os, const Versioned &of) {
  const Problem &problem = of.problem;
  llvm::json::OStream json(os);
  json.object([&] {
    json.attribute("problem", problem.name);
    json.attribute("schedule", of.name);
    json.attribute("iterations", problem.iterations);
    json.attribute("makespan_ns", of.simulation.makespanNs);
    json.attribute("forwards_read_one_version",
                   of.versions.areForwardsVertical);
    json.attribute("backwards_read_one_version",
                   of.versions.areBackwardsVertical);
    writeSums(json, problem, of.sums);
    json.attributeArray("replicas", [&] {
      for (int32_t number = 0; number < problem.numReplicas(); ++number)
        json.object([&] {
          const Replica &replica = problem.replicas[number];
          const ReplicaVersions &versions = of.versions.replicas[number];
          const VersionPolicy policy = problem.policyOf(replica.stage);
          json.attribute("stage", replica.stage);
          json.attribute("rank", replica.rank);
          json.attribute("forward", wordOf(policy.forward));
          json.attribute("backward", wordOf(policy.backward));
          json.attribute("activations", wordOf(policy.activations));
          json.attribute("copies", versions.copies);
          writeDelays(json, "forward_delay", versions.forwardDelay);
          writeDelays(json, "backward_delay", versions.backwardDelay);
          auto writeVersions = [&](const char *key, ActionKind kind) {
            json.attributeArray(key, [&] {
              for (int32_t version : versions.readBy(kind))
                json.value(version);
            });
          };
          writeVersions("forward_versions", ActionKind::Forward);
          writeVersions("backward_versions", ActionKind::Backward);
          if (!problem.recomputes(number))
            return;
          writeDelays(json, "recompute_delay", versions.recomputeDelay);
          writeVersions("recompute_versions", ActionKind::Recompute);
        });
    });
  });
  os << "\n";
}

} // namespace rondo
