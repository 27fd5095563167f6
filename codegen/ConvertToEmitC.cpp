//===- ConvertToEmitC.cpp - Programs as one C++ executable ----------------===//

#include "codegen/EmitFunctions.h"
#include "codegen/EmitTables.h"
#include "codegen/Passes.h"
#include "passes/Layers.h"
#include "passes/Phases.h"

#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

using namespace mlir;

namespace rondo::codegen {
#define GEN_PASS_DEF_CONVERTTOEMITC
#define GEN_PASS_REGISTRATION
#include "codegen/Passes.h.inc"

static_assert(int(pipe::ProgramKind::Sequential) ==
                      int(runtime::ProgramKind::Sequential) &&
                  int(pipe::ProgramKind::Pipeline) ==
                      int(runtime::ProgramKind::Pipeline) &&
                  int(pipe::ProgramKind::Evaluation) ==
                      int(runtime::ProgramKind::Evaluation),
              "the runtime's programs are the dialect's programs, in the same "
              "order");

namespace {

/// A program, expanded, with what its table says of it.
struct EmittedProgram {
  pipe::ProgramOp op;
  Program program;
  ProgramText text;
};

class Emitter {
public:
  /// `backend` is empty where the target names it.
  Emitter(ModuleOp module, pipe::ScheduleOp schedule, StringRef backend)
      : module(module), schedule(schedule), plan(schedule.lookupPlan()),
        backend(backend), builder(module.getBodyRegion()),
        loc(schedule.getLoc()) {
    if (backend.empty() && plan.getTargetKind() == pipe::Target::Cuda)
      this->backend = "cudaBackend";
  }

  LogicalResult run();

private:
  LogicalResult expandPrograms();
  LogicalResult predict(ProgramText &text);
  void text(const Twine &lines) {
    emitc::VerbatimOp::create(builder, loc, builder.getStringAttr(lines),
                              ValueRange());
  }
  std::vector<StageText> describeStages();
  void emitProgram(EmittedProgram &emitted);

