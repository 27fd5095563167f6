//===- Measured.cpp - Traces, and what they are compared with -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Measured.h"

#include "formats/json/ProgramTrace.h"
#include "formats/json/TimelineTrace.h"
#include "formats/json/TorchTrace.h"
#include "formats/timeline/Measured.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace llvm;

namespace rondo::driver {

int MeasuredFiles::read(ArrayRef<std::string> paths) {
  name = paths.size() == 1 ? paths.front() : "the traces";
  std::vector<std::unique_ptr<MemoryBuffer>> buffers;
  std::vector<StringRef> texts;
  for (const std::string &path : paths) {
    std::unique_ptr<MemoryBuffer> buffer = readOrReport(path);
    if (!buffer)
      return Failure;
    texts.push_back(buffer->getBuffer());
    buffers.push_back(std::move(buffer));
    if (json::isTimelineTrace(texts.back()))
      return reportError(path + ": it is a prediction, of rondo show; give it "
                                "first, and the measured traces after it");
    if (paths.size() > 1 && json::isProgramTrace(texts.back()))
      return reportError(path + ": the trace of a program has all its ranks; "
                                "give it alone");
  }
  const bool isProgram = json::isProgramTrace(texts.front());
  Result<MeasuredRun> found = isProgram ? json::readProgramTrace(texts.front())
                                        : json::readTorchTraces(paths, texts);
  if (!found) {
    const std::string fault = describe(found.fault());
    for (const auto &[path, text] : zip_equal(paths, texts))
      if (int code = checkFileKind(
              path, text,
              {formats::FileKind::ProgramTrace, formats::FileKind::TorchTrace}))
        return code;
    // The fault of one of PyTorch's traces begins with its name.
    StringRef what = fault;
    const auto *of = find_if(paths, [&](const std::string &path) {
      return isProgram || what.consume_front(path + ": ");
    });
    int code = of == paths.end() ? reportError(fault) : reportFault(*of, what);
    if (!texts.front().ltrim().starts_with("{"))
      reportNote("what was measured is a trace: of a program, by --trace, or "
                 "of PyTorch's profiler");
    return code;
  }
  run = std::move(*found);
  return Success;
}

std::string MeasuredFiles::schedule() const {
  std::set<std::string> names;
  for (const MeasuredIteration &iteration : run.iterations)
    names.insert(iteration.schedule);
  return names.size() == 1 ? *names.begin() : std::string();
}

bool MeasuredFiles::has(StringRef schedule) const {
  return any_of(run.iterations, [&](const MeasuredIteration &iteration) {
    return iteration.schedule == schedule;
  });
}

int MeasuredFiles::layOut(const timeline::Panel &predicted, StringRef schedule,
                          int64_t number, const MeasuredIteration *&iteration,
                          timeline::Panel &panel) const {
  iteration = timeline::chooseIteration(run, schedule, number);
  if (!iteration) {
    std::set<std::string> names;
    for (const MeasuredIteration &each : run.iterations)
      names.insert(each.schedule);
    return reportError(
        name + ": has no iteration" +
        (number > 0 ? " " + std::to_string(number) : std::string()) +
        (schedule.empty() ? "" : " of schedule '" + schedule.str() + "'") +
        "; it has " + std::to_string(run.iterations.front().number) + " to " +
        std::to_string(run.iterations.back().number) + " of " +
        join(names, ", "));
  }
  // Different ranks are reported below.
  if (run.numStages != predicted.problem.numStages() &&
      int32_t(iteration->ranks.size()) == predicted.problem.numRanks())
    return reportError(name + ": the trace has " +
                       countOf(run.numStages, "stage") + ", the plan " +
                       std::to_string(predicted.problem.numStages()));
  Result<Timeline> timeline = timeline::layOutMeasured(predicted, *iteration);
  if (!timeline)
    return reportError(name + ": " + describe(timeline.fault()) + " (" +
                       predicted.title + ")");
  panel = {"measured: iteration " + std::to_string(iteration->number) +
               (iteration->schedule.empty() ? std::string()
                                            : " of " + iteration->schedule),
           predicted.problem, std::move(*timeline)};
  return Success;
}

int Prediction::read(const Arguments &arguments, const std::string &path,
                     const MeasuredFiles &measured) {
  // A pipe can be read only once.
  if (!isModuleFile(path) && path != "-") {
    const std::unique_ptr<MemoryBuffer> buffer = readOrReport(path);
    if (!buffer)
      return Failure;
    const StringRef text = buffer->getBuffer();
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
    Result<json::TimelineTrace> trace = json::readTimelineTrace(text);
    if (!trace)
      return reportFault(path, describe(trace.fault()));
    run = std::move(trace->run);
    chosen = &run.iterations.front();
    title = trace->title;
    problem = trace->problem;
  } else {
    Result<MeasuredRun> other = json::readProgramTrace(text);
    if (!other)
      return reportFault(path, describe(other.fault()));
    run = std::move(*other);
    isOtherRun = true;
    // Takes the schedule that the other trace names, if it names one and both
    // have it.
    chosen = timeline::chooseIteration(run, measured.schedule(), 0);
    if (!chosen)
      chosen = timeline::chooseIteration(run, "", 0);
    title = "iteration " + std::to_string(chosen->number) + " of " +
            chosen->schedule;
    problem = path;
  }
  Result<timeline::Panel> panel = timeline::panelOf(
      std::move(title), std::move(problem), run.numStages, *chosen);
  if (!panel)
    return reportError(path + ": " + describe(panel.fault()));
  ofTrace = std::move(*panel);
  return Success;
}

} // namespace rondo::driver
