//===- Prediction.cpp - What a measurement is compared with ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Prediction.h"

#include "formats/json/ProgramTrace.h"
#include "formats/json/TimelineTrace.h"
#include "formats/timeline/Measured.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace rondo::driver {

int Prediction::read(const Arguments &arguments, const std::string &path,
                     const MeasuredFiles &measured) {
  // What comes from a pipe can be read once.
  if (!StringRef(path).ends_with(".mlir") && path != "-") {
    Expected<std::unique_ptr<MemoryBuffer>> buffer = readFile(path);
    if (!buffer)
      return reportError(toString(buffer.takeError()));
    const StringRef text = (*buffer)->getBuffer();
    if (json::isTimelineTrace(text) || json::isProgramTrace(text)) {
      for (const char *option :
           {"schedule", "schedules", "family", "costs", "name"})
        if (arguments.has(option))
          return reportUsage(Twine("--") + option +
                             " is not for a trace, which has a schedule and "
                             "its times");
      return readTrace(path, text, measured);
    }
  }
  WindowRequest window;
  window.isSingle = window.asProgram = true;
  if (int code =
          readPictured(arguments, path, window, measured.schedule(), pictured))
    return code;
  if (pictured->panels.size() == 1)
    return Success;
  std::vector<std::string> titles;
  for (const timeline::Panel &panel : pictured->panels)
    titles.push_back(panel.title);
  return reportError(path + ": has " + countOf(titles.size(), "schedule") +
                     ": " + join(titles, ", ") +
                     "; name the one that the program ran with --schedule");
}

int Prediction::readTrace(const std::string &path, StringRef text,
                          const MeasuredFiles &measured) {
  std::string title, problem;
  if (json::isTimelineTrace(text)) {
    Expected<json::TimelineTrace> trace = json::readTimelineTrace(text);
    if (!trace)
      return reportFault(path, toString(trace.takeError()));
    run = std::move(trace->run);
    chosen = &run.iterations.front();
    title = trace->title;
    problem = trace->problem;
  } else {
    Expected<MeasuredRun> other = json::readProgramTrace(text);
    if (!other)
      return reportFault(path, toString(other.takeError()));
    run = std::move(*other);
    isOtherRun = true;
    // Of the schedule that the other trace names, if it is one and both have
    // it.
    chosen = timeline::chooseIteration(run, measured.schedule(), 0);
    if (!chosen)
      chosen = timeline::chooseIteration(run, "", 0);
    title = "iteration " + std::to_string(chosen->number) + " of " +
            chosen->schedule;
    problem = path;
  }
  Expected<timeline::Panel> panel = timeline::panelOf(
      std::move(title), std::move(problem), run.numStages, *chosen);
  if (!panel)
    return reportError(path + ": " + toString(panel.takeError()));
  ofTrace = std::move(*panel);
  return Success;
}

} // namespace rondo::driver
