//===- BuildWindow.cpp - The window in which a schedule is judged ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"
#include "dialect/Loops.h"
#include "kinds/Counts.h"
#include "schedule/program/WaitBlocks.h"
#include "schedule/transforms/Iterations.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// Indexed by stage.
static FailureOr<std::vector<VersionPolicy>>
policiesOf(ScheduleOp op, const Problem &problem) {
  std::vector<VersionPolicy> policies;
  if (auto versions = op.getVersions()) {
    for (auto policy : versions->getAsRange<VersionsAttr>())
      policies.push_back(policy.getPolicy());
    if (policies.size() != 1 && int64_t(policies.size()) != problem.numStages())
      return op.emitError()
             << "the schedule lists " << policies.size()
             << " policies of versions; its plan has " << problem.numStages()
             << " stages: one policy for all, or one for each";
  } else if (auto family = op.getFamily()) {
    const Family *known = findFamily(family->getName().str());
    for (const NamedPolicy &named : namedPolicies)
      if (known && known->policy && StringRef(named.name) == known->policy)
        policies.push_back(named.policy);
  }
  if (policies.size() == 1)
    policies.resize(problem.numStages(), policies.front());
  return policies;
}

ArrayAttr rondo::pipe::versionsOf(Builder &builder, const Problem &window) {
  if (window.iterations == 1)
    return {};
  std::vector<VersionPolicy> policies = window.versions;
  if (policies.empty())
    policies.push_back(synchronousPolicy);
  if (llvm::all_of(policies, [&](const VersionPolicy &policy) {
        return policy == policies.front();
      }))
    policies.resize(1);
  return builder.getArrayAttr(llvm::to_vector(
      llvm::map_range(policies, [&](const VersionPolicy &policy) -> Attribute {
        return VersionsAttr::get(builder.getContext(), policy);
      })));
}

/// Far more than any cluster has stages: a larger number is probably a typing
/// error, and its window would not fit a machine.
static constexpr int64_t maxUnderWay = 4096;

/// Iterations that each rank of the schedule has under way at once.
static FailureOr<std::vector<int64_t>> underWayIn(ScheduleOp op,
                                                  const Problem &problem) {
  const ReplicaNames names(op.lookupPlan(), problem.replicas);
  auto prototype = [&](Operation *inner) { return actionOf(inner, names); };
  Unroller unroller(op.lookupPlan(), prototype);
  unroller.setOnce();
  const int64_t each = problem.microbatches;
  std::vector<int64_t> underWay;
  for (RankOp rank : op.getRanks()) {
    int64_t most = 0;
    if (failed(unroller.run(rank.getBody(), [&](Operation *, Action action) {
          most = std::max(most, iterationOf(action, each));
        })))
      return failure();
    if (most >= maxUnderWay)
      return op.emitError()
             << "the order of @" << op.getSymName() << " begins " << most + 1
             << " iterations before it ends the first; it may "
                "begin "
             << maxUnderWay;
    underWay.push_back(most + 1);
  }
  // A rank without an order has nothing to do.
  underWay.resize(problem.numRanks(), 1);
  return underWay;
}

FailureOr<Problem> rondo::pipe::withPoliciesOf(ScheduleOp op,
                                               const Problem &problem) {
  if (!op.overlaps())
    return problem;
  FailureOr<std::vector<VersionPolicy>> policies = policiesOf(op, problem);
  if (failed(policies))
    return failure();
  Problem result = problem;
  result.versions = std::move(*policies);
  if (std::optional<Fault> fault = checkIterations(result))
    return op.emitError() << describe(*fault);
  SmallVector<StageOp, 0> stages = op.lookupPlan().getStages();
  for (int32_t replica = 0; replica < result.numReplicas(); ++replica) {
    const int32_t stage = result.replicas[replica].stage;
    if (!areMadeAnew(result.policyOf(stage).activations) ||
        result.recomputes(replica))
      continue;
    return op.emitError()
               .append("stage @", stages[stage].getSymName(),
                       " is to make its activations again, but keeps them; "
                       "write recompute after its ranks")
               .attachNote(stages[stage].getLoc())
           << "this is the stage";
  }
  return result;
}

