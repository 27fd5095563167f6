//===- Verify.cpp - rondo verify ------------------------------------------===//

#include "codegen/json/Documents.h"
#include "codegen/json/Value.h"
#include "codegen/json/Verdict.h"
#include "dialect/Pipe.h"
#include "passes/Pipelines.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Interrupt.h"
#include "tools/driver/ModuleFile.h"
#include "tools/driver/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rondo::driver {

namespace {

cl::SubCommand verify("verify", "say whether schedules are legal");

cl::opt<std::string> modulePath(cl::Positional, cl::sub(verify),
                                cl::cat(category), cl::desc("FILE"));
cl::opt<std::string> problemsPath("problems", cl::sub(verify),
                                  cl::cat(category), cl::value_desc("FILE"),
                                  cl::desc("problems (rondo-problem/1)"));
cl::opt<std::string> schedulesPath("schedules", cl::sub(verify),
                                   cl::cat(category), cl::value_desc("FILE"),
                                   cl::desc("schedules (rondo-schedule/1)"));
cl::opt<bool> asJson("json", cl::sub(verify), cl::cat(category),
                     cl::desc("one JSON object for each schedule"));

void printVerdict(const json::Verdict &verdict) {
  if (!asJson) {
    // A name may hold a line end; each verdict is one line.
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

int verifySchedules() {
  Expected<std::unique_ptr<MemoryBuffer>> problemText = readFile(problemsPath);
  if (!problemText)
    return reportError(toString(problemText.takeError()));
  Expected<std::unique_ptr<MemoryBuffer>> scheduleText =
      readFile(schedulesPath);
  if (!scheduleText)
    return reportError(toString(scheduleText.takeError()));
  Expected<json::ProblemFile> problems =
      json::readProblems(problemsPath, (*problemText)->getBuffer());
  if (!problems)
    return reportError(problemsPath + ": " + toString(problems.takeError()));
  std::vector<json::Document> documents =
      json::splitDocuments(schedulesPath, (*scheduleText)->getBuffer());
  if (documents.empty() || documents.front().text.trim().empty())
    return reportError(schedulesPath +
                       ": no schedule in it; expected rondo-schedule/1");
  bool allLegal = true;
  for (const json::Document &document : documents) {
    json::Verdict verdict = json::judge(document.text, *problems);
    if (verdict.rule == "format")
      verdict.message = document.where() + verdict.message;
    allLegal &= verdict.legal;
    printVerdict(verdict);
  }
  return allLegal ? Success : Failure;
}

/// A line for each schedule of a file whose schedules and programs are all
/// legal; else the errors, with their places.
int verifyModule() {
  ModuleFile file;
  if (failed(file.read(modulePath)))
    return Failure;
  if (file.module().getOps<pipe::PlanOp>().empty())
    return reportError(modulePath + ": no pipe.plan in it");
  Interrupt interrupt;
  if (failed(file.run([&](mlir::OpPassManager &passes) {
        pipe::buildVerifyPipeline(passes, interrupt.flag());
      })))
    return file.exitCode();
  for (auto plan : file.module().getOps<pipe::PlanOp>())
    outs() << "plan @" << plan.getSymName() << ": sound\n";
  for (auto schedule : file.module().getOps<pipe::ScheduleOp>())
    outs() << "schedule @" << schedule.getSymName() << ": legal\n";
  for (auto program : file.module().getOps<pipe::ProgramOp>())
    outs() << "program @" << program.getSymName() << ": legal\n";
  return Interrupt::exitCode(Success);
}

int run() {
  if (!modulePath.empty()) {
    if (!problemsPath.empty() || !schedulesPath.empty() || asJson)
      return reportUsage("verify takes a .mlir file alone");
    return verifyModule();
  }
  if (problemsPath.empty() || schedulesPath.empty())
    return reportUsage(
        "verify needs a .mlir file, or --problems FILE and --schedules FILE");
  return verifySchedules();
}

} // namespace

const Command &verifyCommand() {
  static const Command command = {
      &verify,
      "FILE.mlir\n       rondo verify --problems FILE --schedules FILE "
      "[--json]",
      "  rondo verify examples/gpt-small.mlir\n"
      "  rondo verify --problems problems.jsonl --schedules schedules.jsonl\n",
      nullptr, run};
  return command;
}

} // namespace rondo::driver
