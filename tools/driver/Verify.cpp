//===- Verify.cpp - rondo verify ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"
#include "formats/json/Documents.h"
#include "formats/json/Value.h"
#include "formats/json/Verdict.h"
#include "lowering/Lowering.h"
#include "modules/SinglePlan.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"
#include "plans/PlanFigures.h"
#include "reports/Figures.h"
#include "schedule/bounds/Shortfall.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/HostArena.h"
#include "tools/driver/OffloadText.h"
#include "tools/driver/Report.h"
#include "tools/driver/Session.h"
#include "tools/driver/Terminal.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

#define OPTIONS "tools/driver/Verify.inc"
#include "tools/driver/OptionTable.inc"

using namespace llvm;

namespace rondo::driver {

namespace {

void printVerdict(const json::Verdict &verdict, bool asJson) {
  if (!asJson) {
    // A name may contain a newline; each verdict is one line.
    bool isPlain = llvm::none_of(verdict.problem,
                                 [](unsigned char c) { return c < 0x20; });
    outs() << (isPlain ? verdict.problem : json::quoted(verdict.problem))
           << ": ";
    if (verdict.legal)
      outs() << "legal" << (verdict.message.empty() ? "" : ", ")
             << verdict.message << "\n";
    else
      outs() << verdict.rule << ": " << verdict.message << "\n";
    return;
  }
  llvm::json::OStream os(outs());
  auto attribute = [&](StringRef key, const std::string &text) {
    if (text.empty())
      os.attribute(key, nullptr);
    else
      os.attribute(key, text);
  };
  os.object([&] {
    os.attribute("problem", verdict.problem);
    os.attribute("legal", verdict.legal);
    attribute("rule", verdict.rule);
    attribute("message", verdict.message);
  });
  outs() << "\n";
}

int verifySchedules(const std::string &problemsPath,
                    const std::string &schedulesPath, bool asJson) {
  const std::unique_ptr<MemoryBuffer> problemText = readOrReport(problemsPath);
  if (!problemText)
    return Failure;
  const std::unique_ptr<MemoryBuffer> scheduleText =
      readOrReport(schedulesPath);
  if (!scheduleText)
    return Failure;
  Result<json::ProblemFile> problems =
      json::readProblems(problemsPath, problemText->getBuffer());
  if (!problems)
    return reportUnread(problemsPath, problemText->getBuffer(),
                        {formats::FileKind::Problem},
                        describe(problems.fault()));
  std::vector<json::Document> documents =
      json::splitDocuments(schedulesPath, scheduleText->getBuffer());
  if (documents.empty() || documents.front().text.trim().empty())
    return reportError(schedulesPath +
                       ": contains no schedule; expected rondo-schedule");
  // A schedule that is not one of Rondo has no rule to break.
  if (int code = checkFileKind(schedulesPath, scheduleText->getBuffer(),
                               {formats::FileKind::Schedule}))
    return code;
  bool allLegal = true;
  for (const json::Document &document : documents) {
    json::Verdict verdict = json::judge(document.text, *problems);
    if (verdict.rule == "format")
      verdict.message = document.where() + verdict.message;
    allLegal &= verdict.legal;
    printVerdict(verdict, asJson);
  }
  return allLegal ? Success : Failure;
}

/// All arenas of few ranks, the fullest of many.
std::string arenaLine(ArrayRef<int64_t> arenas, ArrayRef<int64_t> devices) {
  return arenas.size() <= 8 ? "arena by rank " + arenasByRank(arenas, devices)
                            : "fullest arena " + fullestArena(arenas, devices);
}

/// Reports that a program does not fit, where, and what would help.
void reportArena(pipe::ScheduleOp op, const ProvedPrograms &proved,
                 const Problem &problem) {
  pipe::PlanOp plan = op.lookupPlan();
  mlir::InFlightDiagnostic error = op.emitError()
                                   << describeFault(proved, problem);
  error.attachNote(
      plan.lookupCluster().getDevices()[proved.fault->rank].getLoc())
      << "this is the device; the arena holds " << proved.use;
  const std::string options = pipe::optionsForOtherPlans(plan);
  error.attachNote(plan.getLoc())
      << "one micro-batch at a time takes "
      << leastActivationBytes(problem)[proved.fault->rank]
      << " bytes of activations there; "
      << (pipe::figuresOf(plan).declaresWeights
              ? "`rondo search FILE` searches for an order that fits" +
                    (options.empty() ? "" : ", with" + options + " for a plan")
              : "an order with fewer micro-batches in flight takes less");
}

/// Proves of a legal schedule what compiling would. Appends a line that says
/// so, or what was not checked; fails if a program breaks a rule.
mlir::LogicalResult proveSchedule(pipe::ScheduleOp op, std::string &said) {
  mlir::FailureOr<Problem> problem = pipe::buildProblem(op);
  if (failed(problem))
    return mlir::failure();
  mlir::FailureOr<pipe::ExpandedSchedule> expanded =
      pipe::expandSchedule(op, *problem);
  if (failed(expanded))
    return mlir::failure();
  const int64_t tasks = expanded->schedule.numActions();
  if (tasks > pipe::maxProvedTasks) {
    said +=
        "  not checked: messages, and memory other than activations, because " +
        std::to_string(tasks) + " tasks are more than " +
        std::to_string(pipe::maxProvedTasks) +
        "; `rondo compile` checks them\n";
    return mlir::success();
  }
  const PlanFigures figures = pipe::figuresOf(op);
  const ProvedPrograms proved =
      provePrograms(figures, *problem, expanded->schedule);
  if (!proved.fault) {
    said += "  its programs: legal, " +
            arenaLine(proved.arenaBytes, figures.devices) + "\n";
    for (size_t rank = 0; rank < proved.placedBytes.size(); ++rank)
      said += "  rank " + std::to_string(rank) + ": buffers that differ hold " +
              std::to_string(proved.heldBytes[rank]) + " bytes at once, in " +
              std::to_string(proved.placedBytes[rank]) + "\n";
    if (pipe::TokensAttr tokens = op.lookupPlan().getTokensAttr())
      for (auto [rank, bytes] : llvm::enumerate(figures.roomBytes))
        said += "  rank " + std::to_string(rank) + ": the buffers of " +
                std::to_string(tokens.getInFlight()) +
                " tokens in flight have " + std::to_string(bytes) +
                " bytes, of which activations may hold " +
                std::to_string(problem->memoryCaps[rank]) + "\n";
    return mlir::success();
  }
  if (!proved.isOverCap()) {
    op.emitError() << describeFault(proved, *problem);
    return mlir::failure();
  }
  reportArena(op, proved, *problem);
  return mlir::failure();
}

/// If a search failed, no order has been judged yet: reports what is wrong with
/// those that were there before it.
void verifyOthers(Session &session) {
  SmallVector<pipe::ScheduleOp> unsearched;
  for (auto schedule : session.module().getOps<pipe::ScheduleOp>())
    if (schedule.getSearchAttr() && schedule.isBodyEmpty())
      unsearched.push_back(schedule);
  if (unsearched.empty() || Interrupt::happened())
    return;
  SmallVector<mlir::Operation *> users;
  for (mlir::Operation &op : *session.module().getBody())
    if (isa<pipe::ExecutableOp, pipe::ProgramOp>(op))
      users.push_back(&op);
  for (mlir::Operation *user : users)
    user->erase();
  for (pipe::ScheduleOp schedule : unsearched)
    schedule.erase();
  // Without a RunControl: the exit code is that of the failed search.
  (void)session.run([](mlir::OpPassManager &passes) {
    passes.addPass(pipe::createVerifyScheduled());
  });
}

/// Prints what is proved of each plan, schedule and program of a file if all
/// are legal, otherwise the errors with their places.
int verifyModule(const std::string &modulePath) {
  Session session;
  if (failed(session.read(modulePath)))
    return Failure;
  mlir::ModuleOp module = session.module();
  if (module.getOps<pipe::PlanOp>().empty())
    return reportError(modulePath + ": contains no pipe.plan");
  Interrupt interrupt;
  if (failed(session.run([&](mlir::OpPassManager &passes) {
        pipe::buildVerifyPipeline(passes, session.control());
      }))) {
    verifyOthers(session);
    return session.exitCode();
  }
  std::string said;
  bool areSound = true;
  for (auto plan : module.getOps<pipe::PlanOp>()) {
    said += ("plan @" + plan.getSymName() + ": sound\n").str();
    for (const std::string &line : whatLeaves(plan))
      said += "  " + line + "\n";
  }
  for (auto schedule : module.getOps<pipe::ScheduleOp>()) {
    said += ("schedule @" + schedule.getSymName() + ": legal\n").str();
    const bool isLowered =
        any_of(module.getOps<pipe::ProgramOp>(), [&](pipe::ProgramOp program) {
          return program.lookupSchedule() == schedule;
        });
    if (isLowered)
      continue;
    areSound &= succeeded(proveSchedule(schedule, said));
  }
  if (!areSound)
    return Failure;
  outs() << said;
  for (auto program : module.getOps<pipe::ProgramOp>()) {
    outs() << "program @" << program.getSymName() << ": legal";
    if (auto arena = program.getArena())
      outs() << ", "
             << arenaLine(*arena, pipe::deviceBytes(program.lookupPlan()));
    outs() << hostArenaText(program);
    outs() << "\n";
  }
  return Interrupt::exitCode(Success);
}

int run(const Arguments &arguments) {
  const std::string module = arguments.file();
  const std::string problems = arguments.text("problems");
  const std::string schedules = arguments.text("schedules");
  const bool asJson = arguments.has("json");
  if (!module.empty()) {
    if (!problems.empty() || !schedules.empty() || asJson)
      return reportUsage("verify takes no " +
                         Twine(!problems.empty()    ? "--problems"
                               : !schedules.empty() ? "--schedules"
                                                    : "--json") +
                         " with a file of plans, " + module);
    return verifyModule(module);
  }
  if (problems.empty() || schedules.empty())
    return reportUsage(
        "verify needs a .mlir file, or --problems FILE and --schedules FILE");
  return verifySchedules(problems, schedules, asJson);
}

} // namespace

const Command &verifyCommand() {
  static const Command command{
      110,
      "verify",
      "check whether schedules are legal",
      optionTable(),
      {"FILE.mlir", "--problems FILE --schedules FILE [--json]"},
      {"rondo verify examples/gpt-small.mlir",
       "rondo verify --problems problems.jsonl --schedules schedules.jsonl"},
      nullptr,
      nullptr,
      run};
  return command;
}

} // namespace rondo::driver
