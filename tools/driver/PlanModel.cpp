//===- PlanModel.cpp - rondo plan MODEL CLUSTER ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/PlanModel.h"

#include "dialect/Bridge.h"
#include "formats/ops/Imports.h"
#include "modules/SinglePlan.h"
#include "planning/model/GivenCuts.h"
#include "plans/Layers.h"
#include "plans/PlanFactory.h"
#include "reports/Figures.h"
#include "reports/SearchFigures.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Emission.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"
#include "tools/driver/Searching.h"
#include "tools/driver/Session.h"
#include "tools/driver/Terminal.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rondo::driver {

namespace {

constexpr int64_t defaultTimeLimitMs = 20000, defaultRows = 8;

struct Request {
  std::string model, cluster, output;
  int64_t samples = 0, rows = defaultRows;
  /// Layers of the model state their sizes for one size of micro-batches.
  bool isOfOneSize = false;
  pipe::Target target = pipe::Target::Cpu;
  pipe::DType dtype = pipe::DType::Fp32;
  int64_t timeLimitMs = defaultTimeLimitMs;
  ModelPlannerOptions options;
};

/// The options with a time limit that begins now.
ModelPlannerOptions withSameTime(const Request &request) {
  ModelPlannerOptions options = request.options;
  options.deadline = Deadline(request.timeLimitMs);
  return options;
}

/// Comma-separated whole numbers, each of `least` or more.
template <typename Number>
int readList(const Arguments &arguments, StringRef option, Number least,
             std::vector<Number> &numbers, bool mayRepeat = false) {
  SmallVector<StringRef> parts;
  const std::string text = arguments.text(option);
  StringRef(text).split(parts, ',');
  numbers.clear();
  for (StringRef part : parts) {
    Number number = 0;
    if (part.getAsInteger(10, number) || number < least)
      return reportUsage("--" + option + " is '" + text +
                         "'; it must be whole numbers of " + Twine(least) +
                         " or more, separated by commas");
    if (mayRepeat || !is_contained(numbers, number))
      numbers.push_back(number);
  }
  return Success;
}

int readSizes(const Arguments &arguments, Request &request) {
  if (arguments.has("microbatch-samples")) {
    if (int code = readList<int64_t>(arguments, "microbatch-samples", 1,
                                     request.options.microbatchSamples))
      return code;
    for (int64_t size : request.options.microbatchSamples)
      if (request.samples % size != 0)
        return reportUsage("--microbatch-samples has " + Twine(size) +
                           ", which does not divide the " +
                           Twine(request.samples) +
                           " samples of an iteration (--samples)");
  }
  if (arguments.has("chunks")) {
    if (int code =
            readList<int32_t>(arguments, "chunks", 1, request.options.chunks))
      return code;
    erase(request.options.chunks, 1);
  }
  return Success;
}

int readRequest(const Arguments &arguments, Request &request) {
  const std::vector<std::string> files = arguments.files();
  if (files.empty())
    return reportUsage("plan needs a model and a cluster (.mlir), or "
                       "--problems FILE");
  for (const std::string &file : files) {
    // A pipe can be read once, and a file that cannot be read is
    // reported later.
    if (file != "-" && !isSpecialFile(file)) {
      Expected<std::unique_ptr<MemoryBuffer>> buffer = readFile(file);
      if (!buffer)
        consumeError(buffer.takeError());
      else if (int code = checkFileKind(
                   file, (*buffer)->getBuffer(), {formats::FileKind::Plans},
                   {formats::FileKind::Planning, formats::FileKind::Problem}))
        return code;
    }
    if (StringRef name = file;
        name.ends_with(".json") || name.ends_with(".jsonl"))
      return reportUsage(file +
                         " is JSON, but a model and a cluster are .mlir; "
                         "configurations of models are read by rondo import "
                         "model and rondo plan groups, and problems by "
                         "--problems FILE");
  }
  for (const char *option :
       {"evaluator", "threads", "schedules", "schedule-problems"})
    if (arguments.has(option))
      return reportUsage(Twine("--") + option +
                         " is for --problems, not for a model");
  request.model = files.front();
  request.cluster = files.back();
  request.output = arguments.text("output");
  request.samples = arguments.number("samples", 0);
  if (request.samples == 0)
    return reportUsage("plan needs --samples N, those of an iteration");
  if (request.samples > maxSamples)
    return reportUsage("--samples is " + Twine(request.samples) +
                       "; the most is " + Twine(maxSamples));
  request.rows = arguments.number("rows", defaultRows);
  request.target = pipe::symbolizeTarget(arguments.text("target"))
                       .value_or(pipe::Target::Cpu);
  request.dtype = pipe::symbolizeDType(arguments.text("dtype"))
                      .value_or(defaultDType(request.target));
  if (int code = checkDType(request.target, request.dtype))
    return code;
  const std::string recompute = arguments.text("recompute", "auto");
  ModelPlannerOptions &options = request.options;
  options.recompute = recompute == "none"  ? RecomputeChoice::None
                      : recompute == "all" ? RecomputeChoice::All
                                           : RecomputeChoice::Auto;
  options.mayOffload = arguments.text("offload", "auto") == "auto";
  options.seed = arguments.number("seed", 0);
  options.effort = arguments.number("effort", 0);
  request.timeLimitMs = arguments.number(
      "time-limit-ms", options.effort > 0 ? 0 : defaultTimeLimitMs);
  options.deadline = Deadline(request.timeLimitMs);
  options.interrupt = Interrupt::flag();
  return readSizes(arguments, request);
}

/// Reads --cut, --weights and --layout, of which there may be one.
int readCut(const Arguments &arguments, pipe::PlanOp allLayers,
            Request &request) {
  std::vector<const char *> given;
  for (const char *option : {"cut", "weights", "layout"})
    if (arguments.has(option))
      given.push_back(option);
  if (given.empty())
    return Success;
  if (given.size() > 1)
    return reportUsage(Twine("--") + given[0] + " and --" + given[1] +
                       " cannot be combined: both say what stages are");
  const std::string option = given.front();
  SmallVector<pipe::LayerOp> layers = allLayers.lookupModel().getLayers();
  GivenCut cut;
  if (option == "layout") {
    const auto blocks = count_if(layers, [](pipe::LayerOp layer) {
      return layer.getKind() == pipe::LayerKind::Block;
    });
    if (static_cast<size_t>(blocks) + 2 != layers.size())
      return reportUsage(
          "--layout is for an embedding, blocks and a head; give "
          "--cut for other models");
    cut = cutByLayout(arguments.text(option), static_cast<int32_t>(blocks));
  } else {
    std::vector<int64_t> numbers;
    if (int code = readList<int64_t>(arguments, option, 1, numbers,
                                     /*mayRepeat=*/true))
      return code;
    std::vector<int64_t> work;
    for (const pipe::LayerFigures &layer : pipe::layerFigures(allLayers))
      work.push_back(layer.forwardNs + layer.inputGradNs + layer.weightGradNs);
    cut = option == "cut"
              ? cutByCounts(numbers, static_cast<int32_t>(layers.size()))
              : cutByWeights(numbers, work);
  }
  if (const auto *fault = std::get_if<std::string>(&cut))
    return reportUsage("--" + option + " is '" + arguments.text(option) +
                       "': " + *fault);
  ModelPlannerOptions &options = request.options;
  options.begins = std::get<std::vector<int32_t>>(cut);
  if (arguments.has("chunks")) {
    if (options.chunks.size() > 1)
      return reportUsage("--" + option + " takes one number of --chunks");
    options.givenChunks = options.chunks.empty() ? 1 : options.chunks.front();
  }
  const auto stages = static_cast<int64_t>(options.begins.size());
  const auto ranks =
      static_cast<int64_t>(allLayers.lookupCluster().getDevices().size());
  if (stages % options.givenChunks != 0)
    return reportUsage("--" + option + " has " + countOf(stages, "stage") +
                       ", which cannot be " + Twine(options.givenChunks) +
                       " on each rank (--chunks)");
  if (stages / options.givenChunks > ranks)
    return reportUsage("--" + option + " has " + countOf(stages, "stage") +
                       " for " + countOf(ranks, "device") +
                       "; --chunks N puts N on each");
  return Success;
}

/// The only op of its kind in the files.
template <typename Op>
int findOnly(Session &session, const Request &request, StringRef what, Op &op) {
  SmallVector<Op> all(session.module().getOps<Op>());
  if (all.size() == 1) {
    op = all.front();
    return Success;
  }
  return reportError(
      (request.model == request.cluster
           ? request.model + " has "
           : request.model + " and " + request.cluster + " have ") +
      Twine(all.size()) + " pipe." + what + "; plan needs one");
}

/// The module of the best plan, with its schedule. Null after an error.
mlir::OwningOpRef<mlir::ModuleOp> moduleOf(pipe::PlanOp chosen,
                                           const PlanTrial &best) {
  auto [module, plan] = pipe::moduleOfPlan(chosen, "plan", chosen.getModel());
  pipe::dropStageFigures(plan);
  if (!best.isOwnOrder)
    pipe::addSchedule(plan, "schedule", best.family);
  else if (failed(pipe::addSchedule(plan, "schedule", *best.schedule,
                                    best.laid.problem)))
    return {};
  return std::move(module);
}

int writeBest(const Request &request, pipe::PlanOp chosen,
              const PlanTrial &best) {
  if (request.output.empty())
    return Success;
  mlir::OwningOpRef<mlir::ModuleOp> module = moduleOf(chosen, best);
  if (!module)
    return Failure;
  if (Error error = pipe::checkCompiles(*module))
    return reportError(toString(std::move(error)));
  if (int code = writeOps(request.output, *module))
    return code;
  reportWritten(request.output, "pipe.plan @plan and pipe.schedule @schedule");
  return Success;
}

/// Why nothing fits, and what is nearest to it.
int reportNone(const Request &request, const ModelPlannerResult &result) {
  if (!result.nearest && result.refused.empty())
    return reportError("time ended before a plan was tried; raise "
                       "--time-limit-ms");
  if (!result.nearest) {
    // The smallest micro-batches need least; recomputation was tried last.
    const auto least = std::min_element(
        result.refused.rbegin(), result.refused.rend(),
        [](const auto &a, const auto &b) { return a.first < b.first; });
    reportError("with micro-batches of " + countOf(least->first, "sample") +
                ", " + least->second);
    return Infeasible;
  }
  const PlanTrial &nearest = *result.nearest;
  const ModelPlan &plan = nearest.laid.plan;
  const std::string shape = countOf(plan.stages.size(), "stage") + " on " +
                            countOf(plan.numRanks(), "device") +
                            " with micro-batches of " +
                            countOf(plan.samples, "sample");
  if (nearest.missingBytes == 0) {
    reportError("no plan has a schedule; the nearest, " + shape + ": " +
                nearest.reason);
    return Failure;
  }
  const std::vector<int64_t> &devices = nearest.laid.figures.devices;
  const int64_t device = nearest.shortRank >= 0 ? devices[nearest.shortRank]
                                                : *min_element(devices);
  reportError("no plan fits; nearest is " + shape + ", where a device of " +
              Twine(device) + " bytes lacks " + Twine(nearest.missingBytes));
  // Exact, since a rounded figure might not be enough.
  const int64_t needed = nearest.shortRank >= 0 ? nearest.neededBytes
                                                : device + nearest.missingBytes;
  std::string advice =
      ("that plan needs devices of " + Twine(needed) + " bytes at least").str();
  if (request.options.recompute == RecomputeChoice::None)
    advice += "; --recompute auto may need less";
  if (!request.isOfOneSize && !request.options.microbatchSamples.empty() &&
      !is_contained(request.options.microbatchSamples, 1))
    advice += "; smaller micro-batches (--microbatch-samples) may need less";
  reportNote(advice + "; more devices may help");
  return Infeasible;
}

void reportSummary(const ModelPlannerResult &result,
                   const ModelFigures &figures) {
  const PlanTrial &best = result.plans.front();
  outs() << "best: " << formatNs(best.timeNs) << "; no plan takes less than "
         << formatNs(result.lowerBoundNs)
         << (result.boundCountsRecomputation
                 ? best.hostBytes.empty()
                       ? ", with the recomputation that memory forces ("
                       : ", with the recomputation or copies that memory "
                         "forces ("
                 : ", all devices at work throughout (")
         << gapText(best.timeNs <= result.lowerBoundNs, best.timeNs,
                    result.lowerBoundNs)
         << ")\n"
         << "times: "
         << (figures.stated == figures.layers ? "as the layers state"
             : figures.measured == 0          ? "estimated from operations and "
                                                "flops_per_us"
             : figures.measured == figures.layers
                 ? "measured"
                 : (Twine(figures.measured) + " of " + Twine(figures.layers) +
                    " layers measured, the others estimated from operations "
                    "and flops_per_us")
                       .str())
         << "; links: as the cluster states\n";
}

} // namespace