  ModuleOp module;
  pipe::ScheduleOp schedule;
  pipe::PlanOp plan;
  StringRef backend;
  OpBuilder builder;
  Location loc;
  Problem problem;
  std::vector<EmittedProgram> programs;
};

/// Predicted figures, from the one simulator.
LogicalResult Emitter::predict(ProgramText &text) {
  FailureOr<pipe::ExpandedSchedule> expanded =
      pipe::expandSchedule(schedule, problem);
  if (failed(expanded))
    return failure();
  Simulation simulation = simulate(problem, expanded->schedule);
  text.predictedNs = simulation.makespanNs;
  for (int64_t ns : simulation.rankWorkNs)
    text.predictedWorkNs += ns;
  text.peakMemoryBytes = simulation.peakBytes;
  return success();
}

LogicalResult Emitter::expandPrograms() {
  FailureOr<Problem> built = pipe::buildProblem(plan);
  if (failed(built))
    return failure();
  problem = std::move(*built);
  for (pipe::ProgramOp op : module.getOps<pipe::ProgramOp>()) {
    if (op.lookupSchedule() != schedule)
      continue;
    EmittedProgram emitted;
    emitted.op = op;
    Problem executing = pipe::executingProblem(op.getKind(), problem);
    FailureOr<pipe::ExpandedProgram> expanded =
        pipe::expandProgram(op, executing);
    if (failed(expanded))
      return failure();
    if (!op.getArenaAttr())
      return op.emitError() << "program has no arena: run pipe-plan-memory "
                               "before emitting code";
    emitted.program = std::move(expanded->program);
    emitted.text.name = pipe::stringifyProgramKind(op.getKind()).str();
    emitted.text.kind = static_cast<runtime::ProgramKind>(op.getKind());
    emitted.text.microbatches = problem.microbatches;
    for (const Home &home : executing.homes)
      emitted.text.rankOfHome.push_back(home.rank);
    if (op.getKind() == pipe::ProgramKind::Pipeline &&
        failed(predict(emitted.text)))
      return failure();
    programs.push_back(std::move(emitted));
  }
  // The reference is program 0.
  llvm::stable_sort(programs,
                    [](const EmittedProgram &a, const EmittedProgram &b) {
                      return a.text.kind < b.text.kind;
                    });
  for (size_t i = 1; i < programs.size(); ++i)
    if (programs[i - 1].text.kind == programs[i].text.kind) {
      InFlightDiagnostic error = programs[i].op.emitError()
                                 << "schedule @" << schedule.getSymName()
                                 << " has two " << programs[i].text.name
                                 << " programs";
      error.attachNote(programs[i - 1].op.getLoc()) << "this is the other";
      return error;
    }
  if (programs.empty())
    return schedule.emitError()
           << "schedule has no program: lower it before emitting code";
  for (EmittedProgram &emitted : programs)
    emitted.text.program = &emitted.program;
  return success();
}

std::vector<StageText> Emitter::describeStages() {
  std::vector<StageText> stages;
  std::vector<StageBuffers> buffers = pipe::stageBuffers(plan);
  for (auto [s, stage] : llvm::enumerate(plan.getStages()))
    stages.push_back(
        {stage.getSymName().str(),
         static_cast<int32_t>(firstLayerOf(stage, plan.lookupModel())),
         static_cast<int32_t>(stage.getLayers().size()), buffers[s]});
  return stages;
}

void Emitter::emitProgram(EmittedProgram &emitted) {
  llvm::StringMap<int64_t> numbers;
  for (auto [s, stage] : llvm::enumerate(plan.getStages()))
    numbers[stage.getSymName()] = s;
  std::vector<RankCode> codes(emitted.program.order.numRanks());
  for (auto [r, code] : llvm::enumerate(codes))
    code.rank = r;
  for (pipe::RankOp rank : emitted.op.getRanks())
    codes[rank.getRank()] =
        readRank(rank, [&](StringRef name) { return numbers.lookup(name); });

  text("\nnamespace " + emitted.text.name + " {\n");
  std::vector<SharedFunction> functions = shareFunctions(std::move(codes));
  for (SharedFunction &function : functions) {
    // Functions are symbols of the module, whatever namespace they stand in.
    if (emitted.op.getKind() != pipe::ProgramKind::Pipeline)
      function.name = emitted.text.name + "_" + function.name;
    emitFunction(builder, loc, function);
  }
  text(programTables(emitted.text, problem, functions));
  text("} // namespace " + emitted.text.name + "\n");
}

LogicalResult Emitter::run() {
  if (failed(expandPrograms()))
    return failure();
  builder.setInsertionPointToEnd(module.getBody());
  // Printed as references, names have no line ends.
  std::string heading;
  llvm::raw_string_ostream(heading)
      << "// Schedule " << FlatSymbolRefAttr::get(schedule.getSymNameAttr())
      << " of plan " << schedule.getPlanAttr() << ", written by rondo.\n";
  text(heading);
  emitc::IncludeOp::create(builder, loc, "runtime/rondo_runtime.h",
                           /*is_standard_include=*/false);
  std::vector<runtime::LayerDesc> layers = pipe::describeLayers(plan);
  text("\n" + bodyDeclarations(layers) +
       "using namespace rondo::runtime;\n\nnamespace {\n");
  std::vector<StageText> stages = describeStages();
  text(layerTable(layers));
  text(stageTable(stages));
  text(homeTable(problem.homes));
  text(edgeTable(problem, pipe::stageBuffers(plan)));
  for (EmittedProgram &emitted : programs)
    emitProgram(emitted);
  text("} // namespace\n");
  std::vector<ProgramText> texts;
  for (const EmittedProgram &emitted : programs)
    texts.push_back(emitted.text);
  text(executableText(schedule.getSymName(), layers.size(), stages.size(),
                      problem.homes.size(), problem.edges.size(),
                      programs.front().program.arenaBytes, texts,
                      schedule.accumulatesInIndexOrder(), backend));
  return success();
}

struct ConvertToEmitC : impl::ConvertToEmitCBase<ConvertToEmitC> {
  using ConvertToEmitCBase::ConvertToEmitCBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<Operation *> sources;
    for (Operation &op : *module.getBody())
      sources.push_back(&op);
    FailureOr<pipe::ScheduleOp> chosen = choose(module);
    if (failed(chosen) || failed(Emitter(module, *chosen, backend).run()))
      return signalPassFailure();
    for (Operation *op : llvm::reverse(sources))
      op->erase();
  }

  FailureOr<pipe::ScheduleOp> choose(ModuleOp module) {
    for (pipe::ScheduleOp op : module.getOps<pipe::ScheduleOp>())
      if (schedule.empty() || op.getSymName() == schedule)
        return op;
    if (schedule.empty())
      return module.emitError() << "no pipe.schedule to emit";
    return module.emitError() << "no pipe.schedule @" << schedule.getValue();
  }
};

} // namespace

void registerPasses() { registerRondoCodegenPasses(); }

} // namespace rondo::codegen
