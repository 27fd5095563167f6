//===- ImportProblem.cpp - rondo-problem to the language ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"
#include "formats/PlannedCosts.h"
#include "formats/PlannedProblem.h"
#include "formats/StageEdges.h"
#include "formats/json/ProblemReader.h"
#include "formats/json/Value.h"
#include "formats/ops/Translations.h"
#include "kinds/Counts.h"
#include "plans/Layers.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <tuple>

using namespace mlir;
using namespace rondo;

namespace {

/// Writes one problem at the builder's insertion point.
class Importer {
public:
  Importer(OpBuilder &builder, const Problem &problem)
      : builder(builder), context(builder.getContext()),
        loc(builder.getUnknownLoc()), problem(problem),
        byMicrobatch(problemsByMicrobatch(problem)) {}

  /// Why no plan can express this problem, found only once the plan is there;
  /// empty if the plan does.
  std::string write() {
    OpBuilder::InsertionGuard guard(builder);
    writeCluster();
    writeModel();
    writePlan();
    if (!hasWeights())
      return problem.replicas.areSharded()
                 ? "stages are sharded, but none has parameter_bytes above 0"
                 : "";
    if (failed(pipe::checkLayerSizes(plan.lookupModel())))
      return "its sizes are too large";
    return addState();
  }

private:
  StringAttr name(const Twine &text) { return builder.getStringAttr(text); }
  FlatSymbolRefAttr reference(const Twine &text) {
    return FlatSymbolRefAttr::get(name(text));
  }
  pipe::LinkAttr figures(const rondo::Link &link) {
    return pipe::LinkAttr::get(context, link.latencyNs, link.bytesPerUs);
  }
  /// Creates the body of an op and moves the insertion point there.
  void enter(Region &body) {
    builder.setInsertionPointToEnd(&body.emplaceBlock());
  }
  /// The value that the stage's layer states; 0 if the problem does not.
  int64_t weightBytesOf(int32_t stage) const;
  bool hasWeights() const;
  pipe::HostLinkAttr hostLinkAttr(const HostLink &link) const;
  pipe::DeviceAttr deviceAttr(int32_t rank, int64_t cap) const;
  void writeCluster();
  void writeModel();
  pipe::StageCostsAttr ownCosts(int32_t stage) const;
  pipe::ShardedAttr shardedAttr(int32_t stage) const;
  void writePlan();
  std::string addState();
  std::string whyOtherShards(const Problem &planned) const;