/// In words of the file, before the window is made that its reader has not
/// asked for.
static LogicalResult checkStagesOverlap(ScheduleOp op, const Problem &problem) {
  for (auto [number, stage] : llvm::enumerate(op.lookupPlan().getStages())) {
    const Replica &replica = *problem.replicas.of(number).begin();
    std::string why;
    if (problem.microbatches % replica.turns != 0)
      why = " assigns " + countOf(problem.microbatches, "micro-batch") +
            " of each iteration to " + std::to_string(replica.turns) +
            " replicas in turn, and every iteration begins at the first "
            "replica; give the plan a multiple of " +
            countOf(replica.turns, "micro-batch") + ", leave out `round_robin`";
    else if (replica.isSharded())
      why = " shards its state; write sharded<moments>, which keeps each "
            "version of the weights whole, or leave out sharded";
    else
      continue;
    return op.emitError()
               .append("iterations of @", op.getSymName(),
                       " overlap, but stage @", stage.getSymName(), why,
                       ", or let iterations drain, as with family<\"1f1b\">")
               .attachNote(stage.getLoc())
           << "stage @" << stage.getSymName() << " is on "
           << stage.describeRanks();
  }
  return success();
}

/// Copies are for schedules whose iterations end one after another.
static LogicalResult checkNoCopies(ScheduleOp op) {
  Operation *copy = nullptr;
  op.walk([&](Operation *inner) {
    if (!isa<SaveOp, LoadOp>(inner))
      return WalkResult::advance();
    copy = inner;
    return WalkResult::interrupt();
  });
  const auto family = op.getFamily();
  if (!copy && (!family || family->getOffload().empty()))
    return success();
  return (copy ? copy : op.getOperation())->emitError()
         << "iterations of @" << op.getSymName()
         << " overlap, so its order cannot copy activations to the host yet, "
            "since copies end with their iteration; leave out "
         << (copy ? "pipe.save and pipe.load" : "offload")
         << ", or let iterations drain, as with family<\"1f1b\">";
}

FailureOr<Problem> rondo::pipe::buildProblem(ScheduleOp op) {
  FailureOr<Problem> problem = buildProblem(op.lookupPlan());
  if (succeeded(problem))
    problem = withPoliciesOf(op, *problem);
  if (failed(problem) || !op.overlaps())
    return problem;
  if (op.lookupPlan().isUneven())
    return op.emitError()
               .append("iterations of @", op.getSymName(),
                       " overlap, but the micro-batches of plan @",
                       op.getPlan(),
                       " differ, which do not go together yet: let iterations "
                       "drain, as with family<\"1f1b\">")
               .attachNote(op.lookupPlan().getLoc())
           << "plan @" << op.getPlan() << " is here";
  // For a family to write.
  int64_t iterations = 4 * int64_t(problem->numStages()) + 8;
  if (!op.isBodyEmpty()) {
    FailureOr<std::vector<int64_t>> underWay = underWayIn(op, *problem);
    if (failed(underWay))
      return failure();
    // The norm of an iteration is awaited as many iterations later at most.
    if (op.computesNorm())
      for (int64_t &rank : *underWay)
        rank *= 2;
    std::vector<Collective> collectives = planCollectives(op.lookupPlan());
    llvm::erase_if(collectives, [&](const Collective &collective) {
      return collective.kind == rondo::CollectiveKind::GradientNorm &&
             !op.computesNorm();
    });
    iterations = iterationsOfProof(*underWay, op.getIterationsEach(),
                                   waitBlocks(*problem, collectives));
  }
  if (failed(checkStagesOverlap(op, *problem)) || failed(checkNoCopies(op)))
    return failure();
  Result<Problem> window = overIterations(*problem, iterations);
  if (!window)
    return op.emitError() << "iterations of @" << op.getSymName()
                          << " overlap: " << describe(window.fault());
  return std::move(*window);
}

FailureOr<int64_t> rondo::pipe::iterationsUnderWay(ScheduleOp op) {
  FailureOr<Problem> problem = buildProblem(op.lookupPlan());
  if (failed(problem))
    return failure();
  FailureOr<std::vector<int64_t>> underWay = underWayIn(op, *problem);
  if (failed(underWay))
    return failure();
  return *std::max_element(underWay->begin(), underWay->end());
}
