//===- action_ring.cpp - The cost of remembering an action ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cost of the last words of a rank, per action: an action that waits for no
// message, and one that waits for one. The reading of the processor's counter
// is part of both and is shown alone as well.
//
//===----------------------------------------------------------------------===//

#include "runtime/execution/action_ring.h"

#include <benchmark/benchmark.h>

using namespace rondo::runtime;

static void remember(benchmark::State &state) {
  ActionRing ring;
  ring.beginRun({"bench"}, 0);
  uint64_t what = 0;
  for (auto _ : state)
    ring.begin(++what & 0xffffff);
  benchmark::DoNotOptimize(ring.begun());
}
BENCHMARK(remember);

static void rememberWithWait(benchmark::State &state) {
  ActionRing ring;
  ring.beginRun({"bench"}, 0);
  uint64_t what = 0;
  for (auto _ : state) {
    ring.begin(++what & 0xffffff);
    ring.waitFor(static_cast<int32_t>(what & 7));
    ring.endWaits();
  }
  benchmark::DoNotOptimize(ring.begun());
}
BENCHMARK(rememberWithWait);

static void readCounter(benchmark::State &state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(Ticks::now());
}
BENCHMARK(readCounter);

BENCHMARK_MAIN();
