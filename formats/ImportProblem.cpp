//===- ImportProblem.cpp - rondo-problem/1 to the language ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Pipe.h"
#include "formats/Translations.h"
#include "formats/json/ProblemReader.h"
#include "formats/json/ProblemWriter.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace rondo;
using llvm::Error;

namespace {

/// Writes one problem at the builder's insertion point.
class Importer {
public:
  Importer(OpBuilder &builder, const Problem &problem)
      : builder(builder), context(builder.getContext()),
        loc(builder.getUnknownLoc()), problem(problem) {}

  void write() {
    OpBuilder::InsertionGuard guard(builder);
    writeCluster();
    writeModel();
    writePlan();
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
  void writeCluster();
  void writeModel();
  void writePlan();

  OpBuilder &builder;
  MLIRContext *context;
  Location loc;
  const Problem &problem;
};

void Importer::writeCluster() {
  OpBuilder::InsertionGuard guard(builder);
  bool hasLink = problem.link.latencyNs != 0 || problem.link.bytesPerUs != 0;
  auto cluster = pipe::ClusterOp::create(
      builder, loc, name(problem.name + "_cluster"), pipe::ChannelsAttr(),
      hasLink ? figures(problem.link) : pipe::LinkAttr());
  enter(cluster.getBody());
  for (auto [rank, cap] : llvm::enumerate(problem.memoryCaps))
    pipe::DeviceOp::create(
        builder, loc, name("d" + Twine(rank)),
        cap == noMemoryCap
            ? pipe::DeviceAttr()
            : pipe::DeviceAttr::get(context, cap, /*flops_per_us=*/0));
  for (const auto &[pair, link] : problem.links)
    pipe::LinkOp::create(builder, loc, reference("d" + Twine(pair.first)),
                         reference("d" + Twine(pair.second)), figures(link));
}

void Importer::writeModel() {
  OpBuilder::InsertionGuard guard(builder);
  auto model = pipe::ModelOp::create(
      builder, loc, name(problem.name + "_model"), pipe::GptAttr());
  enter(model.getBody());
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    const Cost &forward = problem.cost(s, ActionKind::Forward);
    const Cost &inputGrad = problem.cost(s, ActionKind::InputGrad);
    // Edge s of a chain is the activation of stage s.
    bool isLast = s + 1 == problem.numStages();
    pipe::LayerOp::create(
        builder, loc, name("l" + Twine(s)), pipe::LayerKind::Synthetic,
        pipe::SyntheticAttr::get(context, forward.ns, inputGrad.ns,
                                 problem.cost(s, ActionKind::WeightGrad).ns,
                                 forward.acquireBytes, inputGrad.releaseBytes,
                                 isLast ? 0 : problem.edges[s].bytes,
                                 /*weight_bytes=*/0),
        pipe::CustomAttr(), pipe::LayerCostsAttr());
  }
}

void Importer::writePlan() {
  auto plan = pipe::PlanOp::create(
      builder, loc, name(problem.name), reference(problem.name + "_model"),
      reference(problem.name + "_cluster"), problem.microbatches,
      /*samples=*/IntegerAttr(), /*target=*/pipe::TargetAttr());
  enter(plan.getBody());
  std::vector<std::vector<int32_t>> inputs(problem.numStages());
  for (const Edge &edge : problem.edges)
    if (edge.producer == ActionKind::Forward)
      inputs[edge.to].push_back(edge.from);
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    llvm::SmallVector<mlir::Attribute> from;
    for (int32_t input : inputs[s])
      from.push_back(reference("s" + Twine(input)));
    const bool isNext =
        s == 0 ? inputs[s].empty() : inputs[s] == std::vector<int32_t>{s - 1};
    pipe::StageOp::create(builder, loc, name("s" + Twine(s)),
                          builder.getArrayAttr({reference("l" + Twine(s))}),
                          problem.homeOf(s).rank,
                          isNext ? mlir::ArrayAttr()
                                 : builder.getArrayAttr(from),
                          pipe::StageCostsAttr(), pipe::BuffersAttr());
  }
}

} // namespace

/// Writes a schedule after its plan.
static Error addSchedule(ModuleOp module, const json::ProblemFile &problems,
                         StringRef text) {
  llvm::Expected<formats::ScheduleSource> source =
      formats::findSchedule(module, /*fileName=*/"", text);
  if (!source)
    return source.takeError();
  return formats::importSchedule(*source,
                                 *problems.find(source->plan.getSymName()))
      .takeError();
}

static Error addSchedules(ModuleOp module, const json::ProblemFile &problems,
                          StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError(
        buffer.getError(),
        "cannot be read: " + StringRef(buffer.getError().message()).lower());
  for (const json::Document &document :
       json::splitDocuments(path, (*buffer)->getBuffer()))
    if (Error error = addSchedule(module, problems, document.text))
      return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                     document.where() +
                                         llvm::toString(std::move(error)));
  return Error::success();
}

OwningOpRef<ModuleOp> rondo::formats::importProblems(StringRef fileName,
                                                     StringRef contents,
                                                     StringRef schedulesPath,
                                                     MLIRContext *context) {
  context->loadDialect<pipe::PipeDialect>();
  OpBuilder builder(context);
  Location loc = builder.getUnknownLoc();
  llvm::Expected<json::ProblemFile> file =
      json::readProblems(fileName, contents);
  if (!file) {
    emitError(loc) << fileName << ": " << llvm::toString(file.takeError());
    return nullptr;
  }
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, loc);
  builder.setInsertionPointToEnd(module->getBody());
  for (const Problem &problem : file->problems) {
    if (problem.name.empty()) {
      emitError(loc) << fileName
                     << ": a problem has an empty name, which no plan can have";
      return nullptr;
    }
    if (!json::isVersion1(problem)) {
      emitError(loc) << fileName << ": problem \"" << problem.name
                     << "\" has stages that are no chain, or a B that does "
                        "not take I's and W's time; no plan is written of it";
      return nullptr;
    }
    Importer(builder, problem).write();
  }
  if (schedulesPath.empty())
    return module;
  if (Error error = addSchedules(*module, *file, schedulesPath)) {
    emitError(loc) << schedulesPath << ": " << llvm::toString(std::move(error));
    return nullptr;
  }
  return module;
}
