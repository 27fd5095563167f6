//===- ImportSchedule.cpp - rondo-schedule/1 to the language --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"
#include "formats/json/Documents.h"
#include "formats/json/VersionClaims.h"
#include "formats/ops/Translations.h"
#include "schedule/order/Repeating.h"
#include "schedule/transforms/Iterations.h"

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

/// Orders that keep all rules but S7, and the problem that they keep them in.
struct ReadOrders {
  /// Over several iterations if the orders are those of a window.
  Problem problem;
  Schedule schedule;
  bool clipsByNorm = false;
};

/// The window of a document's orders, with the policies that it states;
/// `problem` itself if the orders are of one iteration.
Result<Problem> problemOf(const json::Document &document,
                          const json::ScheduleText &text,
                          const Problem &problem) {
  const int64_t iterations = text.iterationsOfWindow(problem);
  if (problem.iterations > 1 || iterations == 1)
    return problem;
  Problem each = problem;
  each.versions.clear();
  if (auto fault = json::readPolicies(text, problem.numStages(), each.versions))
    return faultIn(document, describe(*fault));
  if (each.versions.empty())
    return faultIn(document,
                   describe(*text.checkWindow(problem)) +
                       ", and the file does not state which weights their "
                       "tasks read: add \"versions\", a list with the policy "
                       "of each stage, such as \"pipedream\", or write the "
                       "file again with `rondo search FILE.mlir --iterations " +
                       llvm::Twine(iterations) + " --policy NAME`");
  Result<Problem> window = overIterations(each, iterations);
  if (!window)
    return faultIn(document, describe(window.fault(), problem));
  return window;
}

/// A fault if the document claims other delays or copies of weights than the
/// orders have. They depend on times only if a backward reads committed
/// weights; these are not checked.
std::optional<json::TextFault> judgeVersions(const json::ScheduleText &text,
                                             const ReadOrders &read) {
  const Problem &window = read.problem;
  if (window.iterations == 1)
    return {};
  for (int32_t stage = 0; stage < window.numStages(); ++stage)
    if (window.policyOf(stage).backward == BackwardWeights::Committed)
      return {};
  const auto versions =
      analyzeVersions(window, read.schedule,
                      simulate(window, read.schedule, /*keepTimes=*/true));
  return versions ? json::judgeVersionClaims(text, window, *versions)
                  : std::nullopt;
}

/// The orders of a document for the plan of `problem`. Figures that depend on
/// times are not checked: they may come from other costs.
Result<ReadOrders> readOrders(const json::Document &document,
                              const Problem &problem) {
  json::ScheduleText text{json::Value(document.text)};
  if (auto fault = text.readKeys())
    return faultIn(document, describe(*fault));
  if (std::optional<std::string> why = text.infeasible())
    return faultIn(document,
                   "the file states that no schedule exists: " + *why);
  Result<Problem> proved = problemOf(document, text, problem);
  if (!proved)
    return proved.fault();
  ReadOrders read{std::move(*proved), {}, text.clipsByNorm()};
  std::optional<json::TextFault> fault = text.checkClip(read.problem);
  if (!fault)
    fault = text.readRanks(read.problem, read.schedule);
  if (!fault)
    fault = text.readLinkOrders(read.problem, read.schedule);
  if (!fault)
    fault = text.readCopyOrders(read.problem, read.schedule);
  bool isOrdered = false;
  if (!fault)
    fault = text.readAccumulation(read.problem, read.schedule, isOrdered);
  if (fault)
    return faultIn(document, describe(*fault));
  if (std::optional<Fault> broken =
          checkSchedule(read.problem, read.schedule)) {
    const std::string what = document.where() + describe(*broken, read.problem);
    return json::TextFault(broken->rule == Rule::Memory ? FaultKind::TextOverCap
                                                        : FaultKind::Text,
                           what);
  }
  if (auto wrong = judgeVersions(text, read))
    return faultIn(document, describe(*wrong));
  return read;
}

/// Why foldSchedule() fails for orders that keep the rules.
std::string whyNotWritten(const ReadOrders &read) {
  if (read.problem.iterations > 1)
    if (auto found = findRepetition(read.schedule, read.problem.iterations,
                                    read.problem.microbatchesEach(),
                                    RepetitionEnd::Drained);
        !found)
      return describe(found.fault());
  return "the language has no op for an action";
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
    const json::Value value(document.text);
    if (auto fault = json::checkIsObject(value, "rondo-schedule"))
      return faultIn(document, describe(*fault));
    json::ScheduleText text{value};
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
  Result<ReadOrders> read = readOrders(source.document, problem);
  if (!read)
    return read.fault();
  // The reason is part of the fault.
  pipe::PlanOp plan = source.plan;
  ScopedDiagnosticHandler silent(plan.getContext(),
                                 [](Diagnostic &) { return success(); });
  FailureOr<pipe::ScheduleOp> op = importOrders(
      source.plan, read->problem, read->schedule, read->clipsByNorm);
  if (failed(op))
    return faultIn(source.document, whyNotWritten(*read));
  return *op;
}

FailureOr<pipe::ScheduleOp>
rondo::formats::importOrders(pipe::PlanOp plan, const Problem &problem,
                             const Schedule &schedule, bool clipsByNorm) {
  auto module = plan->getParentOfType<ModuleOp>();
  auto builder = OpBuilder::atBlockEnd(module.getBody());
  auto op = pipe::ScheduleOp::create(
      builder, plan.getLoc(),
      freeName(module, plan.getSymName().str() + "_schedule"),
      plan.getSymName(), pipe::FamilyAttr(), pipe::SearchAttr(),
      pipe::FoundAttr(), pipe::versionsOf(builder, problem),
      pipe::GathersAttr(),
      /*claims=*/pipe::ClaimsAttr(), /*order=*/mlir::DenseI32ArrayAttr(),
      checkAccumulation(problem, schedule) ? pipe::Accumulate::ScheduleOrder
                                           : pipe::Accumulate::IndexOrder,
      pipe::Norm::Global);
  if (clipsByNorm)
    op.setClip(pipe::Clip::Global);
  if (failed(pipe::foldSchedule(schedule, op))) {
    op.erase();
    return failure();
  }
  return op;
}
