//===- Show.cpp - rondo show ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/timeline/Pictures.h"
#include "reports/Figures.h"
#include "reports/TextTimeline.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Exchange.h"
#include "tools/driver/Files.h"
#include "tools/driver/Measured.h"
#include "tools/driver/Report.h"
#include "tools/driver/Terminal.h"
#include "tools/driver/TimelineOutput.h"
#include "tools/driver/Windows.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#define OPTIONS "tools/driver/Show.inc"
#include "tools/driver/OptionTable.inc"

using namespace llvm;

namespace rondo::driver {

namespace {

constexpr int textWidth = 120;

void writeText(raw_ostream &os, ArrayRef<timeline::Panel> panels) {
  for (const timeline::Panel &panel : panels) {
    os << (&panel == panels.begin() ? "" : "\n") << panel.title << "\n"
       << renderTimeline(panel.problem, panel.timeline, textWidth,
                         /*color=*/false);
    for (const std::string &note : panel.notes)
      os << "  " << note << "\n";
  }
}

/// A kind of picture, by the ending of its file.
struct Picture {
  const char *ending;
  const char *summary;
  void (*write)(raw_ostream &os, ArrayRef<timeline::Panel> panels);
};
constexpr Picture pictures[] = {
    {".html", "a page without network: zoom, pan, hover, critical path",
     timeline::writeHtml},
    {".svg", "a picture for papers", timeline::writeSvg},
    {".json", "a trace for Perfetto and Chrome", timeline::writeTrace},
    {".txt", "text", writeText},
};

void printPictures(raw_ostream &os) {
  for (const Picture &picture : pictures)
    os << "  " << left_justify(picture.ending, 8) << picture.summary << "\n";
}

/// Adds what a program did: of the last schedule that the trace names, or where
/// it names none of them, of the last one.
int addMeasured(const Arguments &arguments, const MeasuredFiles &measured,
                TimelineOutput &pictured) {
  const timeline::Panel *predicted = &pictured.panels.back();
  StringRef schedule;
  for (const timeline::Panel &panel : reverse(pictured.panels)) {
    const StringRef name = StringRef(panel.title).split(' ').first;
    if (!name.starts_with("@") || !measured.has(name.drop_front()))
      continue;
    predicted = &panel;
    schedule = name.drop_front();
    break;
  }
  const MeasuredIteration *iteration = nullptr;
  timeline::Panel panel;
  if (int code =
          measured.layOut(*predicted, schedule,
                          arguments.number("iteration", 0), iteration, panel))
    return code;
  pictured.panels.push_back(std::move(panel));
  return Success;
}

int run(const Arguments &arguments) {
  const std::vector<std::string> paths = arguments.files();
  if (paths.empty())
    return reportUsage("show needs a file: .mlir, or rondo-problem with "
                       "--schedules FILE or --family NAME");
  const std::string output = arguments.text("output", "-");
  if (int code = checkOutputs(inputFiles(arguments, {"schedules", "costs"}),
                              {{"--output", output}}))
    return code;
  const Picture *picture = find_if(pictures, [&](const Picture &each) {
    return StringRef(output).ends_with(each.ending);
  });
  if (output == "-")
    picture = std::end(pictures) - 1;
  if (picture == std::end(pictures))
    return reportUsage("--output is '" + output +
                       "'; its ending says what it is: .html, .svg, .json or "
                       ".txt");
  Interrupt interrupt;
  if (paths.size() == 1 && arguments.has("iteration"))
    return reportUsage("--iteration needs the trace of a program after the "
                       "file");
  MeasuredFiles measured;
  if (paths.size() > 1)
    if (int code = measured.read(ArrayRef(paths).drop_front()))
      return code;
  std::optional<TimelineOutput> pictured;
  WindowRequest window;
  window.iterations = arguments.number("iterations", 0);
  window.asProgram = paths.size() > 1;
  if (int code = readPictured(arguments, paths.front(), window,
                              measured.schedule(), pictured))
    return code;
  if (paths.size() > 1)
    if (int code = addMeasured(arguments, measured, *pictured))
      return code;
  if (int code = writeOrReport(output, [&](raw_ostream &os) {
        picture->write(os, pictured->panels);
      }))
    return code;
  reportWritten(output, countOf(pictured->panels.size(), "schedule") + " of " +
                            shapeOf(pictured->problem));
  return Interrupt::exitCode(Success);
}

} // namespace

const Command &showCommand() {
  static const Command command{
      80,
      "show",
      "draw schedules over time",
      optionTable(),
      {"FILE.mlir [TRACE...] [--schedule LIST] [-o FILE] [OPTIONS]",
       "FILE [TRACE...] [--schedules FILE] [--family NAME]... [-o FILE]"},
      {"rondo show examples/gpt-small.mlir -o schedules.html",
       "rondo show problem.json --family 1f1b --family zb-h1 -o paper.svg",
       "rondo show examples/gpt-small.mlir trace.json -o measured.html"},
      "pictures",
      printPictures,
      run,
      1 + maxTraces};
  return command;
}

} // namespace rondo::driver
