//===- Exchange.cpp - What `rondo export` and `rondo import` share --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Exchange.h"

#include "dialect/Bridge.h"
#include "dialect/Nearest.h"
#include "formats/json/Documents.h"
#include "formats/json/ProblemReader.h"
#include "formats/json/ScheduleReader.h"
#include "passes/Pipelines.h"
#include "planning/FittingWindows.h"
#include "plans/PlanFigures.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"
#include "tools/driver/Session.h"
#include "tools/driver/Terminal.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rondo::driver {

int readTorchVersion(const Arguments &arguments,
                     const exchange::TorchVersion *&version) {
  const std::string text = arguments.text("torch");
  if (text.empty())
    return Success;
  // A patch release has the formats of its minor one: 2.9.1.
  SmallVector<StringRef> parts;
  StringRef(text).split(parts, '.');
  version = parts.size() < 2
                ? nullptr
                : exchange::findTorch((parts[0] + "." + parts[1]).str());
  if (version)
    return Success;
  return reportUsage("--torch is '" + text + "'; known are " +
                     exchange::torchVersions().front().name + " to " +
                     exchange::newestTorch().name);
}

int readProblem(const std::string &path, const std::string &name,
                Problem &problem) {
  std::vector<Problem> problems;
  if (int code = readProblems(path, problems, /*mayBeUneven=*/true))
    return code;
  if (name.empty()) {
    if (problems.size() != 1)
      return reportError(path + ": has " + countOf(problems.size(), "problem") +
                         "; say which by its name");
    problem = std::move(problems.front());
    return Success;
  }
  std::vector<StringRef> names;
  for (Problem &each : problems) {
    if (each.name == name) {
      problem = std::move(each);
      return Success;
    }
    names.push_back(each.name);
  }
  return reportError(path + ": has no problem '" + name + "'" +
                     didYouMean(name, names));
}

int readScheduleFile(const std::string &path, int64_t line,
                     const std::string &problemPath,
                     exchange::ExchangedSchedule &schedule) {
  const std::unique_ptr<MemoryBuffer> buffer = readOrReport(path);
  if (!buffer)
    return Failure;
  const StringRef contents = buffer->getBuffer();
  // `rondo simulate --json` prints lines whatever the file's name.
  std::vector<json::Document> documents = json::splitDocuments(path, contents);
  if (documents.size() == 1 && documents.front().line == 0 &&
      json::checkSyntax(documents.front().text))
    if (auto lines = json::splitDocuments("lines.jsonl", contents);
        lines.size() > 1 && !json::checkSyntax(lines.front().text))
      documents = std::move(lines);
  const json::Document *document = nullptr;
  if (line == 0 && documents.size() > 1)
    return reportError(path + ": has " + countOf(documents.size(), "schedule") +
                       "; say which with --line N");
  for (const json::Document &each : documents)
    if (line == 0 || each.line == line || (each.line == 0 && line == 1))
      document = &each;
  if (!document)
    return reportError(path + ": has no schedule" +
                       (line > 0 ? " on line " + Twine(line) : Twine()));
  const auto report = [&](const Twine &message) {
    return reportUnread(path, contents, {formats::FileKind::Schedule},
                        document->where() + message);
  };
  if (auto fault = json::checkSyntax(document->text))
    return report(describe(*fault));
  exchange::ImportOptions options;
  Problem problem;
  if (!problemPath.empty()) {
    const json::ScheduleText text{json::Value(document->text)};
    const std::optional<std::string> name = text.problemName();
    if (!name)
      return report("names no problem");
    if (int code = readProblem(problemPath, *name, problem))
      return code;
    options.problem = &problem;
  }
  std::vector<std::string> notes;
  Result<exchange::ExchangedSchedule> read =
      exchange::rondoScheduleImporter().read(document->text, options, notes);
  if (!read)
    return report(describe(read.fault()));
  schedule = std::move(*read);
  return Success;
}

