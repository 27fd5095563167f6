//===- trace_overhead.cpp - What a trace costs an iteration ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs 1F1B with layers that take no time, and has every other iteration
// traced: its tasks, messages and waits, and, as between iterations of a
// training, the copy of what was traced. Tasks, sends and receives each count
// as an action; ranks run in parallel, on as many cores as there are.
//
//===----------------------------------------------------------------------===//

#include "bench/TimedPipeline.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double best(const std::vector<double> &values) {
  return *std::min_element(values.begin(), values.end());
}

void measure(int ranks, int cores) {
  constexpr int microbatches = 256, iterations = 400;
  Spec spec = timedOnRanks(ranks, 0, microbatches);
  spec.pipeline = oneForwardOneBackward(spec, true);
  TimedPipeline pipeline(spec, cores);
  const double actions = static_cast<double>(pipeline.actions);
  ProgramRun run(pipeline.connections, pipeline.desc());
  Team team(ranks);
  /// Times in ns per action, one entry per iteration: without and with a trace.
  std::array<std::vector<double>, 2> times;
  std::vector<TraceEvent> taken;
  double events = 0;
  for (int i = 0; i < iterations; ++i) {
    const bool isTraced = i % 2 == 1;
    for (int r = 0; r < ranks; ++r)
      run.rank(r).keepTrace = isTraced;
    taken.clear();
    const auto start = std::chrono::steady_clock::now();
    run.iterate(team);
    for (int r = 0; r < ranks; ++r) {
      std::vector<TraceEvent> &fresh = run.rank(r).trace;
      taken.insert(taken.end(), fresh.begin(), fresh.end());
      fresh.clear();
    }
    const std::chrono::duration<double, std::nano> time =
        std::chrono::steady_clock::now() - start;
    // The first of each kind take memory.
    if (i < 2)
      continue;
    times[isTraced].push_back(time.count() * std::min(ranks, cores) / actions);
    if (isTraced)
      events = static_cast<double>(taken.size());
  }
  const auto &[off, on] = times;
  std::printf("%5d  %7.0f  %13.2f", ranks, actions, events / actions);
  std::printf("  %7.0f  %5.0f  %5.0f  %7.0f  %5.0f\n", median(off), median(on),
              median(on) - median(off), best(off), best(on));
}

} // namespace

int main() {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  double load[1] = {0};
  if (getloadavg(load, 1) == 1)
    std::printf("load %.1f on %d cores\n", load[0], cores);
  std::printf("ns for each action of 199 iterations without a trace, and with "
              "one\n"
              "                                 median                   best\n"
              "ranks  actions  events/action  without   with   more  without   "
              "with\n");
  for (int ranks : {1, 2})
    measure(ranks, cores);
  return 0;
}
