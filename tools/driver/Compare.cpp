//===- Compare.cpp - rondo compare ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Commands.h"
#include "tools/driver/Interrupt.h"
#include "tools/driver/Report.h"
#include "tools/driver/SearchRun.h"
#include "tools/driver/Shapes.h"
#include "tools/driver/Simulate.h"

using namespace llvm;

namespace rondo::driver {

namespace {

int run(const Arguments &arguments) {
  SimulateRequest request;
  request.path = arguments.file();
  if (request.path.empty())
    return reportUsage("compare needs a file");
  const bool asJson = arguments.has("json"), asCsv = arguments.has("csv");
  if (asJson && asCsv)
    return reportUsage("--json and --csv cannot be combined");
  request.choices = allFamilies();
  request.style = asJson ? Style::Json : asCsv ? Style::Csv : Style::Table;
  request.costsPath = arguments.text("costs");
  request.search = searchRequest(arguments);
  request.allRanks = arguments.has("all-ranks");
  Interrupt interrupt;
  const ShapeRequest shapes = shapeRequest(arguments);
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

} // namespace

const Command &compareCommand() {
  static const Command command = {
      "compare",
      "compare all families and a searched schedule",
      compareOptions(),
      {"FILE [--json | --csv] [OPTIONS]"},
      {"rondo compare examples/gpt-small.mlir --effort 1000",
       "rondo compare examples/gpt-small.mlir --placement linear,interleaved",
       "rondo compare problems.jsonl --csv > figures.csv"},
      nullptr,
      nullptr,
      run};
  return command;
}

} // namespace rondo::driver
