//===- Compare.cpp - rondo compare ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Commands.h"
#include "tools/driver/CompareUnits.h"
#include "tools/driver/FamilyOption.h"
#include "tools/driver/Files.h"
#include "tools/driver/Interrupt.h"
#include "tools/driver/Outputs.h"
#include "tools/driver/Report.h"
#include "tools/driver/SearchRun.h"
#include "tools/driver/Shapes.h"
#include "tools/driver/Simulate.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rondo::driver {

namespace {

int compare(const SimulateRequest &request, const ShapeRequest &shapes) {
  if (shapes.isEmpty())
    return simulateFile(request);
  if (!StringRef(request.path).ends_with(".mlir"))
    return reportUsage(
        "--placement, --chunks and --microbatches need a .mlir file; the "
        "placement of a rondo-problem is fixed");
  if (!request.costsPath.empty())
    return reportUsage("--costs has times of the plan's stages; other plans "
                       "need times of the layers");
  return comparePlans(request, shapes);
}

int run(const Arguments &arguments) {
  SimulateRequest request;
  request.path = arguments.file();
  if (request.path.empty())
    return reportUsage("compare needs a file");
  const bool asJson = arguments.has("json"), asCsv = arguments.has("csv");
  if (asJson && asCsv)
    return reportUsage("--json and --csv cannot be combined");
  std::vector<FamilyChoice> units;
  for (const std::string &text : arguments.all("family")) {
    if (std::optional<std::string> fault =
            chooseFamilies(text, request.choices))
      return reportUsage(*fault);
    if (request.choices.back().hasAuto()) {
      units.push_back(std::move(request.choices.back()));
      request.choices.pop_back();
    }
  }
  if (!units.empty() && (!request.choices.empty() || units.size() > 1))
    return reportUsage("--family with auto prints a table of its own; leave "
                       "out the other families");
  if (request.choices.empty())
    request.choices = allFamilies();
  request.style = asJson ? Style::Json : asCsv ? Style::Csv : Style::Table;
  request.costsPath = arguments.text("costs");
  request.search = searchRequest(arguments);
  request.allRanks = arguments.has("all-ranks");
  const std::string output = arguments.text("output");
  void (*const draw)(raw_ostream &, ArrayRef<curves::Curve>) =
      StringRef(output).ends_with(".svg")    ? curves::writeSvg
      : StringRef(output).ends_with(".html") ? curves::writeHtml
                                             : nullptr;
  if (!output.empty() && !draw)
    return reportUsage("--output is '" + output +
                       "'; its ending says what it is: .svg or .html");
  if (int code = checkOutputs(inputFiles(arguments, {"costs"}),
                              {{"--output", output}}))
    return code;
  if (!output.empty())
    if (Error error = checkWritable(output))
      return reportError(toString(std::move(error)));
  if (!units.empty()) {
    if (asJson || draw)
      return reportUsage("--family with auto prints a table, as text or as "
                         "--csv; it has no --json and no picture");
    Interrupt interrupt;
    return compareUnits(request, shapeRequest(arguments), units.front());
  }
  std::vector<curves::Curve> curves;
  if (draw)
    request.curves = &curves;
  Interrupt interrupt;
  const int code = compare(request, shapeRequest(arguments));
  // Without a schedule there is nothing to draw, which has been reported.
  if (!draw || none_of(curves, [](const curves::Curve &curve) {
        return !curve.points.empty();
      }))
    return code;
  if (Error error = writeFile(output, [&](raw_ostream &os) {
        draw(os, curves);
        return Error::success();
      }))
    return reportError(toString(std::move(error)));
  if (!asJson && !asCsv)
    reportWritten(output, "time over memory of " +
                              countOf(int64_t(curves.size()), "problem"));
  return code;
}

} // namespace

const Command &compareCommand() {
  static const Command command = {
      "compare",
      "compare all families and a searched schedule",
      compareOptions(),
      {"FILE [--family NAME]... [--json | --csv] [-o FILE] [OPTIONS]"},
      {"rondo compare examples/gpt-small.mlir --effort 1000",
       "rondo compare examples/gpt-small.mlir -o curves.html",
       "rondo compare examples/gpt-small.mlir --placement linear,interleaved",
       "rondo compare examples/gpt-sharded.mlir --family "
       "blockwise:u=auto,v=auto",
       "rondo compare problems.jsonl --csv > figures.csv"},
      nullptr,
      nullptr,
      run};
  return command;
}

} // namespace rondo::driver
