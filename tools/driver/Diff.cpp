//===- Diff.cpp - rondo diff ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Commands.h"
#include "tools/driver/DiffReport.h"
#include "tools/driver/Interrupt.h"
#include "tools/driver/MeasuredFiles.h"
#include "tools/driver/Pictured.h"
#include "tools/driver/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace rondo::driver {

namespace {

int run(const Arguments &arguments) {
  const std::vector<std::string> paths = arguments.files();
  if (paths.size() < 2)
    return reportUsage("diff needs two files: a .mlir file or a rondo-problem, "
                       "then the trace of a program that ran it");
  Interrupt interrupt;
  MeasuredFiles measured;
  if (int code = measured.read(ArrayRef(paths).drop_front()))
    return code;
  std::optional<Pictured> pictured;
  if (int code = readPictured(arguments, paths.front(), {}, measured.schedule(),
                              pictured))
    return code;
  if (pictured->panels.size() != 1) {
    std::vector<std::string> titles;
    for (const timeline::Panel &panel : pictured->panels)
      titles.push_back(panel.title);
    return reportError(paths.front() + ": has " +
                       countOf(titles.size(), "schedule") + ": " +
                       join(titles, ", ") +
                       "; name the one that the program ran with --schedule");
  }
  const timeline::Panel &predicted = pictured->panels.front();
  const MeasuredIteration *iteration = nullptr;
  timeline::Panel panel;
  const int64_t number = arguments.number("iteration", 0);
  if (int code = measured.layOut(predicted, arguments.text("schedule"), number,
                                 iteration, panel))
    return code;
  const DiffReport report{predicted,
                          *iteration,
                          int64_t(measured.run.iterations.size()),
                          number > 0,
                          timeUse(predicted.problem, predicted.timeline),
                          timeUse(*iteration),
                          largestDifferences(predicted.timeline, panel.timeline,
                                             *iteration,
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
      "diff",
      "say where a program's time differs from what was predicted",
      diffOptions(),
      {"FILE.mlir TRACE... [--schedule NAME] [OPTIONS]",
       "FILE TRACE... [--schedules FILE | --family NAME] [OPTIONS]"},
      {"rondo diff examples/gpt-small.mlir trace.json",
       "rondo diff problem.json trace.json --family 1f1b --json"},
      nullptr,
      nullptr,
      run,
      1 + mostTraces};
  return command;
}

} // namespace rondo::driver