  OpBuilder &builder;
  MLIRContext *context;
  Location loc;
  const Problem &problem;
  const std::vector<Problem> byMicrobatch;
  pipe::ClusterOp cluster;
  pipe::PlanOp plan;
};

int64_t Importer::weightBytesOf(int32_t stage) const {
  if (!problem.weightBytes.empty())
    return problem.weightBytes[stage];
  // Zero unless the stage is sharded.
  return problem.cost(problem.replicas.numberOf(stage), ActionKind::Unshard)
      .acquireBytes;
}

bool Importer::hasWeights() const {
  int64_t bytes = 0;
  for (int32_t stage = 0; stage < problem.numStages(); ++stage)
    bytes = std::max(bytes, weightBytesOf(stage));
  return bytes > 0;
}

pipe::HostLinkAttr Importer::hostLinkAttr(const HostLink &link) const {
  return pipe::HostLinkAttr::get(context, link.latencyNs, link.bytesPerUs,
                                 link.isHalf ? pipe::Duplex::Half
                                             : pipe::Duplex::Full);
}

/// Null if nothing is known of the device.
pipe::DeviceAttr Importer::deviceAttr(int32_t rank, int64_t cap) const {
  const HostLink *link = problem.hostMemory.link(rank);
  const int64_t hostCap = problem.hostMemory.cap(rank);
  auto limit = [](int64_t bytes) {
    return bytes == noMemoryCap ? std::nullopt : std::optional(bytes);
  };
  if (cap == noMemoryCap && hostCap == noMemoryCap && !link)
    return {};
  return pipe::DeviceAttr::get(
      context, limit(cap), /*flops_per_us=*/0, /*peak_flops_per_us=*/0,
      link ? hostLinkAttr(*link) : pipe::HostLinkAttr(), limit(hostCap));
}

void Importer::writeCluster() {
  OpBuilder::InsertionGuard guard(builder);
  bool hasLink = problem.link.latencyNs != 0 || problem.link.bytesPerUs != 0;
  const ChannelModel &channels = problem.channels;
  const bool hasChannels =
      channels.protocol == Protocol::Eager || channels.receiveSlots > 0;
  cluster = pipe::ClusterOp::create(
      builder, loc, name(problem.name + "_cluster"),
      hasChannels ? pipe::ChannelsAttr::get(
                        context, static_cast<pipe::Protocol>(channels.protocol),
                        channels.receiveSlots)
                  : pipe::ChannelsAttr(),
      hasLink ? figures(problem.link) : pipe::LinkAttr());
  enter(cluster.getBody());
  for (auto [rank, cap] : llvm::enumerate(problem.memoryCaps))
    pipe::DeviceOp::create(builder, loc, name("d" + Twine(rank)),
                           deviceAttr(static_cast<int32_t>(rank), cap),
                           pipe::GroupAttr());
  for (const auto &[pair, link] : problem.links)
    pipe::LinkOp::create(builder, loc, reference("d" + Twine(pair.first)),
                         reference("d" + Twine(pair.second)), figures(link));
  for (int32_t nic = 0; nic < problem.nics.count(); ++nic) {
    SmallVector<Attribute> devices;
    for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
      if (problem.nics.ofRank[rank] == nic)
        devices.push_back(reference("d" + Twine(rank)));
    // A NIC without ranks carries nothing.
    if (devices.empty())
      continue;
    std::optional<int64_t> server;
    if (problem.nics.serverOf(nic) >= 0)
      server = problem.nics.serverOf(nic);
    pipe::NicOp::create(
        builder, loc, name("nic" + Twine(nic)), builder.getArrayAttr(devices),
        pipe::NicAttr::get(context, problem.nics.bytesPerUs[nic], server));
  }
  for (auto [number, link] : llvm::enumerate(problem.hostMemory.shared)) {
    SmallVector<Attribute> devices;
    for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
      if (problem.hostMemory.sharedLink(rank) == int32_t(number))
        devices.push_back(reference("d" + Twine(rank)));
    if (!devices.empty())
      pipe::HostLinkOp::create(builder, loc, builder.getArrayAttr(devices),
                               hostLinkAttr({0, link.bytesPerUs, link.isHalf}));
  }
}

void Importer::writeModel() {
  OpBuilder::InsertionGuard guard(builder);
  auto model =
      pipe::ModelOp::create(builder, loc, name(problem.name + "_model"),
                            pipe::ArchitectureAttrInterface(), IntegerAttr());
  enter(model.getBody());
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    std::vector<pipe::SyntheticCosts> all;
    for (const Problem &one : byMicrobatch) {
      const WholeCosts costs = wholeCosts(one, s);
      pipe::SyntheticCosts &figures = all.emplace_back();
      figures.forwardNs = costs.forwardNs;
      figures.inputGradNs = costs.inputGradNs;
      figures.weightGradNs = costs.weightGradNs;
      figures.activationBytes = costs.activationBytes;
      figures.inputGradFreesBytes = costs.freedBytes;
      figures.outputBytes = outputBytesOf(one)[s];
      figures.inputGradKeepsBytes = costs.keptBytes;
    }
    pipe::LayerOp::create(
        builder, loc, name("l" + Twine(s)),
        pipe::SyntheticAttr::get(context, all, weightBytesOf(s)),
        pipe::LayerCostsAttr());
  }
}

/// Null where they follow from the stage's layer, which has no step and keeps
/// its activations.
pipe::StageCostsAttr Importer::ownCosts(int32_t stage) const {
  const std::optional<StageCopies> copies = wholeCopies(problem, stage);
  if (wholeCosts(problem, stage).stepNs == 0 && !copies &&
      !problem.recomputes(problem.replicas.numberOf(stage)))
    return {};
  std::vector<pipe::StageCosts> all;
  for (const Problem &one : byMicrobatch) {
    const WholeCosts costs = wholeCosts(one, stage);
    const std::optional<StageCopies> own = wholeCopies(one, stage);
    all.push_back({costs.forwardNs, costs.inputGradNs, costs.weightGradNs,
                   costs.activationBytes, costs.freedBytes,
                   outputBytesOf(one)[stage], costs.stepNs, costs.recomputeNs,
                   costs.recomputedBytes, costs.checkpointBytes,
                   costs.keptBytes, /*outputWithoutGradBytes=*/0,
                   own ? std::optional(own->bytes) : std::nullopt});
  }
  return pipe::StageCostsAttr::get(context, all);
}

