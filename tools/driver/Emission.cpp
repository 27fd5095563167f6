//===- Emission.cpp - From a file to an executable's C++ ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Emission.h"

#include "codegen/Passes.h"
#include "dialect/Bridge.h"
#include "modules/ProgramFigures.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"
#include "plans/AdaptiveSchedules.h"
#include "reports/Figures.h"
#include "schedule/bounds/Shortfall.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/HostArena.h"
#include "tools/driver/Report.h"
#include "tools/driver/Session.h"
#include "tools/driver/Terminal.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"

#include <functional>
#include <utility>

using namespace llvm;

namespace rondo::driver {

EmissionRequest emissionRequest(const Arguments &arguments) {
  EmissionRequest request;
  request.input = arguments.file();
  request.scheduleName = arguments.text("schedule");
  request.scheduleFile = arguments.text("schedule-file");
  request.costsPaths = arguments.all("costs");
  // The table accepts no other words.
  request.target = pipe::symbolizeTarget(arguments.text("target"));
  request.dtype = pipe::symbolizeDType(arguments.text("dtype"));
  request.optimizer = pipe::symbolizeOptimizer(arguments.text("optimizer"));
  request.needsMpi = arguments.text("transport") == "mpi";
  request.isAdaptive = arguments.has("adaptive");
  request.imposesLinks = arguments.has("impose-links");
  return request;
}

/// Follows an error that a file has no plan.
static void reportNoPlan(StringRef path) {
  reportNote("a plan says which layers a rank holds; `rondo search " + path +
             " --placement auto` finds one for a model on a cluster");
}

/// Keeps only the wanted schedules and their programs in the module. False,
/// with an error reported, if there are none.
bool Emission::chooseSchedule() {
  mlir::ModuleOp module = file.module();
  SmallVector<pipe::ScheduleOp> schedules(module.getOps<pipe::ScheduleOp>());
  if (schedules.empty()) {
    reportError(request.input + ": contains no pipe.schedule");
    auto plans = module.getOps<pipe::PlanOp>();
    if (plans.empty())
      reportNoPlan(request.input);
    else
      reportNote("write `pipe.schedule @x of @" +
                 (*plans.begin()).getSymName() +
                 " family<\"1f1b\">`, or give an order with --schedule-file; "
                 "`rondo search " +
                 request.input + "` finds one");
    return false;
  }
  SmallVector<pipe::ScheduleOp, 0> chosen;
  auto executables = module.getOps<pipe::ExecutableOp>();
  if (!request.scheduleName.empty())
    chosen = findSchedules(module, request.scheduleName, request.input);
  else if (!executables.empty())
    chosen = (*executables.begin()).lookupSchedules();
  else
    chosen = {schedules.front()};
  if (chosen.empty())
    return false;
  pipe::AdaptiveAttr adaptive;
  for (pipe::ExecutableOp executable : executables)
    if (executable.lookupSchedules() == chosen)
      adaptive = executable.getAdaptiveAttr();
  if (request.isAdaptive && !adaptive)
    adaptive = pipe::defaultAdaptive(module.getContext());
  if (request.isAdaptive && chosen.size() > 1) {
    reportUsage("--adaptive adds schedules to one, but there are " +
                Twine(chosen.size()) + "; name one with --schedule");
    return false;
  }
  keepOnly(chosen);
  isAdaptive = bool(adaptive);
  chosenTarget = chosen.front().lookupPlan().getTargetKind();
  chosenType = chosen.front().lookupPlan().getDType();
  return succeeded(shareState(chosen, adaptive));
}

void Emission::keepOnly(ArrayRef<pipe::ScheduleOp> chosen) {
  mlir::ModuleOp module = file.module();
  for (pipe::ExecutableOp executable :
       make_early_inc_range(module.getOps<pipe::ExecutableOp>()))
    executable.erase();
  for (pipe::ProgramOp program :
       make_early_inc_range(module.getOps<pipe::ProgramOp>()))
    if (!is_contained(chosen, program.lookupSchedule()))
      program.erase();
  for (pipe::ScheduleOp schedule :
       make_early_inc_range(module.getOps<pipe::ScheduleOp>()))
    if (!is_contained(chosen, schedule))
      schedule.erase();
}

/// Writes the executable of several schedules. Its verifier reports what their
/// plans do not have in common.
mlir::LogicalResult Emission::shareState(ArrayRef<pipe::ScheduleOp> chosen,
                                         pipe::AdaptiveAttr adaptive) {
  mlir::ModuleOp module = file.module();
  name = pipe::ScheduleOp(chosen.front()).getSymName().str();
  if (chosen.size() == 1 && !adaptive)
    return mlir::success();
  SmallVector<mlir::Attribute> names;
  for (pipe::ScheduleOp schedule : chosen) {
    names.push_back(mlir::FlatSymbolRefAttr::get(schedule.getSymNameAttr()));
    if (schedule != chosen.front())
      name += "_" + schedule.getSymName().str();
  }
  while (module.lookupSymbol(name))
    name += "_executable";
  auto builder = mlir::OpBuilder::atBlockEnd(module.getBody());
  auto executable = pipe::ExecutableOp::create(
      builder, pipe::ScheduleOp(chosen.front()).getLoc(),
      builder.getStringAttr(name), builder.getArrayAttr(names), adaptive);
  mlir::SymbolTableCollection tables;
  return executable.verifySymbolUses(tables);
}

/// Finds the schedule of --schedule-file and its plan. The schedule is read
/// once the plan's costs are known.
bool Emission::chooseScheduleFile() {
  if (file.module().getOps<pipe::PlanOp>().empty()) {
    reportError(request.input + ": contains no pipe.plan");
    reportNoPlan(request.input);
    return false;
  }
  Expected<std::unique_ptr<MemoryBuffer>> contents =
      readFile(request.scheduleFile);
  if (!contents) {
    reportError(toString(contents.takeError()));
    return false;
  }
  scheduleText = std::move(*contents);
  Result<formats::ScheduleSource> found = formats::findSchedule(
      file.module(), request.scheduleFile, scheduleText->getBuffer());
  if (!found) {
    reportUnread(request.scheduleFile, scheduleText->getBuffer(),
                 {formats::FileKind::Schedule}, describe(found.fault()));
    return false;
  }
  source = *found;
  keepOnly({});
  chosenTarget = source.plan.getTargetKind();
  chosenType = source.plan.getDType();
  return true;
}

int Emission::importSchedule() {
  mlir::FailureOr<Problem> problem = pipe::buildProblem(source.plan);
  if (failed(problem))
    return Failure;
  Result<pipe::ScheduleOp> op = formats::importSchedule(source, *problem);
  if (!op) {
    const bool noOrderFits =
        op.fault().kind == FaultKind::TextOverCap && findShortfall(*problem);
    reportFault(request.scheduleFile, describe(op.fault()));
    return noOrderFits ? Infeasible : Failure;
  }
  name = op->getSymName().str();
  if (!op->accumulatesInStatedOrder())
    reportNote(request.scheduleFile +
               ": a stage runs its micro-batches out of index order, so sums "
               "of gradients differ from the sequential run in their last "
               "bits");
  return Success;
}

pipe::DType defaultDType(pipe::Target target) {
  return target == pipe::Target::Cuda ? pipe::DType::Bf16 : pipe::DType::Fp32;
}

int checkDType(pipe::Target target, pipe::DType dtype) {
  if (target != pipe::Target::Cpu || dtype == pipe::DType::Fp32)
    return Success;
  return reportUsage("target cpu takes fp32 only, not " +
                     stringifyDType(dtype) +
                     ": leave out --dtype, or add --target=cuda");
}

int Emission::chooseOptimizer() {
  if (!request.optimizer)
    return Success;
  pipe::SetOptimizerOptions options;
  options.optimizer = *request.optimizer;
  if (failed(file.run([&](mlir::OpPassManager &passes) {
        passes.addPass(pipe::createSetOptimizer(options));
      })))
    return file.exitCode();
  return Success;
}

int Emission::chooseTarget() {
  if (!request.target && !request.dtype)
    return Success;
  if (request.target) {
    chosenTarget = *request.target;
    chosenType = defaultDType(chosenTarget);
  }
  if (request.dtype)
    chosenType = *request.dtype;
  if (int code = checkDType(chosenTarget, chosenType))
    return code;
  pipe::SetTargetOptions options;
  options.target = chosenTarget;
  options.dtype = chosenType;
  if (failed(file.run([&](mlir::OpPassManager &passes) {
        passes.addPass(pipe::createSetTarget(options));
      })))
    return file.exitCode();
  return Success;
}

int Emission::read() {
  if (!request.scheduleName.empty() && !request.scheduleFile.empty())
    return reportUsage("--schedule and --schedule-file cannot be combined");
  if (!request.scheduleName.empty() && hasEmptyName(request.scheduleName))
    return reportUsage("--schedule is '" + request.scheduleName +
                       "', which has an empty name; it takes NAME[,NAME...]");
  if (failed(file.read(request.input)))
    return Failure;
  // Before the plans of several schedules are compared.
  if (int code = chooseOptimizer())
    return code;
  if (!(request.scheduleFile.empty() ? chooseSchedule() : chooseScheduleFile()))
    return Failure;
  if (int code = chooseTarget())
    return code;
  if (needsMpi() && chosenTarget != pipe::Target::Cpu)
    return reportUsage("--transport=mpi is for target cpu; GPUs use NCCL");
  return Success;
}

/// `4 ranks` for a schedule's cluster.
static std::string ranksOf(pipe::ScheduleOp schedule) {
  return countOf(schedule.lookupPlan().lookupCluster().getDevices().size(),
                 "rank");
}

/// The bodies that custom layers name, each once.
static std::vector<std::string> bodiesOf(pipe::ModelOp model) {
  std::vector<std::string> bodies;
  for (pipe::LayerOp layer : model.getLayers())
    if (pipe::CustomAttr custom = layer.getCustomAttr())
      if (!is_contained(bodies, custom.getBody()))
        bodies.push_back(custom.getBody().str());
  return bodies;
}

int Emission::resolve() {
  if (failed(file.run([](mlir::OpPassManager &passes) {
        passes.addPass(pipe::createResolveStages());
      })))
    return file.exitCode();
  pipe::PlanOp plan =
      request.scheduleFile.empty()
          ? (*module().getOps<pipe::ScheduleOp>().begin()).lookupPlan()
          : source.plan;
  if (!request.costsPaths.empty() &&
      !applyCosts(plan, request.costsPaths, /*areSizesTried=*/isAdaptive))
    return file.exitCode();
  if (!request.scheduleFile.empty())
    return importSchedule();
  return Success;
}

namespace {

/// Notes what the report says of the module, which emitting replaces, as soon
/// as passes have found it out.
class Notes : public mlir::PassInstrumentation {
public:
  Notes(std::function<void()> onScheduled, std::function<void()> onPlanned)
      : onScheduled(std::move(onScheduled)), onPlanned(std::move(onPlanned)) {}

