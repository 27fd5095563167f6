//===- ImportSchedule.cpp - rondo-schedule/1 to the language --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"
#include "formats/json/Documents.h"
#include "formats/json/ScheduleReader.h"
#include "formats/ops/Translations.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace rondo;

namespace {

/// A fault, after the place of its document in the file.
json::TextFault faultIn(const json::Document &document,
                        const llvm::Twine &message) {
  return json::TextFault(llvm::Twine(document.where()) + message);
}

std::string namesOfPlans(ModuleOp module) {
  std::string names;
  for (pipe::PlanOp plan : module.getOps<pipe::PlanOp>())
    names += (names.empty() ? "@" : ", @") + plan.getSymName().str();
  return names;
}

/// The orders of a document, as a schedule of the problem that keeps all rules
/// but S7. Its figures are not checked: they may come from other costs.
Result<Schedule> readOrders(const json::Document &document,
                            const Problem &problem) {
  json::ScheduleText text{json::Value(document.text)};
  if (auto fault = text.readKeys())
    return faultIn(document, describe(*fault));
  if (std::optional<std::string> why = text.infeasible())
    return faultIn(document,
                   "the file states that no schedule exists: " + *why);
  if (auto fault = text.checkWindow(problem))
    return faultIn(document,
                   describe(*fault) +
                       "; the language writes a window as a schedule that "
                       "repeats: `rondo search FILE.mlir --iterations " +
                       llvm::Twine(text.iterationsOfWindow(problem)) +
                       " --policy NAME -o OUT.mlir` writes one that compiles");
  Schedule schedule;
  std::optional<json::TextFault> fault = text.checkClip(problem);
  if (!fault)
    fault = text.readRanks(problem, schedule);
  if (!fault)
    fault = text.readLinkOrders(problem, schedule);
  if (fault)
    return faultIn(document, describe(*fault));
  if (std::optional<Fault> broken = checkSchedule(problem, schedule)) {
    const std::string what = document.where() + describe(*broken, problem);
    return json::TextFault(broken->rule == Rule::Memory ? FaultKind::TextOverCap
                                                        : FaultKind::Text,
                           what);
  }
  return schedule;
}

/// `name`, or the first of `name_1`, `name_2`, ... that is free.
std::string freeName(ModuleOp module, const std::string &name) {
  std::string free = name;
  for (int i = 1; module.lookupSymbol(free); ++i)
    free = name + "_" + std::to_string(i);
  return free;
}

} // namespace

Result<formats::ScheduleSource>
rondo::formats::findSchedule(ModuleOp module, StringRef fileName,
                             StringRef contents) {
  std::string first;
  for (const json::Document &document :
       json::splitDocuments(fileName, contents)) {
    if (auto fault = json::checkSyntax(document.text))
      return faultIn(document, describe(*fault));
    json::ScheduleText text{json::Value(document.text)};
    if (std::optional<std::string> name = text.problemName())
      if (auto plan = module.lookupSymbol<pipe::PlanOp>(*name))
        return ScheduleSource{document, plan};
    if (first.empty())
      first = text.problemExcerpt();
  }
  if (first.empty())
    return faultIn({}, "no schedule in it; expected rondo-schedule/1");
  return faultIn({}, "no schedule is for " + namesOfPlans(module) +
                         "; the first names problem " + first);
}

Result<pipe::ScheduleOp>
rondo::formats::importSchedule(const ScheduleSource &source,
                               const Problem &problem) {
  Result<Schedule> schedule = readOrders(source.document, problem);
  if (!schedule)
    return schedule.fault();
  FailureOr<pipe::ScheduleOp> op =
      importOrders(source.plan, problem, *schedule);
  if (failed(op))
    return faultIn(source.document, "the language has no op for an action");
  return *op;
}

FailureOr<pipe::ScheduleOp>
rondo::formats::importOrders(pipe::PlanOp plan, const Problem &problem,
                             const Schedule &schedule) {
  auto module = plan->getParentOfType<ModuleOp>();
  auto builder = OpBuilder::atBlockEnd(module.getBody());
  auto op = pipe::ScheduleOp::create(
      builder, plan.getLoc(),
      freeName(module, plan.getSymName().str() + "_schedule"),
      plan.getSymName(), pipe::FamilyAttr(), pipe::SearchAttr(),
      pipe::FoundAttr(), /*versions=*/ArrayAttr(), pipe::GathersAttr(),
      /*claims=*/pipe::ClaimsAttr(),
      checkAccumulation(problem, schedule) ? pipe::Accumulate::ScheduleOrder
                                           : pipe::Accumulate::IndexOrder,
      pipe::Norm::Global);
  if (failed(pipe::foldSchedule(schedule, op)))
    return failure();
  return op;
}
