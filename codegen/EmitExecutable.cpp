//===- EmitExecutable.cpp - Programs as the C++ of an executable ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/EmitExecutable.h"

#include "codegen/BatchLimits.h"
#include "codegen/EmitFunctions.h"
#include "codegen/EmitTables.h"
#include "codegen/Predict.h"
#include "plans/Layers.h"
#include "plans/PlanFigures.h"
#include "plans/ProgramValue.h"
#include "plans/Threads.h"
#include "runtime/model/layer_kinds.h"

using namespace mlir;

namespace rondo::codegen {

static_assert(int(pipe::ProgramKind::Sequential) ==
                      int(runtime::ProgramKind::Sequential) &&
                  int(pipe::ProgramKind::Pipeline) ==
                      int(runtime::ProgramKind::Pipeline) &&
                  int(pipe::ProgramKind::Evaluation) ==
                      int(runtime::ProgramKind::Evaluation),
              "the runtime's programs are the dialect's programs, in the same "
              "order");

namespace {

/// A schedule of the executable, and its plan.
struct Member {
  explicit Member(pipe::ScheduleOp schedule)
      : schedule(schedule), plan(schedule.lookupPlan()) {}

  const Problem &problem() const { return checked->problem(); }

  pipe::ScheduleOp schedule;
  pipe::PlanOp plan;
  /// At most one of each kind.
  SmallVector<pipe::ProgramOp, 3> ops;
  const pipe::CheckedSchedule *checked = nullptr;
  const PlanFigures *figures = nullptr;
  /// Index into Emitter::sizes.
  int32_t sizes = 0;
  /// Index into Emitter::uneven; -1: micro-batches are equal.
  int32_t uneven = -1;
};

/// A program, expanded, with its text in the tables.
struct EmittedProgram {
  pipe::ProgramOp op;
  /// Index into Emitter::members.
  size_t member = 0;
  const pipe::ProgramValue *value = nullptr;
  ProgramText text;
};

class Emitter {
public:
  Emitter(ModuleOp module, const ExecutableToEmit &executable,
          AnalysisManager analyses)
      : module(module), analyses(analyses), executable(executable),
        forEach(pipe::onThreadsOf(module.getContext())) {
    for (pipe::ScheduleOp schedule : executable.schedules)
      members.emplace_back(schedule);
  }

  /// Nothing is written if it fails.
  LogicalResult run(llvm::raw_ostream &os);

private:
  void describeSizes();
  void describeUneven(Member &member);
  LogicalResult findPrograms(Member &member);
  LogicalResult describePrograms(Member &member);
  bool isThere(const EmittedProgram &emitted) const;
  LogicalResult expandAll();
  void nameSpaces();
  LogicalResult describeOverlap(Member &member, pipe::ProgramOp program,
                                ProgramText &text);
  void emitProgram(llvm::raw_ostream &os, EmittedProgram &emitted);
  bool isOnGpus() const;
  std::string backend() const;
  std::vector<std::string> extras() const;

