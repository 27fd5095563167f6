//===- GroupCollectives.h - Collectives of sharded stages -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_PROGRAM_GROUPCOLLECTIVES_H
#define RONDO_SCHEDULE_PROGRAM_GROUPCOLLECTIVES_H

#include "schedule/program/Program.h"

#include <algorithm>
#include <vector>

namespace rondo {

/// The collectives that gather and reduce the state of each group of a program.
/// The n-th unshard or reduce_grad of a replica issues the n-th run of its
/// group's collective.
class GroupCollectives {
public:
  GroupCollectives(const Problem &problem, const Program &program) {
    if (!problem.replicas.areSharded())
      return;
    gathers.assign(problem.numReplicas(), -1);
    scatters.assign(problem.numReplicas(), -1);
    for (size_t c = 0; c < program.collectives.size(); ++c) {
      const Collective &collective = program.collectives[c];
      if (!movesState(collective.kind))
        continue;
      std::vector<int32_t> &numbers =
          collective.kind == CollectiveKind::GatherWeights ? gathers : scatters;
      for (int32_t replica : collective.replicas)
        if (replica >= 0 && replica < problem.numReplicas())
          numbers[replica] = static_cast<int32_t>(c);
    }
  }

  /// The number of the collective that an action issues or awaits; -1: none.
  /// The action's subject is a replica or a collective.
  int64_t numberOf(Action action) const {
    return action.kind() == ActionKind::Unshard      ? gatherOf(action.subject)
           : action.kind() == ActionKind::ReduceGrad ? scatterOf(action.subject)
                                                     : action.subject;
  }
  int32_t gatherOf(int32_t replica) const {
    return gathers.empty() ? -1 : gathers[replica];
  }
  int32_t scatterOf(int32_t replica) const {
    return scatters.empty() ? -1 : scatters[replica];
  }

private:
  /// Indexed by replica; empty if no stage is sharded.
  std::vector<int32_t> gathers, scatters;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_PROGRAM_GROUPCOLLECTIVES_H