/// Null if each of the stage's ranks keeps its whole state.
pipe::ShardedAttr Importer::shardedAttr(int32_t stage) const {
  const ReplicaRange replicas = problem.replicas.of(stage);
  const int32_t shards = replicas.begin()->shards;
  if (shards == 1)
    return {};
  // All replicas together are the default.
  return pipe::ShardedAttr::get(
      context, static_cast<pipe::ShardedState>(problem.sharded[stage]),
      shards == replicas.size() ? 0 : shards);
}

void Importer::writePlan() {
  plan = pipe::PlanOp::create(
      builder, loc, name(problem.name), reference(problem.name + "_model"),
      reference(problem.name + "_cluster"), problem.microbatches,
      problem.statesSamples ? builder.getI64IntegerAttr(problem.samples)
                            : IntegerAttr(),
      /*documents=*/mlir::ArrayAttr(), /*tokens=*/pipe::TokensAttr(),
      /*target=*/pipe::TargetAttr());
  enter(plan.getBody());
  const std::vector<std::vector<int32_t>> inputs = inputsOf(problem);
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    llvm::SmallVector<mlir::Attribute> from;
    for (int32_t input : inputs[s])
      from.push_back(reference("s" + Twine(input)));
    const bool isNext =
        s == 0 ? inputs[s].empty() : inputs[s] == std::vector<int32_t>{s - 1};
    llvm::SmallVector<int64_t> ranks, shares;
    for (const Replica &replica : problem.replicas.of(s)) {
      ranks.push_back(replica.rank);
      shares.push_back(replica.samples);
    }
    const std::optional<StageCopies> copies = wholeCopies(problem, s);
    pipe::StageOp::create(
        builder, loc, name("s" + Twine(s)),
        builder.getArrayAttr({reference("l" + Twine(s))}),
        builder.getDenseI64ArrayAttr(ranks),
        llvm::all_equal(shares) ? mlir::DenseI64ArrayAttr()
                                : builder.getDenseI64ArrayAttr(shares),
        problem.replicas.of(s).begin()->isRoundRobin(), shardedAttr(s),
        problem.recomputes(problem.replicas.numberOf(s))
            ? builder.getArrayAttr({})
            : mlir::ArrayAttr(),
        problem.recomputesAcross(problem.replicas.numberOf(s)),
        copies ? builder.getArrayAttr({}) : mlir::ArrayAttr(),
        copies ? static_cast<pipe::LoadBefore>(copies->before)
               : pipe::LoadBefore::InputGrad,
        isNext ? mlir::ArrayAttr() : builder.getArrayAttr(from), ownCosts(s),
        /*buffers=*/mlir::ArrayAttr());
  }
}

/// Adds to the memory of each device what the plan's state takes of it, since
/// the problem's caps are for activations alone.
std::string Importer::addState() {
  const pipe::StageFigures figures(plan);
  SmallVector<pipe::StageOp, 0> stages = plan.getStages();
  for (pipe::StageOp stage : stages) {
    if (!stage.getCostsAttr())
      stage.setCostsAttr(figures.costs(stage));
    stage.setBuffersByReplica(figures.buffers(stage));
  }
  const std::vector<int64_t> state = pipe::stateBytes(plan);
  for (auto [rank, device] : llvm::enumerate(cluster.getDevices()))
    // The sum of a larger cap does not fit, and no memory is that large.
    if (const int64_t cap = problem.memoryCaps[rank];
        cap < noMemoryCap - state[rank])
      pipe::DeviceOp(device).setFiguresAttr(
          deviceAttr(static_cast<int32_t>(rank), cap + state[rank]));
  FailureOr<Problem> planned = pipe::buildProblem(plan);
  // They follow from the layers.
  for (auto [number, stage] : llvm::enumerate(stages)) {
    if (!ownCosts(static_cast<int32_t>(number)))
      stage.removeCostsAttr();
    stage.removeBuffersAttr();
  }
  return failed(planned) ? "its plan is not legal" : whyOtherShards(*planned);
}