/// The layers of each stage, if the model is a transformer whose layers are
/// an embedding, blocks and a head.
static std::vector<exchange::StageLayers> layersOf(pipe::PlanOp plan) {
  pipe::ModelOp model = plan.lookupModel();
  std::vector<exchange::StageLayers> layers;
  for (pipe::StageOp stage : plan.getStages()) {
    exchange::StageLayers &holds = layers.emplace_back();
    const mlir::ArrayAttr recompute = stage.getRecomputeAttr();
    for (auto name : stage.getLayers().getAsRange<mlir::FlatSymbolRefAttr>()) {
      auto layer = model.lookupSymbol<pipe::LayerOp>(name.getAttr());
      switch (layer.getKind()) {
      case pipe::LayerKind::Embedding:
        holds.hasEmbedding = true;
        break;
      case pipe::LayerKind::Block: {
        const bool isAgain =
            recompute && (recompute.empty() || is_contained(recompute, name));
        holds.recomputesFirst &= !isAgain || holds.recomputed == holds.blocks;
        holds.recomputed += isAgain;
        ++holds.blocks;
        break;
      }
      case pipe::LayerKind::Head:
        holds.hasHead = true;
        break;
      default:
        return {};
      }
    }
  }
  return layers;
}

/// The stages of the embedding and of the head that share a weight. Empty
/// where the model does not say whether they do.
static std::optional<std::optional<exchange::SharedWeight>>
sharedWeightOf(pipe::PlanOp plan) {
  pipe::ModelOp model = plan.lookupModel();
  const std::optional<pipe::ModelSizes> sizes = model.getSizes();
  if (!sizes)
    return std::nullopt;
  if (!sizes->tied)
    return std::optional<exchange::SharedWeight>();
  exchange::SharedWeight shared;
  for (auto [number, stage] : enumerate(plan.getStages()))
    for (auto name : stage.getLayers().getAsRange<mlir::FlatSymbolRefAttr>()) {
      auto layer = model.lookupSymbol<pipe::LayerOp>(name.getAttr());
      if (layer.getKind() == pipe::LayerKind::Embedding)
        shared.embedding = int32_t(number);
      if (layer.getKind() == pipe::LayerKind::Head)
        shared.head = int32_t(number);
    }
  return shared;
}

int PlanSource::read(const std::string &path, const std::string &name,
                     const std::string &costsPath) {
  if (int code = session.load(path, costsPath))
    return code;
  if (hasEmptyName(name) && !name.empty())
    return reportUsage("--schedule has an empty name");
  if (name.empty())
    append_range(chosen, session.module().getOps<pipe::ScheduleOp>());
  else if (chosen = findSchedules(session.module(), name, path); chosen.empty())
    return Failure;
  return Success;
}

const Problem &PlanSource::problem() {
  const auto plans = session.module().getOps<pipe::PlanOp>();
  return session.problems[std::distance(plans.begin(), find(plans, plan))];
}

int PlanSource::reportError(const std::string &path, const Fault &fault) {
  if (!plan)
    return driver::reportError(path + ": " + describe(fault));
  outs().flush();
  const int32_t stage = exchange::stageOf(fault);
  if (stage >= 0)
    plan.getStages()[stage].emitError() << describe(fault);
  else if (schedule)
    schedule.emitError() << describe(fault);
  else
    plan.emitError() << describe(fault);
  return Failure;
}

/// `: @a, @b`.
template <typename Ops> static std::string namesOf(const Ops &ops) {
  std::string names;
  for (auto each : ops)
    names += (names.empty() ? ": @" : ", @") + each.getSymName().str();
  return names;
}

int readLayersOfModule(const std::string &path, const std::string &name,
                       const std::string &costsPath, PlanSource &source,
                       exchange::ExchangedSchedule &schedule) {
  if (int code = source.read(path, name, costsPath))
    return code;
  SmallVector<pipe::PlanOp> plans(
      source.session.module().getOps<pipe::PlanOp>());
  if (!name.empty())
    plans.assign(1, source.chosen.front().lookupPlan());
  if (plans.size() != 1)
    return reportError(path + ": has " + countOf(plans.size(), "plan") +
                       namesOf(plans) +
                       "; name a schedule of one with --schedule");
  source.plan = plans.front();
  schedule.problem = source.problem();
  schedule.layers = layersOf(source.plan);
  schedule.shared = sharedWeightOf(source.plan);
  return Success;
}