int planModelFiles(const Arguments &arguments) {
  Request request;
  if (int code = readRequest(arguments, request))
    return code;
  std::vector<UsedFile> inputs = inputFiles(arguments, {"costs"});
  if (int code = checkOutputs(inputs, {{"--output", request.output}}))
    return code;
  if (int code = reportUnwritable(request.output))
    return code;
  Session session;
  if (failed(session.read(request.model)) ||
      (request.cluster != request.model &&
       failed(session.readAlso(request.cluster))))
    return Failure;
  pipe::ModelOp model;
  pipe::ClusterOp cluster;
  if (int code = findOnly(session, request, "model", model))
    return code;
  if (int code = findOnly(session, request, "cluster", cluster))
    return code;
  // Sizes that nobody gave are all that the layers have.
  request.isOfOneSize =
      model.findLayerOfOneSize() || request.options.microbatchSamples.empty();
  if (int code = keepModelBatch(model, request.samples,
                                request.options.microbatchSamples))
    return code;
  if (failed(checkPlansOf(session, model)))
    return Failure;
  noteGraphs(session, model);
  pipe::PlanOp base = formats::addPlanOfAllLayers(
      model, cluster,
      pipe::TargetAttr::get(model.getContext(), request.target, request.dtype,
                            /*resident=*/0),
      "plan_of_all");
  if (failed(pipe::checkLayerSizes(model, base)) || failed(checkModel(base)))
    return Failure;
  if (const std::vector<std::string> paths = arguments.all("costs");
      !paths.empty() && !applyLayerCosts(base, paths))
    return Failure;
  if (int code = readCut(arguments, base, request))
    return code;
  const ModelFigures figures = modelFigures(base, request.samples);
  outs() << model.getSymName() << " on " << cluster.getSymName() << ": "
         << countOf(figures.layers, "layer") << " on "
         << countOf(cluster.getDevices().size(), "device") << ", "
         << countOf(request.samples, "sample")
         << (figures.tokens > 0 ? " of " + countOf(figures.tokens, "token")
                                : std::string())
         << " an iteration, target " << stringifyTarget(request.target)
         << " in " << stringifyDType(request.dtype) << "\n";
  pipe::PlanFactory factory(base);
  const ModelSpace space = pipe::modelSpace(factory, request.samples);
  if (request.options.recompute == RecomputeChoice::All &&
      !is_contained(space.mayRecompute, true))
    return reportUsage("--recompute all is for blocks, of which the model has "
                       "none");
  const ModelPlannerResult result = planModel(space, request.options);
  if (result.plans.empty())
    return Interrupt::happened() ? Interrupted : reportNone(request, result);
  printPlans(outs(), result, figures, request.rows);
  reportSummary(result, figures);
  const PlanTrial &best = result.plans.front();
  if (arguments.has("baselines"))
    printModelBaselines(outs(), runModelBaselines(space, withSameTime(request)),
                        best);
  if (int code = writeBest(request, factory.plan(best.laid.id), best))
    return code;
  return Interrupt::exitCode(Success);
}

} // namespace rondo::driver
