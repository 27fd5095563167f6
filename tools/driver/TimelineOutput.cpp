//===- TimelineOutput.cpp - The schedules that a file and options name ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/TimelineOutput.h"

#include "dialect/Bridge.h"
#include "modules/ProgramFigures.h"
#include "passes/Pipelines.h"
#include "planning/JudgedSchedule.h"
#include "reports/Figures.h"
#include "schedule/order/Repeating.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Exchange.h"
#include "tools/driver/Files.h"
#include "tools/driver/OffloadText.h"
#include "tools/driver/Report.h"
#include "tools/driver/Session.h"
#include "tools/driver/Terminal.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace rondo::driver {

void TimelineOutput::add(const std::string &title, const Schedule &schedule,
                         const Simulation &simulation) {
  if (!asProgram || !schedule.hasCounts()) {
    panels.push_back({title, problem, layOut(problem, schedule, simulation)});
    return;
  }
  const Schedule single = withSingleBackwards(schedule);
  panels.push_back(
      {title, problem,
       layOut(problem, single, simulate(problem, single, /*keepTimes=*/true))});
}

Error TimelineOutput::add(const std::string &title, const Schedule &schedule) {
  Simulation simulation;
  if (std::optional<Fault> fault =
          checkAndSimulate(problem, schedule, simulation, /*keepTimes=*/true))
    return createStringError(inconvertibleErrorCode(),
                             title + ": " + describe(*fault, problem));
  add(title, schedule, simulation);
  return Error::success();
}

Error TimelineOutput::addFamily(const std::string &text) {
  auto choice = parseFamily(text);
  if (!choice)
    return createStringError(inconvertibleErrorCode(),
                             describe(choice.fault()));
  const JudgedSchedule candidate =
      evaluate(*choice, problem, /*keepTimes=*/true);
  if (!candidate.schedule)
    return createStringError(inconvertibleErrorCode(),
                             text + ": " + candidate.reason);
  add(candidate.name, *candidate.schedule, candidate.simulation);
  return Error::success();
}