int readScheduleOfModule(const std::string &path, const std::string &name,
                         const std::string &costsPath, bool takesWindows,
                         PlanSource &source,
                         exchange::ExchangedSchedule &schedule) {
  if (int code = source.read(path, name, costsPath))
    return code;
  Session &session = source.session;
  mlir::ModuleOp module = session.module();
  const auto &chosen = source.chosen;
  if (chosen.empty())
    return reportError(path + ": contains no pipe.schedule; write " +
                       "`pipe.schedule @x of @" +
                       (*module.getOps<pipe::PlanOp>().begin()).getSymName() +
                       " family<\"1f1b\">`");
  if (chosen.size() != 1)
    return reportError(path + ": " +
                       (name.empty() ? "has " : "--schedule names ") +
                       countOf(chosen.size(), "schedule") +
                       "; name one with --schedule" + namesOf(chosen));
  pipe::ScheduleOp op = chosen.front();
  source.schedule = op;
  source.plan = op.lookupPlan();
  if (op.overlaps() && !takesWindows)
    return source.reportError(
        path, exchange::fail("iterations of schedule @" + op.getSymName() +
                             " overlap; other tools end each iteration with a "
                             "step of all stages: export a schedule whose "
                             "iterations drain, such as one of "
                             "family<\"1f1b\">, or rondo-schedule, which has "
                             "windows"));
  // Others may take long to search, or not exist.
  for (pipe::ScheduleOp other : to_vector(module.getOps<pipe::ScheduleOp>()))
    if (other != op && mlir::SymbolTable::symbolKnownUseEmpty(other, module))
      other.erase();
  Interrupt interrupt;
  if (failed(session.run([&](mlir::OpPassManager &passes) {
        pipe::buildOrderPipeline(passes, session.control());
      })))
    return session.exitCode();
  pipe::PlanOp plan = source.plan;
  schedule.problem = source.problem();
  if (op.overlaps()) {
    mlir::FailureOr<Problem> window = pipe::buildProblem(op);
    if (failed(window))
      return Failure;
    schedule.problem = std::move(*window);
    countWeights(pipe::figuresOf(op), schedule.problem);
    schedule.clipsByNorm = op.computesNorm();
  }
  mlir::FailureOr<pipe::ExpandedSchedule> expanded =
      pipe::expandSchedule(op, schedule.problem);
  mlir::FailureOr<std::string> family = pipe::familyText(op);
  if (failed(expanded) || failed(family))
    return Failure;
  if (auto fault = checkSchedule(schedule.problem, expanded->schedule)) {
    (void)pipe::emitFault(*fault, *expanded, schedule.problem, op);
    return Failure;
  }
  schedule.schedule = std::move(expanded->schedule);
  schedule.family = *family;
  schedule.hasTimes = true;
  schedule.layers = layersOf(plan);
  schedule.shared = sharedWeightOf(plan);
  return Success;
}

int readSchedulesFor(const Problem &problem, const std::string &path,
                     std::vector<FileSchedule> &schedules) {
  const std::unique_ptr<MemoryBuffer> buffer = readOrReport(path);
  if (!buffer)
    return Failure;
  const exchange::Importer importer = exchange::rondoScheduleImporter();
  exchange::ImportOptions options;
  options.problem = &problem;
  const size_t before = schedules.size();
  for (const json::Document &document :
       json::splitDocuments(path, buffer->getBuffer())) {
    const std::string where = path + ": " + document.where();
    const auto report = [&](const std::string &message) {
      return reportUnread(path, buffer->getBuffer(),
                          {formats::FileKind::Schedule},
                          document.where() + message);
    };
    if (auto fault = json::checkSyntax(document.text))
      return report(describe(*fault));
    const json::ScheduleText text{json::Value(document.text)};
    if (text.problemName() != problem.name)
      continue;
    std::vector<std::string> notes;
    Result<exchange::ExchangedSchedule> read =
        importer.read(document.text, options, notes);
    if (!read)
      return report(describe(read.fault()));
    const std::string name =
        read->family.empty()
            ? "schedule " + std::to_string(schedules.size() - before)
            : read->family;
    schedules.push_back(
        {name, where, std::move(read->schedule), read->clipsByNorm});
  }
  if (schedules.size() == before)
    return reportUnread(path, buffer->getBuffer(),
                        {formats::FileKind::Schedule},
                        "no schedule is for problem '" + problem.name + "'");
  return Success;
}

} // namespace rondo::driver
