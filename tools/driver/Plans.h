//===- Plans.h - Reads files as problems ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_PLANS_H
#define RONDO_TOOLS_DRIVER_PLANS_H

#include "lowering/Lowering.h"
#include "schedule/model/Problem.h"
#include "tools/driver/ModuleFile.h"

#include <optional>
#include <string>
#include <vector>

namespace rondo::driver {

/// Reads a file and gives its stages their costs, from measurements if
/// `costsPath` names a rondo-costs/1 file. Appends a problem for each plan, in
/// their order, and what lowering needs to know of it; a file without a plan is
/// an error. Every failure has been printed; returns the exit code.
int readPlans(ModuleFile &file, const std::string &path,
              const std::string &costsPath, std::vector<Problem> &problems,
              std::vector<PlanFigures> &figures);

/// Reads the problems of a rondo-problem/1 file, in their order. Reports like
/// readPlans().
int readProblems(const std::string &path, std::vector<Problem> &problems);

/// Reports an error of a problem: at its plan, with the device that `fault`
/// lacks memory of, if there is one, where `file` has been read; otherwise
/// after the name of the problem. Returns Failure.
int reportErrorOf(const Problem &problem, ModuleFile &file,
                  const llvm::Twine &message,
                  const std::optional<Fault> &fault = std::nullopt);

/// Reports that none of several schedules applies to the problem, and why.
int reportNoSchedule(const Problem &problem, ModuleFile &file,
                     llvm::ArrayRef<std::string> reasons);

/// Writes a line of rondo-problem for each.
llvm::Error writeProblems(llvm::StringRef path,
                          llvm::ArrayRef<Problem> problems);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_PLANS_H
