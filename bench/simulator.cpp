//===- simulator.cpp - Tasks per second of simulate() ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One core; unit costs, links with latency and bandwidth. The result is
// `items_per_second`.
//
//===----------------------------------------------------------------------===//

#include "schedule/simulate/Simulator.h"
#include "schedule/families/Family.h"

#include <benchmark/benchmark.h>

using namespace rondo;

namespace {

Problem makeProblem(int32_t ranks, int32_t microbatches) {
  Problem problem;
  problem.microbatches = microbatches;
  problem.memoryCaps.assign(ranks, noMemoryCap);
  for (int32_t r = 0; r < ranks; ++r)
    problem.replicas.addStage(r);
  for (int32_t s = 0; s < ranks; ++s)
    problem.setStageCost(s, 1000, 1000, 1000, 4096, 1024);
  problem.makeChain(std::vector<int64_t>(ranks, 1 << 20));
  problem.link = {/*latencyNs=*/5, /*bytesPerUs=*/50000000};
  return problem;
}

void simulateFamily(benchmark::State &state, const char *name) {
  Problem problem = makeProblem(state.range(0), state.range(1));
  auto choice = chooseFamily(name, {});
  FamilyResult result = generate(*choice, problem);
  const Schedule &schedule = *result;
  for (auto _ : state) {
    Simulation simulation = simulate(problem, schedule);
    if (!simulation.complete)
      state.SkipWithError("the schedule does not run");
    benchmark::DoNotOptimize(simulation.makespanNs);
  }
  state.SetItemsProcessed(state.iterations() * schedule.numActions());
}

void sizes(benchmark::internal::Benchmark *benchmark) {
  benchmark->Args({64, 4096})
      ->Args({1024, 8192})
      ->ArgNames({"ranks", "microbatches"})
      ->Unit(benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(simulateFamily, 1f1b, "1f1b")->Apply(sizes);
BENCHMARK_CAPTURE(simulateFamily, zb_h1, "zb-h1")->Apply(sizes);

} // namespace

BENCHMARK_MAIN();