  void runAfterPass(mlir::Pass *pass, mlir::Operation *) override {
    if (pass->getArgument() == "pipe-verify-scheduled")
      onScheduled();
    else if (pass->getArgument() == "pipe-plan-memory")
      onPlanned();
  }

private:
  const std::function<void()> onScheduled, onPlanned;
};

} // namespace

void Emission::noteSchedules() {
  SmallVector<pipe::ScheduleOp> schedules(
      file.module().getOps<pipe::ScheduleOp>());
  figures = ranksOf(schedules.front()) + ", ";
  figures += schedules.size() == 1 ? pipe::titleOf(schedules.front())
                                   : countOf(schedules.size(), "schedule");
  pipe::PlanOp plan = schedules.front().lookupPlan();
  bodyNames = bodiesOf(plan.lookupModel());
  drawsDocuments = bool(plan.getTokensAttr());
}

void Emission::noteArenas() {
  // The same for all programs of a schedule.
  auto programs = file.module().getOps<pipe::ProgramOp>();
  moreFigures = pipe::arenasOfSchedules(file.module());
  if (programs.empty())
    return;
  pipe::PlanOp plan = (*programs.begin()).lookupPlan();
  if (auto arena = (*programs.begin()).getArena())
    figures += ", arena " + fullestArena(*arena, pipe::deviceBytes(plan));
  figures += hostArenaText(*programs.begin());
  moreFigures += pipe::besideArenas(plan);
}

int Emission::runTo(Phase last) {
  if (int code = resolve())
    return code;
  const bool hasPrograms = !file.module().getOps<pipe::ProgramOp>().empty();
  std::optional<Interrupt> interrupt(std::in_place);
  context()->enableMultithreading();
  auto build = [&](mlir::PassManager &passes) {
    passes.addInstrumentation(std::make_unique<Notes>(
        [&] {
          interrupt.reset();
          noteSchedules();
        },
        [&] { noteArenas(); }));
    pipe::buildSchedulePipeline(passes, file.control());
    if (last == Phase::Scheduled)
      return;
    // Programs of the file are kept, so errors are reported at their ops,
    // before memory is planned for those that have none.
    if (hasPrograms)
      passes.addPass(pipe::createVerifyLowered(file.control()));
    pipe::buildLowerPipeline(passes, file.control());
    if (last == Phase::Lowered)
      return;
    codegen::EmitCppOptions options;
    if (needsMpi())
      options.backend = "mpiBackend";
    options.imposesLinks = request.imposesLinks;
    passes.addPass(codegen::createEmitCpp(options, cpp));
  };
  return failed(file.run(build)) ? file.exitCode() : Success;
}

int Emission::schedule() { return runTo(Phase::Scheduled); }

int Emission::lower() { return runTo(Phase::Lowered); }

int Emission::emit() { return runTo(Phase::Emitted); }

int Emission::candidates(pipe::AdaptiveAttr adaptive,
                         std::optional<CandidateTable> &table) {
  if (int code = resolve())
    return code;
  Interrupt interrupt;
  if (failed(file.run([&](mlir::OpPassManager &passes) {
        passes.addPass(pipe::createVerifyPartitioned());
        pipe::buildOrderPipeline(passes, file.control());
        passes.addPass(pipe::createVerifyScheduled(file.control()));
      })))
    return file.exitCode();
  pipe::ExecutableOp executable =
      *module().getOps<pipe::ExecutableOp>().begin();
  executable.setAdaptiveAttr(adaptive);
  mlir::FailureOr<CandidateTable> found =
      pipe::chooseCandidates(executable, interrupt.flag());
  if (failed(found) || failed(file.run([](mlir::OpPassManager &passes) {
        passes.addPass(pipe::createVerifyScheduled());
      })))
    return Failure;
  table = std::move(*found);
  return Success;
}

void Emission::reportWritten(StringRef path) const {
  std::string text = figures + "\n" + moreFigures;
  driver::reportWritten(path, StringRef(text).drop_back());
}

} // namespace rondo::driver
