//===- GroupProblem.h - A layout as a scheduling problem --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_GROUPS_GROUPPROBLEM_H
#define RONDO_PLANNING_GROUPS_GROUPPROBLEM_H

#include "planning/groups/GroupCosts.h"
#include "planning/groups/Run.h"
#include "schedule/model/Problem.h"

namespace rondo::groups {

/// The pipeline of one replica: a rank is the group of all devices of a rank of
/// the layout, a micro-batch is one sample, and a stage has the costs of its
/// layers on them. Times are ns. A rank's memory is that of one of its devices:
/// `memoryBytes`, less the state, logits and libraries. What happens once an
/// iteration (sums of gradients, the optimizer) is not in it. The result has
/// passed check().
Problem problemOf(const Run &run, const Machines &machines,
                  const Constants &constants, int64_t memoryBytes);

} // namespace rondo::groups

#endif // RONDO_PLANNING_GROUPS_GROUPPROBLEM_H
