//===- Plans.cpp - The plans of a .mlir file as problems ------------------===//

#include "tools/driver/Plans.h"

#include "dialect/Bridge.h"
#include "passes/Passes.h"
#include "tools/driver/Commands.h"
#include "tools/driver/MeasuredCosts.h"
#include "tools/driver/Report.h"

#include "mlir/Pass/PassManager.h"

namespace rondo::driver {

int readPlans(ModuleFile &file, const std::string &path,
              const std::string &costsPath, std::vector<Problem> &problems) {
  if (failed(file.read(path)))
    return Failure;
  mlir::ModuleOp module = file.module();
  if (module.getOps<pipe::PlanOp>().empty())
    return reportError(path + ": no pipe.plan in it");
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
  }
  return Success;
}

} // namespace rondo::driver
