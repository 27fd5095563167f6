//===- program_plan.h - Programs like those of an executable ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The figures from which lowering makes a program that fits the arenas of an
// executable, for all searches during a run.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_SEARCH_PROGRAM_PLAN_H
#define RONDO_RUNTIME_SEARCH_PROGRAM_PLAN_H

#include "lowering/Lowering.h"
#include "lowering/MemoryPlan.h"
#include "runtime/adaptive/schedule_search.h"

#include <optional>

namespace rondo::runtime {

/// A program of an executable whose replicas, edges and micro-batches others
/// shall have, with its values. The references must outlive all uses.
struct LikeProgram {
  const Executable &executable;
  const ProgramDesc &desc;
  const ProgramValues &values;
};

/// The figures of a plan with the program's buffers, whose devices are the
/// executable's arenas.
PlanFigures figuresOf(const LikeProgram &like);

/// The bytes of the tasks of replica `h`, for the costs `row` of a micro-batch
/// with these buffers. B takes the time of I and W.
void setBytes(const Problem &problem, int32_t h, const ReplicaBuffers &buffers,
              Cost *row);
/// The memory of activations: what the state leaves of the arenas.
void setCaps(const LikeProgram &like, Problem &problem);

/// Gives a program its messages, at the places that are best for `executing`,
/// and its memory; proves it by all rules. `lowered` has its kind, its tasks
/// and the problem for which they are proved.
std::optional<Fault> placeLike(const LikeProgram &like, const PlanFigures &plan,
                               const Problem &executing,
                               LoweredProgram &lowered);

/// The computation of a program with its copies, gathers and reductions,
/// without messages and steps.
Schedule tasksOf(const Program &program);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_SEARCH_PROGRAM_PLAN_H