/// In a plan, shards are equal and take as long as the links say.
std::string Importer::whyOtherShards(const Problem &planned) const {
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
    if (!problem.replicas[replica].isSharded())
      continue;
    const std::string stage = std::to_string(problem.replicas[replica].stage);
    for (ActionKind kind : {ActionKind::Unshard, ActionKind::ReduceGrad}) {
      const Cost &own = problem.cost(replica, kind),
                 &made = planned.cost(replica, kind);
      const int64_t bytes = own.acquireBytes + own.releaseBytes,
                    madeBytes = made.acquireBytes + made.releaseBytes;
      if (bytes != madeBytes)
        return "stage " + stage + " has parameter_bytes of " +
               std::to_string(bytes) + ", in " +
               countOf(problem.replicas[replica].shards, "shard") +
               "; in a plan, shards are equal and of whole " +
               std::to_string(shardAlignment * int64_t(sizeof(float))) +
               " bytes, " + std::to_string(madeBytes) + " together";
      if (own.ns != made.ns)
        return std::string(traitsOf(kind).code) + " of stage " + stage +
               " takes " + std::to_string(own.ns) +
               " ns; in a plan it takes what the links need for its bytes, " +
               std::to_string(made.ns) + " ns";
    }
  }
  return "";
}

} // namespace

/// Writes a schedule after its plan.
static std::optional<Fault> addSchedule(ModuleOp module,
                                        const json::ProblemFile &problems,
                                        StringRef text) {
  Result<formats::ScheduleSource> source =
      formats::findSchedule(module, /*fileName=*/"", text);
  if (!source)
    return source.fault();
  auto op = formats::importSchedule(*source,
                                    *problems.find(source->plan.getSymName()));
  return op ? std::nullopt : std::optional<Fault>(op.fault());
}

static std::optional<Fault> addSchedules(ModuleOp module,
                                         const json::ProblemFile &problems,
                                         StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (!buffer)
    return json::TextFault("cannot be read: " +
                           StringRef(buffer.getError().message()).lower());
  for (const json::Document &document :
       json::splitDocuments(path, (*buffer)->getBuffer()))
    if (std::optional<Fault> fault =
            addSchedule(module, problems, document.text))
      return json::withWords(document.where(), *fault);
  return std::nullopt;
}

/// Reports what is wrong in a file, at the place that the message begins with.
static void reportAt(MLIRContext *context, StringRef fileName,
                     const std::string &message) {
  StringRef what = message;
  if (const std::optional<json::TextPlace> place = json::takePlace(what))
    emitError(FileLineColLoc::get(context, fileName, unsigned(place->line),
                                  unsigned(place->column)))
        << what;
  else
    emitError(UnknownLoc::get(context)) << fileName << ": " << what;
}

/// Why a problem cannot be written as a plan at the builder's insertion point;
/// empty if it is written.
static std::string writeProblem(OpBuilder &builder, const Problem &problem) {
  if (problem.name.empty())
    return "a problem has an empty name, which no plan can have";
  std::string why = whyNoPlan(problem);
  if (why.empty())
    why = Importer(builder, problem).write();
  return why.empty() ? why
                     : "problem \"" + problem.name +
                           "\" cannot be written as a plan: " + why;
}

OwningOpRef<ModuleOp> rondo::formats::importProblem(const Problem &problem,
                                                    MLIRContext *context) {
  context->loadDialect<pipe::PipeDialect>();
  OpBuilder builder(context);
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(builder, builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  if (const std::string why = writeProblem(builder, problem); !why.empty()) {
    emitError(builder.getUnknownLoc()) << why;
    return nullptr;
  }
  return module;
}

OwningOpRef<ModuleOp> rondo::formats::importProblems(StringRef fileName,
                                                     StringRef contents,
                                                     StringRef schedulesPath,
                                                     MLIRContext *context) {
  context->loadDialect<pipe::PipeDialect>();
  OpBuilder builder(context);
  Location loc = builder.getUnknownLoc();
  Result<json::ProblemFile> file = json::readProblems(fileName, contents);
  if (!file) {
    reportAt(context, fileName, describe(file.fault()));
    return nullptr;
  }
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, loc);
  builder.setInsertionPointToEnd(module->getBody());
  for (const Problem &problem : file->problems)
    if (const std::string why = writeProblem(builder, problem); !why.empty()) {
      emitError(loc) << fileName << ": " << why;
      return nullptr;
    }
  if (schedulesPath.empty())
    return module;
  if (std::optional<Fault> fault =
          addSchedules(*module, *file, schedulesPath)) {
    reportAt(context, schedulesPath, describe(*fault));
    return nullptr;
  }
  return module;
}
