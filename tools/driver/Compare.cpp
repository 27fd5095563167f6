//===- Compare.cpp - rondo compare ----------------------------------------===//

#include "tools/driver/Commands.h"
#include "tools/driver/Interrupt.h"
#include "tools/driver/Report.h"
#include "tools/driver/SearchRun.h"
#include "tools/driver/Shapes.h"
#include "tools/driver/Simulate.h"

using namespace llvm;

namespace rondo::driver {

namespace {

cl::opt<std::string> inputPath(cl::Positional, cl::sub(compareSubCommand()),
                               cl::cat(category), cl::desc("FILE"));
cl::opt<std::string>
    costsPath("costs", cl::sub(compareSubCommand()), cl::cat(category),
              cl::value_desc("FILE"),
              cl::desc("measured times of the stages of a .mlir file "
                       "(rondo-costs/1)"));
cl::opt<bool> allRanks("all-ranks", cl::sub(compareSubCommand()),
                       cl::cat(category),
                       cl::desc("peak memory of every rank, not of the fullest "
                                "one"));
cl::opt<bool> asJson("json", cl::sub(compareSubCommand()), cl::cat(category),
                     cl::desc("print one rondo-schedule/1 line a schedule and "
                              "nothing else"));
cl::opt<bool> asCsv("csv", cl::sub(compareSubCommand()), cl::cat(category),
                    cl::desc("print one line of figures a schedule, with a "
                             "head"));

int run() {
  if (inputPath.empty())
    return reportUsage("compare needs a file");
  if (asJson && asCsv)
    return reportUsage("--json and --csv exclude each other");
  if (int code = checkSearchOptions())
    return code;
  SimulateRequest request;
  request.path = inputPath;
  request.choices = allFamilies();
  request.style = asJson ? Style::Json : asCsv ? Style::Csv : Style::Table;
  request.costsPath = costsPath;
  request.withSearch = true;
  request.allRanks = allRanks;
  Interrupt interrupt;
  if (shapeRequest().isEmpty())
    return simulateFile(request);
  if (!StringRef(inputPath).ends_with(".mlir"))
    return reportUsage(
        "--placement, --chunks and --microbatches need a .mlir "
        "file; a rondo-problem/1 line says where its stages lie");
  if (!costsPath.empty())
    return reportUsage("--costs measures the stages that a plan has; other "
                       "plans need times of the layers");
  return comparePlans(request);
}

} // namespace

const Command &compareCommand() {
  static const Command command = {
      &compareSubCommand(), "FILE [--json | --csv] [OPTIONS]",
      "  rondo compare examples/gpt-small.mlir --effort 1000\n"
      "  rondo compare examples/gpt-small.mlir --placement linear,interleaved\n"
      "  rondo compare problems.jsonl --csv > figures.csv\n",
      nullptr, run};
  return command;
}

} // namespace rondo::driver
