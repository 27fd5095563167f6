//===- Versions.cpp - rondo versions --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"
#include "passes/Passes.h"
#include "planning/JudgedSchedule.h"
#include "plans/PlanFigures.h"
#include "plans/VersionedWindow.h"
#include "reports/Figures.h"
#include "reports/Versioned.h"
#include "schedule/simulate/NormDelay.h"
#include "schedule/simulate/VersionAnalysis.h"
#include "schedule/transforms/Iterations.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Exchange.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"
#include "tools/driver/Session.h"
#include "tools/driver/Windows.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#define OPTIONS "tools/driver/Versions.inc"
#include "tools/driver/OptionTable.inc"

using namespace llvm;

namespace rondo::driver {

namespace {

void printPolicies(raw_ostream &os) {
  for (const NamedPolicy &named : namedPolicies)
    os << "  " << left_justify(named.name, 13) << named.summary << "\n";
}

/// The sums that the steps of a file's schedule wait for, in the window that
/// proves it; fails if it breaks a rule.
mlir::FailureOr<VersionedSums> versionedSums(pipe::ScheduleOp schedule) {
  mlir::FailureOr<pipe::VersionedWindow> window = pipe::analyzeWindow(schedule);
  if (failed(window))
    return mlir::failure();
  if (!schedule.computesNorm())
    pipe::timeOrder(*window);
  VersionedSums result;
  result.normDelay = window->normDelay;
  result.clipsByNorm = schedule.computesNorm();
  const PlanFigures figures = pipe::figuresOf(schedule);
  if (!figures.declaresWeights)
    return result;
  auto waits = sumWaits(figures, window->problem, window->order, window->times);
  if (!waits)
    return mlir::failure();
  result.waits = std::move(*waits);
  result.sums = figures.collectives;
  return result;
}

class Printer {
public:
  Printer(bool asJson, bool withTasks) : asJson(asJson), withTasks(withTasks) {}

  /// Judges a candidate; one that breaks a rule is reported.
  void add(const Problem &problem, const JudgedSchedule &candidate,
           std::optional<VersionedSums> sums = std::nullopt) {
    const std::string name = problem.name + ": " + candidate.name + ": ";
    if (!candidate.schedule) {
      refuse(candidate.name, name, candidate.reason);
      return;
    }
    auto versions =
        analyzeVersions(problem, *candidate.schedule, candidate.simulation);
    if (!versions) {
      refuse(candidate.name, name, describe(versions.fault(), problem));
      return;
    }
    if (!sums) {
      sums.emplace();
      sums->clipsByNorm = candidate.clipsByNorm;
      if (problem.iterations > 1)
        sums->normDelay =
            normDelay(problem, *candidate.schedule, candidate.simulation);
    }
    const Versioned of{candidate.name,       problem,
                       *candidate.schedule,  candidate.simulation,
                       *std::move(versions), std::move(*sums)};
    if (asJson)
      writeJson(outs(), of);
    else
      writeText(outs(), of, withTasks);
    ++numAnalyzed;
  }

  /// Reports at the plan of the first problem that nothing has been analyzed.
  int finish(Session &session) const {
    if (numAnalyzed > 0)
      return Success;
    // Notes, or lines on a terminal, have just shown the reasons.
    const bool isShown = asJson || outs().is_displayed();
    return session.reportNoSchedule(session.problems.front(),
                                    isShown ? ArrayRef<std::string>()
                                            : ArrayRef(refusals));
  }

private:
  void refuse(const std::string &name, const std::string &inFile,
              const std::string &why) {
    refusals.push_back(refusalText(name, why));
    if (asJson)
      reportNote(inFile + why);
    else
      outs() << "\n" << name << ": no schedule: " << why << "\n";
  }