  ModuleOp module;
  AnalysisManager analyses;
  const ExecutableToEmit &executable;
  const ForEach forEach;
  std::vector<Member> members;
  /// Named as in the first plan.
  std::vector<StageText> stages;
  std::vector<SizesText> sizes;
  /// One entry per plan whose micro-batches differ.
  std::vector<UnevenText> uneven;
  std::vector<EmittedProgram> programs;
};

/// Sets the weights that tasks read if iterations overlap.
LogicalResult Emitter::describeOverlap(Member &member, pipe::ProgramOp program,
                                       ProgramText &text) {
  OverlapText overlap;
  overlap.delays = member.figures->delays;
  if (overlap.delays.size() == 0)
    return failure();
  // As the program has it: a schedule may name several iterations that are
  // alike.
  program.walk([&](pipe::RepeatOp repeat) {
    overlap.iterationsEach = static_cast<int32_t>(repeat.getStep());
  });
  for (const Replica &replica : member.problem().replicas)
    overlap.policies.push_back(member.problem().policyOf(replica.stage));
  text.overlap = std::move(overlap);
  return success();
}

/// All schedules with the same micro-batches share the evaluation and, if they
/// add gradients in the same order, the reference.
bool Emitter::isThere(const EmittedProgram &emitted) const {
  return emitted.text.kind != runtime::ProgramKind::Pipeline &&
         llvm::any_of(programs, [&](const EmittedProgram &other) {
           return other.text.kind == emitted.text.kind &&
                  other.text.microbatches == emitted.text.microbatches &&
                  other.text.sizes == emitted.text.sizes &&
                  other.text.uneven == emitted.text.uneven &&
                  other.text.sumOrder == emitted.text.sumOrder;
         });
}

LogicalResult Emitter::findPrograms(Member &member) {
  for (pipe::ProgramOp op : module.getOps<pipe::ProgramOp>()) {
    if (op.lookupSchedule() != member.schedule)
      continue;
    for (pipe::ProgramOp other : member.ops)
      if (other.getKind() == op.getKind())
        return op.emitError()
                   .append(
                       "schedule @", member.schedule.getSymName(), " has two ",
                       pipe::stringifyProgramKind(op.getKind()), " programs")
                   .attachNote(other.getLoc())
               << "this is the other";
    member.ops.push_back(op);
  }
  if (member.ops.empty())
    return member.schedule.emitError()
           << "schedule has no program: lower it before emitting code";
  return success();
}

/// Empty: by index.
static std::vector<int32_t> sumOrderOf(pipe::ScheduleOp schedule) {
  const auto order = schedule.getOrder();
  if (!order || llvm::is_sorted(*order))
    return {};
  return {order->begin(), order->end()};
}

LogicalResult Emitter::describePrograms(Member &member) {
  for (pipe::ProgramOp op : member.ops) {
    EmittedProgram emitted;
    emitted.op = op;
    emitted.member = &member - members.data();
    const bool isPipeline = op.getKind() == pipe::ProgramKind::Pipeline;
    emitted.text.name = (isPipeline ? member.schedule.getSymName()
                                    : pipe::stringifyProgramKind(op.getKind()))
                            .str();
    emitted.text.kind = static_cast<runtime::ProgramKind>(op.getKind());
    emitted.text.microbatches = member.problem().microbatchesEach();
    emitted.text.sizes = member.sizes;
    emitted.text.samples = sizes[member.sizes].samples;
    emitted.text.uneven = member.uneven;
    if (emitted.text.kind != runtime::ProgramKind::Evaluation)
      emitted.text.sumOrder = sumOrderOf(member.schedule);
    emitted.text.accumulatesInIndexOrder =
        !isPipeline || member.schedule.accumulatesInStatedOrder();
    if (isThere(emitted))
      continue;
    if (!op.getArenaAttr())
      return op.emitError() << "program has no arena: run pipe-plan-memory "
                               "before emitting code";
    if (isPipeline && member.schedule.overlaps() &&
        failed(describeOverlap(member, op, emitted.text)))
      return failure();
    programs.push_back(std::move(emitted));
  }
  return success();
}

/// Programs compute on one device a rank.
static LogicalResult checkDevices(pipe::PlanOp plan) {
  for (pipe::DeviceOp device : plan.lookupCluster().getDevices())
    if (pipe::GroupAttr group = device.getGroupAttr())
      return device.emitError()
             << "device @" << device.getSymName() << " is a group of "
             << group.getNumDevices()
             << " devices: what they do inside a rank is a cost, so a program "
                "cannot be made; `rondo simulate`, `search`, `show` and "
                "`export` take the plan";
  return success();
}

/// Bodies of custom layers that take rows of documents are for CPUs.
static LogicalResult checkUneven(pipe::ScheduleOp schedule, pipe::PlanOp plan) {
  auto refuse = [&](const Twine &why) {
    InFlightDiagnostic error = schedule.emitError()
                               << "the micro-batches of plan @"
                               << plan.getSymName() << " " << why;
    error.attachNote(plan.getLoc())
        << "plan @" << plan.getSymName() << " is here";
    return error;
  };
  if ((plan.getDocumentsAttr() || plan.getTokensAttr()) &&
      plan.getTargetKind() != pipe::Target::Cpu)
    for (pipe::LayerOp layer : plan.lookupModel().getLayers())
      if (layer.getCustomAttr())
        return refuse("differ, which custom layers like @" +
                      layer.getSymName() +
                      " cannot do on GPUs yet: compile it with --target=cpu");
  return success();
}

LogicalResult Emitter::expandAll() {
  for (Member &member : members) {
    if (failed(checkDevices(member.plan)) || failed(findPrograms(member)))
      return failure();
    member.checked =
        &analyses.getChildAnalysis<pipe::CheckedSchedule>(member.schedule);
    if (!member.checked->isReadable())
      return failure();
    if (member.checked->fault())
      return member.checked->emitFault();
    if (member.plan.isUneven() &&
        failed(checkUneven(member.schedule, member.plan)))
      return failure();
    if (member.schedule.getOrder() && executable.isAdaptive)
      return member.schedule.emitError()
             << "schedule @" << member.schedule.getSymName()
             << " lists the order of its sums in accumulate([...]), and an "
                "adaptive executable finds schedules that add by index: "
                "compile it without --adaptive";
    member.figures =
        &analyses.getChildAnalysis<pipe::ScheduleFigures>(member.schedule)
             .figures();
  }
  describeSizes();
  for (Member &member : members)
    if (failed(describePrograms(member)))
      return failure();
  std::vector<AnalysisManager> ofPrograms;
  for (EmittedProgram &emitted : programs)
    ofPrograms.push_back(analyses.nest(emitted.op));
  fromTheLast(forEach, programs.size(), [&](size_t i) {
    EmittedProgram &emitted = programs[i];
    emitted.value = &ofPrograms[i].getAnalysis<pipe::ProgramValue>();
    if (emitted.value->isReadable() &&
        emitted.op.getKind() == pipe::ProgramKind::Pipeline)
      predict(*members[emitted.member].checked, emitted.value->program(),
              emitted.text);
  });
  for (EmittedProgram &emitted : programs) {
    if (!emitted.value->isReadable())
      return failure();
    emitted.text.program = &emitted.value->program();
    for (const Replica &replica : emitted.value->executing().replicas)
      emitted.text.rankOfReplica.push_back(replica.rank);
  }
  // The reference is program 0.
  llvm::stable_sort(programs,
                    [](const EmittedProgram &a, const EmittedProgram &b) {
                      return a.text.kind < b.text.kind;
                    });
  for (size_t i = 1; i < programs.size(); ++i)
    if (programs[i].text.program->arenaBytes !=
            programs[0].text.program->arenaBytes ||
        programs[i].text.program->hostArenaBytes !=
            programs[0].text.program->hostArenaBytes)
      return programs[i]
                 .op
                 .emitError("programs of one executable have different "
                            "arenas")
                 .attachNote(programs[0].op.getLoc())
             << "this is the other";
  nameSpaces();
  return success();
}

/// `pipeline`, then `pipeline_1` for the next of that kind. Of several,
/// references are named after their micro-batches and the order of their sums:
/// `sequential 8x4`, `sequential 4x1 in order 2,0,3,1`.
void Emitter::nameSpaces() {
  int count[3] = {};
  for (const EmittedProgram &emitted : programs)
    ++count[static_cast<int>(emitted.text.kind)];
  int next[3] = {};
  for (EmittedProgram &emitted : programs) {
    ProgramText &text = emitted.text;
    const int kind = static_cast<int>(text.kind);
    text.space = pipe::stringifyProgramKind(emitted.op.getKind()).str();
    if (next[kind] > 0)
      text.space += "_" + std::to_string(next[kind]);
    ++next[kind];
    if (text.kind != runtime::ProgramKind::Pipeline && count[kind] > 1)
      text.name += " " + std::to_string(text.microbatches) + "x" +
                   std::to_string(text.samples);
    if (text.kind != runtime::ProgramKind::Pipeline && count[kind] > 1 &&
        !text.sumOrder.empty())
      text.name +=
          " in order " + llvm::join(llvm::map_range(text.sumOrder,
                                                    [](int32_t i) {
                                                      return std::to_string(i);
                                                    }),
                                    ",");
  }
}

void Emitter::describeSizes() {
  std::vector<ReplicaBuffers> control =
      pipe::replicaBuffers(members.front().plan);
  VersionMemory versions;
  for (Member &member : members) {
    control = withSharedControl(control, pipe::replicaBuffers(member.plan));
    versions = sharedVersions(versions, member.figures->versions);
  }
  pipe::PlanOp first = members.front().plan;
  for (pipe::StageOp stage : first.getStages())
    stages.push_back(
        {stage.getSymName().str(),
         static_cast<int32_t>(firstLayerOf(stage, first.lookupModel())),
         static_cast<int32_t>(stage.getLayers().size()),
         static_cast<int32_t>(stage.getMomentShards())});
  for (Member &member : members) {
    pipe::PlanOp plan = member.plan;
    SizesText own;
    own.samples = static_cast<int32_t>(plan.getSamplesOfMicrobatch());
    own.layers = pipe::describeLayers(plan);
    own.replicas = plan.getReplicas();
    own.buffers = withVersionMemory(
        withSharedControl(pipe::replicaBuffers(plan), control), versions);
    auto same = llvm::find_if(sizes, [&](const SizesText &other) {
      return other.samples == own.samples && other.buffers == own.buffers &&
             llvm::equal(other.replicas, own.replicas,
                         [](const Replica &a, const Replica &b) {
                           return a.samples == b.samples;
                         }) &&
             llvm::equal(
                 other.layers, own.layers,
                 [](const runtime::LayerDesc &a, const runtime::LayerDesc &b) {
                   return a.offloads == b.offloads;
                 });
    });
    member.sizes = static_cast<int32_t>(same - sizes.begin());
    if (same == sizes.end())
      sizes.push_back(std::move(own));
    if (!plan.isUneven())
      continue;
    const auto like = llvm::find_if(members, [&](const Member &other) {
      return other.plan == plan && other.uneven >= 0;
    });
    if (like != members.end())
      member.uneven = like->uneven;
    else
      describeUneven(member);
  }
}

/// Micro-batches with the same layers and buffers have one size.
void Emitter::describeUneven(Member &member) {
  pipe::PlanOp plan = member.plan;
  const SizesText base = sizes[member.sizes];
  const std::vector<std::vector<ReplicaBuffers>> buffers =
      pipe::buffersByMicrobatch(plan);
  member.uneven = static_cast<int32_t>(uneven.size());
  UnevenText &text = uneven.emplace_back();
  text.limits = batchLimitsOf(plan, member.problem());
  // The layers of each size, as text.
  std::vector<std::string> known;
  for (int64_t i = 0; i < int64_t(plan.getMicrobatches()); ++i) {
    SizesText own = base;
    own.layers = pipe::describeLayers(plan, i);
    if (!buffers.empty())
      own.buffers = buffers[i];
    const std::string tables = layerTable(own.layers, 0) + shareTable(own, 0);
    const auto same = llvm::find(known, tables);
    text.sizeOf.push_back(static_cast<int32_t>(same - known.begin()));
    if (same == known.end()) {
      known.push_back(tables);
      text.tables.push_back(static_cast<int32_t>(sizes.size()));
      sizes.push_back(std::move(own));
    }
    if (plan.hasDocuments())
      text.documents.push_back(plan.getDocumentsOf(i).vec());
  }
}

void Emitter::emitProgram(llvm::raw_ostream &os, EmittedProgram &emitted) {
  std::vector<RankCode> codes(emitted.value->program().order.numRanks());
  for (auto [r, code] : llvm::enumerate(codes))
    code.rank = r;
  const EdgeTable edges(emitted.value->executing());
  const SmallVector<pipe::RankOp, 0> ranks = emitted.op.getRanks();
  forEach(ranks.size(), [&](size_t i) {
    pipe::RankOp rank = ranks[i];
    codes[rank.getRank()] =
        readRank(rank, emitted.value->executing(), edges, [&](Operation *op) {
          return emitted.value->actions().lookup(op);
        });
  });

  os << "\nnamespace " << emitted.text.space << " {\n\n";
  std::vector<SharedFunction> functions = shareFunctions(std::move(codes));
  for (SharedFunction &function : functions) {
    if (emitted.text.space != "pipeline")
      function.name = emitted.text.space + "_" + function.name;
    emitFunction(os, function);
  }
  const Problem &problem = members[emitted.member].problem();
  os << programTables(emitted.text, problem, functions, forEach) << "\n"
     << "} // namespace " << emitted.text.space << "\n\n";
}

bool Emitter::isOnGpus() const {
  pipe::PlanOp plan = members.front().plan;
  return plan.getTargetKind() == pipe::Target::Cuda;
}

std::string Emitter::backend() const {
  if (!executable.backend.empty())
    return executable.backend.str();
  return isOnGpus() ? "cudaBackend" : "tcpBackend";
}

/// Names of the runtime's optional objects that the tables or a flag of the
/// command line can use.
std::vector<std::string> Emitter::extras() const {
  const std::vector<runtime::LayerDesc> &layers = sizes.front().layers;
  auto nameIf = [](bool isUsed, const char *object) -> std::string {
    return isUsed ? object : "";
  };
  auto isCustom = [](const runtime::LayerDesc &layer) {
    return layer.kind == runtime::LayerKind::Custom;
  };
  // Texts are continued in samples.
  const bool hasHead =
      uneven.empty() &&
      llvm::any_of(layers, [&](const runtime::LayerDesc &layer) {
        return !isCustom(layer) &&
               runtime::dataOf(layer) == runtime::LayerData::Targets;
      });
  const bool isAdaptive = executable.isAdaptive;
  const bool drawsDocuments = !uneven.empty() && uneven.front().limits;
  return {nameIf(isAdaptive, "scheduleSearch"),
          // It estimates with one time for each task of a stage.
          nameIf(isAdaptive || (members.size() > 1 && uneven.empty()),
                 "adaptiveRuns"),
          nameIf(isAdaptive || executable.imposesLinks, "linkEmulation"),
          nameIf(llvm::any_of(layers, isCustom), "bodyCheck"),
          nameIf(hasHead, "textGeneration"),
          nameIf(llvm::any_of(members,
                              [](const Member &member) {
                                return member.checked->order().hasCopies();
                              }),
                 isOnGpus() ? "activationCopiesOfGpus" : "activationCopies"),
          nameIf(drawsDocuments, "batchSearch"),
          nameIf(drawsDocuments, "batchRuns"),
          nameIf(llvm::any_of(layers,
                              [](const runtime::LayerDesc &layer) {
                                return layer.custom.numStreams > 0;
                              }),
                 "streamReading")};
}

LogicalResult Emitter::run(llvm::raw_ostream &os) {
  if (failed(expandAll()))
    return failure();
  // Printed as references, names have no line breaks.
  for (Member &member : members)
    os << "// Schedule "
       << FlatSymbolRefAttr::get(member.schedule.getSymNameAttr())
       << " of plan " << member.schedule.getPlanAttr()
       << ", written by rondo.\n";
  os << "\n#include \"runtime/rondo_runtime.h\"\n"
     << versionCheck() << "\n\n"
     << bodyDeclarations(sizes.front().layers)
     << "using namespace rondo::runtime;\n\nnamespace {\n\n";
  for (auto [number, each] : llvm::enumerate(sizes))
    os << layerTable(each.layers, number) << "\n"
       << shareTable(each, number) << "\n"
       << edgeTable(members.front().problem(), stages, each, number) << "\n";
  for (auto [number, each] : llvm::enumerate(uneven))
    os << unevenTable(each, !members.front().problem().edges.empty(), number)
       << "\n";
  os << stageTable(stages) << "\n"
     << replicaTable(members.front().problem().replicas) << "\n";
  for (EmittedProgram &emitted : programs)
    emitProgram(os, emitted);
  std::vector<ProgramText> texts;
  for (const EmittedProgram &emitted : programs)
    texts.push_back(emitted.text);
  os << "} // namespace\n\n"
     << executableText({executable.name.str(), sizes.front().layers.size(),
                        stages.size(), backend(), extras(),
                        pipe::momentsOf(members.front().plan)},
                       texts, members.front().problem())
     << "\n\n";
  return success();
}

} // namespace

LogicalResult emitExecutable(ModuleOp module,
                             const ExecutableToEmit &executable,
                             AnalysisManager analyses, llvm::raw_ostream &os) {
  return Emitter(module, executable, analyses).run(os);
}

} // namespace rondo::codegen
