//===- ImportProfile.cpp - rondo import profile ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/Fields.h"
#include "formats/json/ProblemReader.h"
#include "formats/json/TraceReader.h"
#include "formats/json/Value.h"
#include "formats/ops/Imports.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"
#include "tools/driver/Session.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

#define OPTIONS "tools/driver/ImportProfile.inc"
#include "tools/driver/OptionTable.inc"

using namespace llvm;

namespace rondo::driver {

namespace {

/// Kinds of files that `rondo import profile` reads.
constexpr formats::FileKind kindsOfProfiles[] = {
    formats::FileKind::GraphProfile, formats::FileKind::Problem,
    formats::FileKind::TorchTrace};

/// A text of the file for a comment, which a control character could end.
std::string inOneLine(StringRef text) {
  std::string line = text.str();
  std::replace_if(
      line.begin(), line.end(), [](char c) { return !isPrint(c); }, ' ');
  return line;
}

/// Writes as comments what was read from the file and what was assumed.
void printComments(raw_ostream &os, const formats::GraphProfile &profile,
                   ArrayRef<formats::ProfileLayer> layers, int64_t batch) {
  os << "// imported from a profile of PipeDream: times and sizes of one "
        "batch, "
     << (batch > 0 ? "of " + countOf(batch, "sample")
                   : "whose samples the file does not state")
     << "\n"
     << "// activation_bytes: the results of all nodes, held from F until W "
        "ends\n"
     << "// weight_grad_ns: an assumption, half of the backward of nodes with "
        "parameters; the profile has only the whole\n";
  if (any_of(profile.nodes, formats::isModelInput))
    os << "// left out: the time of inputs, which is that of loading data\n";
  if (profile.hasStages)
    os << "// left out: stage_id, the stages that PipeDream chose\n";
  for (const formats::ProfileLayer &layer : layers) {
    os << "// " << inOneLine(formats::layerName(profile, layer)) << ":";
    for (uint32_t place : layer.nodes) {
      const formats::ProfileNode &node = profile.nodes[place];
      os << (place == layer.nodes.front() ? " " : ", ");
      const StringRef operation = node.description;
      os << (layer.nodes.size() > 1 ? inOneLine(node.id) + " " +
                                          inOneLine(operation.split('(').first)
                                    : inOneLine(operation));
    }
    os << "\n";
  }
}

/// The graph.txt of PipeDream's profiler.
int importGraph(const Arguments &arguments, const std::string &path,
                StringRef text) {
  const std::string output = arguments.text("output", "-");
  Result<formats::GraphProfile> profile = formats::readGraphProfile(text);
  if (!profile)
    return reportUnread(path, text, kindsOfProfiles, describe(profile.fault()));
  const std::vector<formats::ProfileLayer> layers = formats::chainOf(*profile);
  const std::string name = arguments.text("name", "profile");
  Session session(path);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      formats::importProfile(*profile, layers, name, session.context());
  if (!module)
    return Failure;
  if (int code = writeOps(output, *module, [&](raw_ostream &os) {
        printComments(os, *profile, layers, arguments.number("batch", 0));
      }))
    return code;
  reportWritten(output, "pipe.model @" + Twine(name) + ", " +
                            countOf(layers.size(), "layer") + " of " +
                            countOf(profile->nodes.size(), "node"));
  return Success;
}

/// Stages that the Python package measured, as a problem.
int importMeasured(const Arguments &arguments, const std::string &path,
                   StringRef text) {
  const std::string output = arguments.text("output", "-");
  Result<Problem> problem = json::readProblem(text);
  if (!problem)
    return reportFault(path, describe(problem.fault()));
  const std::string name = arguments.text("name", "profile");
  Session session(path);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      formats::importStages(*problem, name, session.context());
  if (!module)
    return Failure;
  const int64_t batch = arguments.number("batch", 0);
  if (int code = writeOps(output, *module, [&](raw_ostream &os) {
        os << "// imported from measured stages: times and sizes of a "
              "micro-batch, "
           << (batch > 0 ? "of " + countOf(batch, "sample")
                         : "whose samples the file does not state")
           << "\n";
        if (problem->weightBytes.empty())
          os << "// the file has no parameter_bytes: weights take no memory "
                "and their gradients no sums\n";
        if (const int32_t count = formats::stagesOfCheaperBackward(*problem))
          os << "// B of " << countOf(count, "stage")
             << " takes less than I and W: orders with B are faster than "
                "predicted\n";
      }))
    return code;
  reportWritten(output, "pipe.model @" + Twine(name) + ", " +
                            countOf(problem->numStages(), "layer"));
  return Success;
}

bool isProblem(StringRef text) {
  const std::optional<json::Value> format =
      json::checkSyntax(text) ? std::nullopt
                              : json::findMember(json::Value(text), "format");
  const std::optional<std::string> name =
      format ? format->string() : std::nullopt;
  return name && StringRef(*name).starts_with("rondo-problem/");
}

/// Something else written in JSON, of which a trace of a rank is the only kind.
bool isTrace(StringRef text) {
  text = text.ltrim();
  return text.starts_with("{") || text.starts_with("[");
}

/// Reports how the figures of traces were taken.
void reportTraces(const json::StageTraces &traces) {
  if (const int64_t count = traces.numOnHost(); count > 0)
    reportNote(countOf(count, "stage") + (count == 1 ? " has" : " have") +
               " times of the host, waiting included, as the traces have no "
               "ranges of its kernels");
  const std::vector<int64_t> halved = traces.halved();
  if (!halved.empty())
    reportNote(countOf(halved.size(), "stage") +
               (halved.size() == 1 ? " has" : " have") +
               " no I and W apart, from s" + Twine(halved.front()) +
               " on; each is taken to be half of B, an assumption");
  if (const int64_t count = traces.numEmpty(); count > 0)
    reportNote(countOf(count, "range") +
               " of 0 us left out of the medians, as " +
               (count == 1 ? "it" : "they") + " measured nothing");
  if (traces.overlapped() > 0)
    reportNote(countOf(traces.overlapped(), "range") +
               " of two overlapped actions left out");
}

/// Traces of PyTorch's profiler, one of each rank.
int importTraces(const Arguments &arguments,
                 const std::vector<std::string> &paths,
                 ArrayRef<std::unique_ptr<MemoryBuffer>> texts) {
  if (arguments.has("name"))
    return reportUsage("--name is for the model of a graph.txt; a trace has "
                       "the times of stages alone");
  json::StageTraces traces;
  for (const auto &[path, text] : zip_equal(paths, texts)) {
    if (!isTrace(text->getBuffer()))
      return reportUnread(path, text->getBuffer(), kindsOfProfiles,
                          "not a trace, which is JSON; of a graph.txt give one "
                          "alone");
    const int64_t before = traces.numRanges();
    if (std::optional<Fault> fault = traces.add(text->getBuffer()))
      return reportUnread(path, text->getBuffer(), kindsOfProfiles,
                          describe(*fault));
    // The medians of a single trace say more.
    if (paths.size() > 1 && traces.numRanges() == before)
      return reportUnread(path, text->getBuffer(), kindsOfProfiles,
                          "no range has a name such as \"PP:0F3\", so that the "
                          "stages of this rank would be missing");
  }
  Result<json::Costs> costs = traces.medians();
  if (!costs) {
    const std::string fault = describe(costs.fault());
    for (const auto &[path, text] : zip_equal(paths, texts))
      if (int code = checkFileKind(path, text->getBuffer(), kindsOfProfiles))
        return code;
    return reportError((paths.size() == 1 ? paths.front() : "the traces") +
                       ": " + fault);
  }
  costs->microbatchSamples = arguments.number("batch", 0);
  const std::string output = arguments.text("output", "-");
  if (int code = writeOrReport(
          output, [&](raw_ostream &os) { json::writeCosts(*costs, os); }))
    return code;
  reportTraces(traces);
  reportWritten(output, "medians of " + countOf(costs->stages.size(), "stage") +
                            ", each of at least " +
                            countOf(traces.samples(), "range"));
  return Success;
}

int run(const Arguments &arguments) {
  const std::vector<std::string> paths = arguments.files();
  if (paths.empty())
    return reportUsage("import profile needs a file: the graph.txt of "
                       "PipeDream's profiler, a rondo-problem of the Python "
                       "package's, or traces of PyTorch's");
  std::vector<UsedFile> inputs;
  for (const std::string &path : paths)
    inputs.push_back({"an input file", path});
  if (int code =
          checkOutputs(inputs, {{"--output", arguments.text("output", "-")}}))
    return code;
  std::vector<std::unique_ptr<MemoryBuffer>> texts;
  for (const std::string &path : paths) {
    std::unique_ptr<MemoryBuffer> buffer = readOrReport(path);
    if (!buffer)
      return Failure;
    texts.push_back(std::move(buffer));
  }
  const StringRef first = texts.front()->getBuffer();
  if (paths.size() == 1 && isTrace(first) && isProblem(first))
    return importMeasured(arguments, paths.front(), first);
  return paths.size() == 1 && !isTrace(first)
             ? importGraph(arguments, paths.front(), first)
             : importTraces(arguments, paths, texts);
}

} // namespace

const Command &importProfileCommand() {
  static const Command command{
      160,
      "import profile",
      "make a pipe.model of PipeDream's profile or of measured stages, or "
      "costs of PyTorch's traces",
      optionTable(),
      {"FILE [-o FILE] [OPTIONS]", "TRACE... [-o FILE] [--batch N]"},
      {"rondo import profile graph.txt --name vgg16 --batch 128 -o model.mlir",
       "rondo import profile stages.json --batch 4 -o model.mlir",
       "rondo import profile rank0.json rank1.json -o costs.json"},
      nullptr,
      nullptr,
      run,
      4096};
  return command;
}

} // namespace rondo::driver
