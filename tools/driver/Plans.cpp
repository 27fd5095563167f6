//===- Plans.cpp - Reads files as problems --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Plans.h"

#include "dialect/Bridge.h"
#include "formats/json/ProblemReader.h"
#include "formats/json/ProblemWriter.h"
#include "passes/Passes.h"
#include "plans/PlanFigures.h"
#include "schedule/bounds/Shortfall.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/MeasuredCosts.h"
#include "tools/driver/Report.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"

namespace rondo::driver {

int readPlans(ModuleFile &file, const std::string &path,
              const std::string &costsPath, std::vector<Problem> &problems,
              std::vector<PlanFigures> &figures) {
  if (failed(file.read(path)))
    return Failure;
  mlir::ModuleOp module = file.module();
  if (module.getOps<pipe::PlanOp>().empty())
    return reportError(path + ": contains no pipe.plan");
  if (failed(file.run([](mlir::OpPassManager &passes) {
        passes.addPass(pipe::createResolveStages());
        passes.addPass(pipe::createVerifyPartitioned());
      })))
    return file.exitCode();
  if (!costsPath.empty() && !applyCosts(module, costsPath))
    return Failure;
  for (pipe::PlanOp plan : module.getOps<pipe::PlanOp>()) {
    mlir::FailureOr<Problem> problem = pipe::buildProblem(plan);
    if (failed(problem))
      return Failure;
    problems.push_back(std::move(*problem));
    figures.push_back(pipe::figuresOf(plan));
  }
  return Success;
}

int readProblems(const std::string &path, std::vector<Problem> &problems) {
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> contents = readFile(path);
  if (!contents)
    return reportError(llvm::toString(contents.takeError()));
  llvm::Expected<json::ProblemFile> file =
      json::readProblems(path, (*contents)->getBuffer());
  if (!file) {
    const std::string fault = llvm::toString(file.takeError());
    if (int code = checkFileKind(path, (*contents)->getBuffer(),
                                 {formats::FileKind::Problem}))
      return code;
    int code = reportFault(path, fault);
    llvm::StringRef name = path;
    if (!name.ends_with(".json") && !name.ends_with(".jsonl"))
      reportNote("a file has either plans (.mlir) or problems (.json, or "
                 ".jsonl with one per line)");
    return code;
  }
  problems = std::move(file->problems);
  return Success;
}

int reportErrorOf(const Problem &problem, ModuleFile &file,
                  const llvm::Twine &message,
                  const std::optional<Fault> &fault) {
  pipe::PlanOp plan;
  if (file.isRead())
    plan = file.module().lookupSymbol<pipe::PlanOp>(problem.name);
  if (!plan)
    return reportError(problem.name + ": " + message);
  llvm::outs().flush();
  mlir::InFlightDiagnostic error = plan.emitError() << message;
  if (fault && isShortfall(*fault))
    error.attachNote(plan.lookupCluster().getDevices()[fault->rank]->getLoc())
        << "rank " << fault->rank << " is this device";
  return Failure;
}

int reportNoSchedule(const Problem &problem, ModuleFile &file,
                     llvm::ArrayRef<std::string> reasons) {
  constexpr size_t maxShown = 4;
  std::string text = "no schedule: ";
  text += llvm::join(reasons.take_front(maxShown), "; ");
  if (reasons.size() > maxShown)
    text += "; " + std::to_string(reasons.size() - maxShown) + " more";
  const std::string command = problem.iterations > 1
                                  ? " --iterations " +
                                        std::to_string(problem.iterations) +
                                        " --policy pipedream"
                                  : "";
  return reportErrorOf(problem, file,
                       text + "; `rondo search FILE" + command +
                           "` searches for an order of any stages");
}

llvm::Error writeProblems(llvm::StringRef path,
                          llvm::ArrayRef<Problem> problems) {
  return writeFile(path, [&](llvm::raw_ostream &os) -> llvm::Error {
    for (const Problem &problem : problems) {
      json::writeProblem(os, problem);
      os << "\n";
    }
    return llvm::Error::success();
  });
}

} // namespace rondo::driver
