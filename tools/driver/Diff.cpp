//===- Diff.cpp - rondo diff ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reports/DiffReport.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Measured.h"
#include "tools/driver/Report.h"
#include "tools/driver/Terminal.h"

#define OPTIONS "tools/driver/Diff.inc"
#include "tools/driver/OptionTable.inc"

using namespace llvm;

namespace rondo::driver {

namespace {

int run(const Arguments &arguments) {
  const std::vector<std::string> paths = arguments.files();
  if (paths.size() < 2)
    return reportUsage("diff needs two files: what was predicted (.mlir, a "
                       "rondo-problem or a trace), then the trace of a program "
                       "that ran it");
  Interrupt interrupt;
  MeasuredFiles measured;
  if (int code = measured.read(ArrayRef(paths).drop_front()))
    return code;
  Prediction prediction;
  if (int code = prediction.read(arguments, paths.front(), measured))
    return code;
  const timeline::Panel &predicted = prediction.panel();
  const MeasuredIteration *iteration = nullptr;
  timeline::Panel panel;
  const int64_t number = arguments.number("iteration", 0);
  std::string schedule = arguments.text("schedule");
  // If a run had several schedules, compare the one that the other run had.
  if (prediction.iteration() && measured.has(prediction.iteration()->schedule))
    schedule = prediction.iteration()->schedule;
  if (int code = measured.layOut(predicted, schedule, number, iteration, panel))
    return code;
  const DiffReport report{predicted,
                          prediction.word(),
                          *iteration,
                          int64_t(measured.run.iterations.size()),
                          number > 0,
                          prediction.use(),
                          timeUse(*iteration),
                          largestDifferences(predicted.timeline,
                                             prediction.iteration(),
                                             panel.timeline, *iteration,
                                             arguments.number("most", 10))};
  if (arguments.has("json"))
    report.writeJson(outs());
  else
    report.writeText(outs());
  return Interrupt::exitCode(Success);
}

} // namespace

const Command &diffCommand() {
  static const Command command{
      90,
      "diff",
      "say where a program's time differs from what was predicted",
      optionTable(),
      {"FILE.mlir TRACE... [--schedule NAME] [OPTIONS]",
       "FILE TRACE... [--schedules FILE | --family NAME] [OPTIONS]",
       "PREDICTED.json TRACE... [OPTIONS]"},
      {"rondo diff examples/gpt-small.mlir trace.json",
       "rondo diff problem.json trace.json --family 1f1b --json"},
      nullptr,
      nullptr,
      run,
      1 + maxTraces};
  return command;
}

} // namespace rondo::driver
