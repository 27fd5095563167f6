//===- plan_run.h - A plan that can be run ----------------------*- C++ -*-===//

#ifndef RONDO_RUNTIME_PLAN_RUN_H
#define RONDO_RUNTIME_PLAN_RUN_H

#include "runtime/rank.h"
#include "runtime/team.h"

#include <memory>
#include <vector>

namespace rondo::runtime {

struct PlanOptions {
  ImposedLink link;
  OptimizerConfig optimizer;
  /// The run fails where no rank begins an action, and no device ends a
  /// message, for timeoutSeconds.
  TransportOptions transport;
};

/// The ranks of one plan and their transport.
class PlanRun {
public:
  PlanRun(State &state, const PlanDesc &plan, const PlanOptions &options);

  const PlanDesc &plan() const { return desc; }
  /// Held by this process.
  Rank &rank(int32_t r) { return *ranks[r]; }
  /// The ranks that this process holds.
  const std::vector<int32_t> &heldRanks() const { return held; }

  /// Runs one iteration on the team's threads. Throws Error with
  /// Exit::RunFailure where a rank fails or nothing goes on; this object is of
  /// no use afterwards.
  void iterate(Team &team);

  /// `rank 0 waits for 1I0 of rank 1 -> rank 1 runs 1F0`.
  std::string describeWaits() const;

  /// Where the data of a stage's micro-batch are staged; null where it has
  /// none.
  char *data(int32_t stage, int64_t microbatch) const;

private:
  std::string describeWait(int32_t rank, const Waiting &waiting) const;

  State &state;
  const PlanDesc &desc;
  const PlanOptions options;
  std::unique_ptr<Transport> transport;
  /// Null where another process holds the rank.
  std::vector<std::unique_ptr<Rank>> ranks;
  std::vector<int32_t> held;
};

/// The first plan of a kind. Throws Error where there is none.
const PlanDesc &findPlan(const Executable &executable, PlanKind kind);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_PLAN_RUN_H