namespace {

/// The place of the plan or problem that --name names; the first without it.
template <typename Items, typename NameOf>
std::optional<size_t> findNamed(const Items &items, const std::string &name,
                                NameOf nameOf) {
  for (auto [number, item] : enumerate(items))
    if (name.empty() || nameOf(item) == name)
      return number;
  return std::nullopt;
}

int addFamilies(const Arguments &arguments, TimelineOutput &pictured) {
  for (const std::string &text : arguments.all("family"))
    if (Error error = pictured.addFamily(text))
      return reportError(toString(std::move(error)));
  return Success;
}

/// The schedules of a rondo-schedule file that are for the problem.
int addScheduleFile(const std::string &path, TimelineOutput &pictured) {
  std::vector<FileSchedule> schedules;
  if (int code = readSchedulesFor(pictured.problem, path, schedules))
    return code;
  for (const FileSchedule &of : schedules)
    if (Error error = pictured.add(of.name, of.schedule))
      return reportError(of.where + toString(std::move(error)));
  return Success;
}

int readProblem(const Arguments &arguments, const std::string &path,
                const WindowRequest &window,
                std::optional<TimelineOutput> &pictured) {
  Session session;
  session.mayBeUneven = true;
  if (int code = session.load(path))
    return code;
  const std::vector<Problem> &problems = session.problems;
  if (int code = applyWindow(window, session))
    return code;
  const std::string name = arguments.text("name");
  const std::optional<size_t> number = findNamed(
      problems, name, [](const Problem &problem) { return problem.name; });
  if (!number)
    return reportError(path + ": has no problem '" + name + "'");
  pictured.emplace(problems[*number], window.asProgram);
  if (!arguments.has("schedules") && !arguments.has("family"))
    return reportUsage("a problem has no schedule; give --schedules FILE or "
                       "--family NAME");
  if (arguments.has("schedules"))
    if (int code = addScheduleFile(arguments.text("schedules"), *pictured))
      return code;
  return addFamilies(arguments, *pictured);
}

/// A picture is of one plan: says which others with schedules there are.
void noteOtherPlans(const std::string &path, pipe::PlanOp plan, StringRef name,
                    ArrayRef<pipe::ScheduleOp> schedules) {
  SetVector<StringRef> others;
  for (pipe::ScheduleOp schedule : schedules)
    if (pipe::PlanOp other = schedule.lookupPlan(); other != plan)
      others.insert(other.getSymName());
  if (name.empty() && !others.empty())
    reportNote(path + ": these are the schedules of plan @" +
               plan.getSymName() + "; --name shows those of @" +
               join(others, ", @"));
}

int readModule(const Arguments &arguments, const std::string &path,
               const WindowRequest &window, StringRef preferred,
               std::optional<TimelineOutput> &pictured) {
  Session session;
  session.mayBeUneven = true;
  if (int code = session.load(path, arguments.text("costs")))
    return code;
  mlir::ModuleOp module = session.module();
  const std::vector<Problem> &problems = session.problems;
  if (int code = applyWindow(window, session))
    return code;
  SmallVector<pipe::PlanOp> plans(module.getOps<pipe::PlanOp>());
  const std::string named = arguments.text("name");
  StringRef name = named;
  name.consume_front("@");
  std::optional<size_t> number = findNamed(
      plans, name.str(), [](pipe::PlanOp plan) { return plan.getSymName(); });
  if (!number)
    return reportError(path + ": has no pipe.plan @" + name);
  const std::string wanted = arguments.text("schedule");
  SmallVector<pipe::ScheduleOp, 0> chosen;
  if (arguments.has("schedule")) {
    if (hasEmptyName(wanted))
      return reportUsage("--schedule has an empty name");
    if (chosen = findSchedules(module, wanted, path); chosen.empty())
      return Failure;
  } else {
    append_range(chosen, module.getOps<pipe::ScheduleOp>());
    auto isOther = [&](pipe::ScheduleOp op) {
      return op.getSymName() != preferred;
    };
    if (!all_of(chosen, isOther))
      erase_if(chosen, isOther);
  }
  if (name.empty() && !chosen.empty())
    number = find(plans, chosen.front().lookupPlan()) - plans.begin();
  pipe::PlanOp plan = plans[*number];
  noteOtherPlans(path, plan, name, chosen);
  if (window.asProgram && plan.getTokensAttr())
    return session.reportErrorOf(
        problems[*number],
        "its program finds a schedule for each batch, so a trace has another "
        "one than this file: compare two traces of it");
  if (!window.isSingle)
    noteOverlaps(chosen, problems);
  if (failed(session.run([&](mlir::OpPassManager &passes) {
        pipe::buildOrderPipeline(passes, session.control());
      })))
    return session.exitCode();
  pictured.emplace(problems[*number], window.asProgram);
  for (pipe::ScheduleOp op : chosen) {
    if (op.lookupPlan() != plan)
      continue;
    mlir::FailureOr<Problem> own = pipe::withPoliciesOf(op, pictured->problem);
    if (failed(own))
      return Failure;
    mlir::FailureOr<pipe::ExpandedSchedule> expanded =
        pipe::expandSchedule(op, *own);
    if (failed(expanded) || failed(pipe::familyText(op)))
      return Failure;
    Simulation simulation;
    if (auto fault = checkAndSimulate(*own, expanded->schedule, simulation,
                                      /*keepTimes=*/true)) {
      (void)pipe::emitFault(*fault, *expanded, *own, op);
      return Failure;
    }
    pictured->add(pipe::titleOf(op), expanded->schedule, simulation);
  }
  if (int code = addFamilies(arguments, *pictured))
    return code;
  // Without copies nothing leaves, though it might.
  for (timeline::Panel &panel : pictured->panels)
    if (any_of(panel.timeline.tasks, [](const TimelineTask &task) {
          return task.lane != Lane::Compute;
        }))
      panel.notes = whatLeaves(plan);
  if (pictured->panels.empty())
    return reportError(path + ": plan @" + plan.getSymName() +
                       " has no schedule; --family NAME adds one");
  return Success;
}

} // namespace

int readPictured(const Arguments &arguments, const std::string &path,
                 const WindowRequest &window, StringRef preferred,
                 std::optional<TimelineOutput> &pictured) {
  const bool isModule = isModuleFile(path);
  for (const char *option : {"schedule", "costs"})
    if (!isModule && arguments.has(option))
      return reportUsage(Twine("--") + option + " needs a .mlir file");
  if (isModule && arguments.has("schedules"))
    return reportUsage("--schedules is for a rondo-problem; a .mlir file has "
                       "schedules of its own");
  return isModule ? readModule(arguments, path, window, preferred, pictured)
                  : readProblem(arguments, path, window, pictured);
}

} // namespace rondo::driver
