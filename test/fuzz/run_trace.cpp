//===- run_trace.cpp - Fuzzes the readers of measured iterations ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ProgramTrace.h"
#include "formats/json/TimelineTrace.h"
#include "formats/json/TorchTrace.h"
#include "formats/timeline/Measured.h"
#include "schedule/timeline/TimeUse.h"
#include "test/fuzz/Target.h"

using namespace rondo;

namespace {

/// The parts of each rank's time add up to the iteration's.
void check(Result<MeasuredRun> run) {
  if (!run) {
    fuzz::require(!describe(run.fault()).empty(), "an error says why");
    return;
  }
  fuzz::require(!run->iterations.empty(), "a run has an iteration");
  for (const MeasuredIteration &iteration : run->iterations) {
    // As the prediction of itself.
    if (Result<timeline::Panel> panel =
            timeline::panelOf("it", "itself", run->numStages, iteration)) {
      Result<Timeline> laidOut = timeline::layOutMeasured(*panel, iteration);
      if (!laidOut)
        fuzz::require(!describe(laidOut.fault()).empty(), "an error says why");
    } else {
      fuzz::require(!describe(panel.fault()).empty(), "an error says why");
    }
    for (const TimeUse &use : timeUse(iteration)) {
      const int64_t sum = use.tasksNs + use.stepsNs + use.collectivesNs +
                          use.messagesNs + use.otherNs + use.doneNs +
                          use.waitedForAllNs();
      fuzz::require(sum == iteration.durationNs, "the parts add up");
    }
  }
}

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text = fuzz::textOf(data, size);
  check(json::readProgramTrace(text));
  Result<json::TimelineTrace> predicted = json::readTimelineTrace(text);
  if (predicted)
    check(std::move(predicted->run));
  else
    fuzz::require(!describe(predicted.fault()).empty(), "an error says why");
  const std::string name = "trace";
  check(json::readTorchTraces(name, llvm::StringRef(text)));
  return 0;
}
