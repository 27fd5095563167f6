//===- PlannedProblem.h - Whether a plan can express a problem --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_PLANNEDPROBLEM_H
#define RONDO_FORMATS_PLANNEDPROBLEM_H

#include "schedule/model/Problem.h"

#include <string>
#include <vector>

namespace rondo {

/// Why no plan can express this problem; empty if one can. In a plan, a stage
/// has one output for all stages that it feeds, and its gradient has that size.
std::string whyNoPlan(const Problem &problem);

/// [micro-batch]: the problem whose micro-batches are all like this one. Only
/// the problem itself, if they do not differ.
std::vector<Problem> problemsByMicrobatch(const Problem &problem);

} // namespace rondo

#endif // RONDO_FORMATS_PLANNEDPROBLEM_H
