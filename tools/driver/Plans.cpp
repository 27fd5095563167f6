//===- Plans.cpp - Reads files as problems --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Plans.h"

#include "dialect/Bridge.h"
#include "formats/json/ProblemReader.h"
#include "formats/json/ProblemWriter.h"
#include "passes/Passes.h"
#include "passes/PlanFigures.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/MeasuredCosts.h"
#include "tools/driver/Report.h"

#include "mlir/Pass/PassManager.h"

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
