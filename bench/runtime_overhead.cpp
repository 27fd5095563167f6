//===- runtime_overhead.cpp - Host time of an action ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs 1F1B with layers that take no time and prints the host's time per
// action; tasks, sends and receives each count as one. Two ranks have a core
// each; four ranks on the same two cores show the cost of sharing. Then the
// same for a program that reads its actions from a table, as those do that a
// run has found.
//
//===----------------------------------------------------------------------===//

#include "bench/TimedPipeline.h"
#include "runtime/adaptive/found_program.h"
#include "runtime/adaptive/program_values.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

static void measure(int ranks, int cores, bool fromTable) {
  constexpr int microbatches = 256, iterations = 50;
  Spec spec = timedOnRanks(ranks, 0, microbatches);
  spec.pipeline = oneForwardOneBackward(spec, true);
  TimedPipeline pipeline(spec, cores);
  const ProgramDesc &own = pipeline.desc();
  const ProgramValues values = valuesOf(pipeline.program.exe, own);
  const FoundProgram found(own, "found", values.program, values.problem);
  ProgramRun run(pipeline.connections, fromTable ? found.desc() : own);
  Team team(ranks);
  std::vector<double> perAction;
  for (int i = 0; i < iterations; ++i) {
    auto start = std::chrono::steady_clock::now();
    run.iterate(team);
    std::chrono::duration<double, std::nano> time =
        std::chrono::steady_clock::now() - start;
    // Ranks run in parallel, on as many cores as there are.
    perAction.push_back(time.count() * std::min(ranks, cores) /
                        static_cast<double>(pipeline.actions));
  }
  std::sort(perAction.begin(), perAction.end());
  std::printf("%5d  %5d  %9lld  %11.0f  %9.0f  %s\n", ranks, cores,
              static_cast<long long>(pipeline.actions),
              perAction[iterations / 2], perAction.front(),
              fromTable ? "table" : "function");
}

int main() {
  int cores = static_cast<int>(std::thread::hardware_concurrency());
  std::printf("host time for each action, ns (median and best of 50 "
              "iterations)\n");
  std::printf("ranks  cores    actions       median       best\n");
  for (int ranks : {1, 2, 4})
    for (bool fromTable : {false, true})
      measure(ranks, cores, fromTable);
  return 0;
}
