//===- VersionedSums.cpp - What steps wait for, in words ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/VersionedSums.h"

#include "plans/PlanFigures.h"
#include "plans/VersionedWindow.h"
#include "tools/driver/Report.h"

#include <cmath>

using namespace llvm;

namespace rondo::driver {

mlir::FailureOr<VersionedSums> versionedSums(pipe::ScheduleOp schedule) {
  mlir::FailureOr<pipe::VersionedWindow> window = pipe::analyzeWindow(schedule);
  if (failed(window))
    return mlir::failure();
  if (!schedule.computesNorm())
    pipe::timeOrder(*window);
  VersionedSums result;
  result.normDelay = window->normDelay;
  result.clipsByNorm = schedule.computesNorm();
  const PlanFigures figures = pipe::figuresOf(schedule);
  if (!figures.declaresWeights)
    return result;
  auto waits = sumWaits(figures, window->problem, window->order, window->times);
  if (!waits)
    return mlir::failure();
  result.waits = std::move(*waits);
  result.sums = figures.collectives;
  return result;
}

/// `@s2`'s number, with the replica where it has several.
static std::string replicaText(const Problem &problem, int32_t replica) {
  const Replica &of = problem.replicas[replica];
  const std::string stage = std::to_string(of.stage);
  return problem.replicas.of(of.stage).size() == 1
             ? stage
             : stage + " on rank " + std::to_string(of.rank);
}

void printSums(raw_ostream &os, const Problem &problem,
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

void writeSums(llvm::json::OStream &json, const Problem &problem,
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

} // namespace rondo::driver
