//===- PlannedProblem.h - Whether a plan can express a problem --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_PLANNEDPROBLEM_H
#define RONDO_FORMATS_PLANNEDPROBLEM_H

#include "schedule/model/Problem.h"

#include <string>

namespace rondo {

/// Why no plan can express this problem; empty if one can. In a plan, a stage
/// has one output for all stages that it feeds, and its gradient has that size.
std::string whyNoPlan(const Problem &problem);

} // namespace rondo

#endif // RONDO_FORMATS_PLANNEDPROBLEM_H
