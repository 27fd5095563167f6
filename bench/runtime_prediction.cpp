//===- runtime_prediction.cpp - Measured and predicted time ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Eight ranks of timed layers run 1F1B. Layers sleep, so the number of cores
// does not matter. The prediction is the closed form of 1F1B for equal stages.
//
//===----------------------------------------------------------------------===//

#include "bench/TimedPipeline.h"
#include "runtime/base/clock.h"

#include <algorithm>
#include <cstdio>
#include <thread>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

int main() {
  constexpr int ranks = 8, microbatches = 16, iterations = 10;
  constexpr int64_t taskNs = 5'000'000;
  constexpr int64_t predictedNs = (microbatches + ranks - 1) * 3 * taskNs;
  const int cores = static_cast<int>(std::thread::hardware_concurrency());

  TimedPipeline pipeline(timedOnRanks(ranks, taskNs, microbatches), cores);
  ProgramRun run(pipeline.connections, pipeline.desc());
  Team team(ranks);
  int64_t times[iterations];
  for (int64_t &time : times) {
    int64_t start = nowNs();
    run.iterate(team);
    time = nowNs() - start;
  }
  std::sort(times, times + iterations);
  auto print = [&](const char *name, int64_t ns) {
    std::printf("%-9s  %7.2f ms  %+5.2f %%\n", name,
                static_cast<double>(ns) * 1e-6,
                100.0 * static_cast<double>(ns - predictedNs) / predictedNs);
  };
  std::printf("1F1B, %d ranks on %d cores, %d micro-batches, tasks of 5 ms\n",
              ranks, cores, microbatches);
  print("predicted", predictedNs);
  print("best", times[0]);
  print("median", times[iterations / 2]);
  return 0;
}
