//===- ImportModel.cpp - rondo import model -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/Documents.h"
#include "formats/ops/Imports.h"
#include "plans/Layers.h"
#include "reports/Figures.h"
#include "reports/Table.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Emission.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"
#include "tools/driver/Session.h"

#include "llvm/Support/JSON.h"

#include <tuple>

#define OPTIONS "tools/driver/ImportModel.inc"
#include "tools/driver/OptionTable.inc"

using namespace llvm;

namespace rondo::driver {

namespace {

/// Consecutive layers that need the same.
struct LayerRow {
  pipe::LayerOp first, last;
  int64_t count = 0;
  pipe::LayerFigures figures;
};

struct ModelReport {
  json::ModelConfig config;
  std::string name;
  int64_t batch = 1;
  pipe::Target target = pipe::Target::Cpu;
  pipe::DType dtype = pipe::DType::Fp32;
  std::vector<LayerRow> rows;

  /// Sum over all layers.
  pipe::LayerFigures total() const;
};

bool areEqual(const pipe::LayerFigures &a, const pipe::LayerFigures &b) {
  auto all = [](const pipe::LayerFigures &f) {
    return std::tie(f.parameters, f.forwardFlops, f.inputGradFlops,
                    f.weightGradFlops, f.heldToInputGrad, f.heldToWeightGrad,
                    f.outputBytes, f.stateBytes);
  };
  return all(a) == all(b);
}

pipe::LayerFigures ModelReport::total() const {
  pipe::LayerFigures sum;
  for (const LayerRow &row : rows) {
    const pipe::LayerFigures &one = row.figures;
    sum.parameters += row.count * one.parameters;
    sum.forwardFlops += row.count * one.forwardFlops;
    sum.inputGradFlops += row.count * one.inputGradFlops;
    sum.weightGradFlops += row.count * one.weightGradFlops;
    sum.heldToInputGrad += row.count * one.heldToInputGrad;
    sum.heldToWeightGrad += row.count * one.heldToWeightGrad;
    sum.stateBytes += row.count * one.stateBytes;
  }
  return sum;
}

/// Adds what the layers of the module's model need.
mlir::LogicalResult addRows(mlir::ModuleOp module, ModelReport &report) {
  mlir::OwningOpRef<mlir::ModuleOp> scratch(module.clone());
  pipe::PlanOp plan = formats::addPlanOfAllLayers(
      *scratch,
      pipe::TargetAttr::get(module.getContext(), report.target, report.dtype,
                            /*resident=*/0));
  if (failed(pipe::checkTarget(plan)))
    return mlir::failure();
  auto model = *module.getOps<pipe::ModelOp>().begin();
  for (auto [layer, figures] :
       zip_equal(model.getLayers(), pipe::layerFigures(plan))) {
    if (report.rows.empty() ||
        report.rows.back().first.getKind() != layer.getKind() ||
        !areEqual(report.rows.back().figures, figures))
      report.rows.push_back({layer, layer, 0, figures});
    report.rows.back().last = layer;
    ++report.rows.back().count;
  }
  return mlir::success();
}

void printTable(const ModelReport &report) {
  const json::ModelConfig &config = report.config;
  const pipe::LayerFigures total = report.total();
  int64_t numLayers = 0;
  for (const LayerRow &row : report.rows)
    numLayers += row.count;
  outs() << report.name << ": " << config.type << " with "
         << countOf(numLayers, "layer") << ", " << total.parameters
         << " parameters\n"
         << "micro-batches of " << countOf(report.batch, "sample") << " of "
         << countOf(config.sequence, "token") << " (at most "
         << (config.window ? std::min(config.window, config.positions)
                           : config.positions)
         << "), target " << stringifyTarget(report.target) << " in "
         << stringifyDType(report.dtype) << "\n";
  Table table;
  table.add({"layers", "kind", "parameters", "F", "I", "W", "held to I",
             "held to W", "message", "state"});
  auto add = [&](std::string names, std::string kind,
                 const pipe::LayerFigures &figures, bool isTotal) {
    table.add(
        {std::move(names), std::move(kind), std::to_string(figures.parameters),
         formatFlops(figures.forwardFlops), formatFlops(figures.inputGradFlops),
         formatFlops(figures.weightGradFlops),
         formatBytes(figures.heldToInputGrad),
         formatBytes(figures.heldToWeightGrad),
         isTotal ? "-" : formatBytes(figures.outputBytes),
         formatBytes(figures.stateBytes)});
  };
  for (LayerRow row : report.rows) {
    std::string names = row.first.getSymName().str();
    if (row.count > 1)
      names += " to " + row.last.getSymName().str() + ", each";
    add(names, stringifyLayerKind(row.first.getKind()).str(), row.figures,
        false);
  }
  add("all", "", total, true);
  table.print(outs());
  if (config.tied)
    outs() << "The head shares the embedding's weight, which counts once among "
              "the parameters; its state is kept with both.\n";
}

void printJson(const ModelReport &report) {
  llvm::json::OStream os(outs());
  auto figures = [&](const pipe::LayerFigures &of) {
    os.attribute("parameters", of.parameters);
    os.attribute("forward_flops", of.forwardFlops);
    os.attribute("input_grad_flops", of.inputGradFlops);
    os.attribute("weight_grad_flops", of.weightGradFlops);
    os.attribute("saved_for_input_grad_bytes", of.heldToInputGrad);
    os.attribute("saved_for_weight_grad_bytes", of.heldToWeightGrad);
    os.attribute("state_bytes", of.stateBytes);
  };
  os.object([&] {
    os.attribute("name", report.name);
    os.attribute("model_type", report.config.type);
    os.attribute("sequence", report.config.sequence);
    os.attribute("batch", report.batch);
    os.attribute("target", stringifyTarget(report.target));
    os.attribute("dtype", stringifyDType(report.dtype));
    figures(report.total());
    os.attributeArray("layers", [&] {
      for (LayerRow row : report.rows)
        os.object([&] {
          os.attribute("first", row.first.getSymName());
          os.attribute("count", row.count);
          os.attribute("kind", stringifyLayerKind(row.first.getKind()));
          figures(row.figures);
          os.attribute("output_bytes", row.figures.outputBytes);
        });
    });
  });
  outs() << "\n";
}

/// A row for each run of layers of a kind.
struct ExpertsRow {
  int64_t first = 0, count = 0;
  groups::LayerKind kind = groups::LayerKind::Dense;
  groups::LayerWeights weights;
};

std::vector<ExpertsRow> expertsRows(const groups::Transformer &model) {
  std::vector<ExpertsRow> rows;
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    const groups::LayerKind kind = model.kindOf(layer);
    if (rows.empty() || rows.back().kind != kind)
      rows.push_back({layer, 0, kind, groups::weightsOf(model, kind)});
    ++rows.back().count;
  }
  return rows;
}

/// A model with experts, of which Rondo has no programs: weights, operations of
/// a token, and bytes of its way to experts and back.
void printExperts(const ModelReport &report) {
  const groups::Transformer model = json::transformerOf(report.config);
  const groups::Experts &experts = *model.experts;
  const int64_t used = experts.perToken + experts.shared;
  outs() << report.name << ": " << report.config.type << " with "
         << countOf(model.layers, "layer") << ", " << groups::numWeights(model)
         << " weights besides norms; " << experts.count
         << " experts a layer, of which a token passes " << experts.perToken
         << (experts.shared > 0
                 ? " and " + std::to_string(experts.shared) + " shared"
                 : std::string())
         << "\n";
  Table table;
  table.add({"layers", "kind", "weights", "of experts", "F of a token",
             "to experts and back"});
  for (const ExpertsRow &row : expertsRows(model)) {
    const bool isDense = row.kind == groups::LayerKind::Dense;
    const int64_t one = isDense ? 0 : row.weights.experts / experts.count;
    table.add({std::to_string(row.first) + " to " +
                   std::to_string(row.first + row.count - 1) + ", each",
               isDense ? "dense" : "experts",
               std::to_string(row.weights.shared + row.weights.experts),
               std::to_string(row.weights.experts),
               formatFlops(2 * (row.weights.shared + one * experts.perToken)),
               isDense ? "-"
                       : formatBytes(4 * model.hidden * experts.perToken) +
                             " a token in bf16"});
  }
  table.print(outs());
  outs() << "A token passes " << used
         << " experts a layer; attention's scores are not counted. Rondo's "
            "programs have no experts: `rondo plan groups` plans them for "
            "Megatron-LM and torchtitan.\n";
}

/// Reads the configuration; reports what it says that Rondo does otherwise.
int readConfig(StringRef path, int64_t sequence, json::ModelConfig &read) {
  const std::unique_ptr<MemoryBuffer> buffer = readOrReport(path);
  if (!buffer)
    return Failure;
  Result<json::ModelConfig> config = json::readModelConfig(
      json::splitDocuments("", buffer->getBuffer()).front().text, sequence);
  if (!config)
    return reportUnread(path, buffer->getBuffer(),
                        {formats::FileKind::ModelConfig},
                        describe(config.fault()));
  for (const std::string &warning : config->warnings)
    reportNote(path + ": " + warning);
  read = std::move(*config);
  return Success;
}

int run(const Arguments &arguments) {
  const std::string path = arguments.file();
  const std::string output = arguments.text("output");
  if (path.empty())
    return reportUsage("import model needs a file: the config.json of a model");
  if (output == "-" && arguments.has("json"))
    return reportUsage("--output=- and --json cannot be combined: both go to "
                       "standard output");
  if (int code =
          checkOutputs(inputFiles(arguments, {}), {{"--output", output}}))
    return code;
  ModelReport report;
  report.batch = arguments.number("batch", 1);
  report.target = pipe::symbolizeTarget(arguments.text("target"))
                      .value_or(pipe::Target::Cpu);
  report.dtype = pipe::symbolizeDType(arguments.text("dtype"))
                     .value_or(defaultDType(report.target));
  if (int code = checkDType(report.target, report.dtype))
    return code;
  if (int code =
          readConfig(path, arguments.number("sequence", 0), report.config))
    return code;
  report.name = arguments.text("name", report.config.type);

  if (report.config.architecture == json::Architecture::Experts) {
    if (!output.empty() || arguments.has("json"))
      return reportError(path + ": Rondo's programs have no experts, so " +
                         (output.empty() ? "--json" : "-o") +
                         " has nothing to write; `rondo plan groups " + path +
                         " CLUSTER --samples N` plans the model");
    printExperts(report);
    return Success;
  }
  Session session(path);
  mlir::OwningOpRef<mlir::ModuleOp> module = formats::importModel(
      report.config, report.name, report.batch, session.context());
  if (!module || failed(addRows(*module, report)))
    return Failure;
  if (const int64_t own = report.total().parameters,
      stated = json::parametersOf(report.config).total(report.config.layers);
      own != stated)
    return reportError(path + ": the model has " + Twine(stated) +
                       " parameters, but Rondo's layers would have " +
                       Twine(own));
  if (!output.empty())
    if (int code = writeOps(output, *module))
      return code;
  if (arguments.has("json"))
    printJson(report);
  else if (output != "-")
    printTable(report);
  if (!output.empty() && !arguments.has("json"))
    reportWritten(output, "pipe.model @" + Twine(report.name));
  return Success;
}

} // namespace

const Command &importModelCommand() {
  static const Command command{
      140,
      "import model",
      "make a pipe.model of a Hugging Face config.json",
      optionTable(),
      {"FILE [-o FILE] [OPTIONS]"},
      {"rondo import model config.json -o model.mlir --sequence 1024",
       "rondo import model config.json --target=cuda --batch 4"},
      nullptr,
      nullptr,
      run};
  return command;
}

} // namespace rondo::driver