  const bool asJson, withTasks;
  size_t numAnalyzed = 0;
  /// Names and reasons.
  std::vector<std::string> refusals;
};

/// The schedules of a .mlir file whose iterations overlap, each in a window of
/// `iterations`, or of as many as it takes to settle. Sets `found` if there are
/// any.
int addSchedulesOf(Session &session, int64_t iterations, bool asJson,
                   Printer &printer, bool &found) {
  if (failed(session.run([](mlir::OpPassManager &passes) {
        passes.addPass(pipe::createGenerateSchedules());
      })))
    return session.exitCode();
  for (pipe::ScheduleOp op : session.module().getOps<pipe::ScheduleOp>()) {
    if (!op.overlaps() || op.isBodyEmpty())
      continue;
    found = true;
    mlir::FailureOr<int64_t> underWay = pipe::iterationsUnderWay(op);
    mlir::FailureOr<Problem> plan = pipe::buildProblem(op.lookupPlan());
    if (failed(underWay) || failed(plan))
      return Failure;
    auto window =
        overIterations(*plan, iterations > 0 ? iterations : 2 * *underWay + 4);
    if (!window)
      return reportError(describe(window.fault()));
    mlir::FailureOr<Problem> problem = pipe::withPoliciesOf(op, *window);
    if (failed(problem))
      return Failure;
    mlir::FailureOr<pipe::ExpandedSchedule> expanded =
        pipe::expandSchedule(op, *problem);
    mlir::FailureOr<std::string> family = pipe::familyText(op);
    if (failed(expanded) || failed(family))
      return Failure;
    mlir::FailureOr<VersionedSums> sums = versionedSums(op);
    if (failed(sums))
      sums = VersionedSums();
    if (!asJson)
      outs() << titleOf(*problem) << "\n";
    const std::string name =
        "@" + op.getSymName().str() + (family->empty() ? "" : " " + *family);
    printer.add(*problem,
                evaluate(name, *family, *problem, std::move(expanded->schedule),
                         /*keepTimes=*/true),
                std::move(*sums));
  }
  return Success;
}

int run(const Arguments &arguments) {
  const std::string path = arguments.file();
  if (path.empty())
    return reportUsage("versions needs a file: rondo-problem or .mlir");
  if (arguments.has("json") && arguments.has("tasks"))
    return reportUsage("--json has the versions of all tasks; --tasks is for "
                       "the table");
  std::vector<FamilyChoice> choices;
  for (const std::string &text : arguments.all("family")) {
    auto choice = parseFamily(text);
    if (!choice)
      return reportUsage(describe(choice.fault()));
    choices.push_back(*choice);
  }
  Session session;
  if (int code = session.load(path, arguments.text("costs")))
    return code;
  const std::vector<Problem> &problems = session.problems;
  const WindowRequest request = windowRequest(arguments);
  if (int code = applyWindow(request, session))
    return code;
  Printer printer(arguments.has("json"), arguments.has("tasks"));
  if (choices.empty() && !arguments.has("schedules")) {
    bool found = false;
    if (isModuleFile(path) && request.policy.empty() && !request.inSlots)
      if (int code = addSchedulesOf(session, request.iterations,
                                    arguments.has("json"), printer, found))
        return code;
    if (found)
      return printer.finish(session);
    choices = overlappedFamilies();
  }
  for (const Problem &problem : problems) {
    if (problem.iterations == 1)
      reportNote(problem.name + ": one iteration reads one version; "
                                "--iterations N shows N of them");
    if (!arguments.has("json"))
      outs() << titleOf(problem) << "\n";
    if (arguments.has("schedules")) {
      std::vector<FileSchedule> schedules;
      if (int code =
              readSchedulesFor(problem, arguments.text("schedules"), schedules))
        return code;
      for (FileSchedule &of : schedules) {
        JudgedSchedule candidate =
            evaluate(of.name, of.name, problem, std::move(of.schedule),
                     /*keepTimes=*/true);
        candidate.clipsByNorm = of.clipsByNorm;
        printer.add(problem, candidate);
      }
    }
    for (const FamilyChoice &choice : choices)
      printer.add(withPolicyOf(choice, problem),
                  evaluate(choice, problem, /*keepTimes=*/true));
  }
  return printer.finish(session);
}

} // namespace

const Command &versionsCommand() {
  static const Command command{
      100,
      "versions",
      "say which weights every task reads",
      optionTable(),
      {"FILE [--iterations N] [--family NAME]... [OPTIONS]",
       "FILE --schedules FILE [OPTIONS]"},
      {"rondo versions problem.json --iterations 8 --family pipedream",
       "rondo versions examples/gpt-small.mlir --iterations 12 --tasks"},
      "policies",
      printPolicies,
      run};
  return command;
}

} // namespace rondo::driver
