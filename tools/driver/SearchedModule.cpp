//===- SearchedModule.cpp - A plan with a searched schedule ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/SearchedModule.h"

#include "dialect/Bridge.h"
#include "plans/PlanFigures.h"
#include "tools/driver/ChosenPlan.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/ModuleFile.h"
#include "tools/driver/Plans.h"
#include "tools/driver/Report.h"

#include <algorithm>

using namespace llvm;

namespace rondo::driver {

void countWeights(const PlanFigures &figures, Problem &problem) {
  if (!figures.declaresWeights)
    return;
  problem.weightBytes.assign(problem.numStages(), 0);
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
    int64_t &bytes = problem.weightBytes[problem.replicas[replica].stage];
    bytes = std::max(
        bytes, figures.buffers[replica][static_cast<int>(BufferKind::Weights)]);
  }
}

/// One policy where all stages have the same, as families have; none of a
/// single iteration.
static mlir::ArrayAttr versionsOf(mlir::Builder &builder,
                                  const Problem &window) {
  if (window.iterations == 1)
    return {};
  std::vector<VersionPolicy> policies = window.versions;
  if (policies.empty())
    policies.push_back(synchronousPolicy);
  if (all_of(policies, [&](const VersionPolicy &policy) {
        return policy == policies.front();
      }))
    policies.resize(1);
  return builder.getArrayAttr(to_vector(
      map_range(policies, [&](const VersionPolicy &policy) -> mlir::Attribute {
        return pipe::VersionsAttr::get(builder.getContext(), policy);
      })));
}

/// The order as a schedule behind its plan.
static mlir::FailureOr<pipe::ScheduleOp> addSchedule(pipe::PlanOp plan,
                                                     const Problem &window,
                                                     const Schedule &schedule) {
  mlir::OpBuilder builder(plan);
  builder.setInsertionPointAfter(plan);
  auto op = pipe::ScheduleOp::create(
      builder, plan.getLoc(), "searched", plan.getSymName(), pipe::FamilyAttr(),
      pipe::SearchAttr(), pipe::FoundAttr(), versionsOf(builder, window),
      pipe::GathersAttr(), pipe::ClaimsAttr(), pipe::Accumulate::IndexOrder,
      pipe::Norm::Global);
  if (failed(pipe::foldSchedule(schedule, op)))
    return mlir::failure();
  return op;
}

std::optional<std::vector<int64_t>> arenasOfWindow(const std::string &input,
                                                   const std::string &costs,
                                                   const Problem &window,
                                                   const Schedule &schedule) {
  ModuleFile file;
  std::vector<Problem> problems;
  std::vector<PlanFigures> figures;
  if (readPlans(file, input, costs, problems, figures) != Success)
    return std::nullopt;
  auto plan = file.module().lookupSymbol<pipe::PlanOp>(window.name);
  if (!plan)
    return std::nullopt;
  mlir::ScopedDiagnosticHandler silent(
      plan.getContext(), [](mlir::Diagnostic &) { return mlir::success(); });
  mlir::FailureOr<pipe::ScheduleOp> op = addSchedule(plan, window, schedule);
  if (failed(op))
    return std::nullopt;
  mlir::FailureOr<Problem> proof = pipe::buildProblem(*op);
  if (failed(proof))
    return std::nullopt;
  mlir::FailureOr<pipe::ExpandedSchedule> expanded =
      pipe::expandSchedule(*op, *proof);
  if (failed(expanded))
    return std::nullopt;
  return arenaOf(pipe::figuresOf(*op), *proof, expanded->schedule);
}

int writeSearchedModule(const std::string &input, const Problem &problem,
                        const Schedule &schedule, const std::string &output) {
  ModuleFile file;
  if (failed(file.read(input)))
    return Failure;
  auto chosen = file.module().lookupSymbol<pipe::PlanOp>(problem.name);
  if (!chosen)
    return reportError(input + ": has no plan @" + problem.name);
  auto [module, plan] =
      moduleOfPlan(chosen, chosen.getSymName(), chosen.getModel());
  if (failed(addSchedule(plan, problem, schedule)))
    return Failure;
  if (Error error = checkChosen(*module))
    return reportError(toString(std::move(error)));
  Error error = writeFile(output, [&](raw_ostream &os) -> Error {
    module->print(os);
    return Error::success();
  });
  return error ? reportError(toString(std::move(error))) : int(Success);
}

} // namespace rondo::driver
