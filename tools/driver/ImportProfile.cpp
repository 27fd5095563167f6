//===- ImportProfile.cpp - rondo import profile ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/Imports.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Outputs.h"
#include "tools/driver/Report.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace llvm;

namespace rondo::driver {

namespace {

/// A text of the file for a comment, which a control character could end.
std::string inOneLine(StringRef text) {
  std::string line = text.str();
  std::replace_if(
      line.begin(), line.end(), [](char c) { return !isPrint(c); }, ' ');
  return line;
}

/// What the file says and what was assumed, for people who read the model.
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

int run(const Arguments &arguments) {
  const std::string path = arguments.file();
  const std::string output = arguments.text("output", "-");
  if (path.empty())
    return reportUsage(
        "import profile needs a file: the graph.txt of PipeDream's profiler");
  if (int code =
          checkOutputs(inputFiles(arguments, {}), {{"--output", output}}))
    return code;
  Expected<std::unique_ptr<MemoryBuffer>> buffer = readFile(path);
  if (!buffer)
    return reportError(toString(buffer.takeError()));
  Expected<formats::GraphProfile> profile =
      formats::readGraphProfile((*buffer)->getBuffer());
  if (!profile)
    return reportError(path + ": " + toString(profile.takeError()));
  const std::vector<formats::ProfileLayer> layers = formats::chainOf(*profile);
  const std::string name = arguments.text("name", "profile");
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  // Ops of this module have no place in a file.
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
          reportError(path + ": " + diagnostic.str());
      });
  mlir::OwningOpRef<mlir::ModuleOp> module =
      formats::importProfile(*profile, layers, name, &context);
  if (!module)
    return Failure;
  if (Error error = writeFile(output, [&](raw_ostream &os) {
        printComments(os, *profile, layers, arguments.number("batch", 0));
        formats::printOps(*module, os);
        return Error::success();
      }))
    return reportError(toString(std::move(error)));
  reportWritten(output, "pipe.model @" + Twine(name) + ", " +
                            countOf(layers.size(), "layer") + " of " +
                            countOf(profile->nodes.size(), "node"));
  return Success;
}

} // namespace

const Command &importProfileCommand() {
  static const Command command{
      "import profile",
      "make a pipe.model of a model's profile by PipeDream",
      importProfileOptions(),
      {"FILE [-o FILE] [OPTIONS]"},
      {"rondo import profile graph.txt --name vgg16 --batch 128 -o model.mlir"},
      nullptr,
      nullptr,
      run};
  return command;
}

} // namespace rondo::driver
