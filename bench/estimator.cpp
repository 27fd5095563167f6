//===- estimator.cpp - Time to estimate the schedules of a program --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cost of one decision in the background thread of a running program: eight
// kfkb programs, each timed by the core's simulator with its messages and
// slots. One core.
//
//===----------------------------------------------------------------------===//

#include "lowering/Lowering.h"
#include "schedule/families/Family.h"
#include "schedule/program/ProgramSimulator.h"

#include <benchmark/benchmark.h>

using namespace rondo;

namespace {

constexpr int64_t candidates = 8;

Problem makeProblem(int32_t ranks, int32_t microbatches) {
  Problem problem;
  problem.microbatches = microbatches;
  problem.memoryCaps.assign(ranks, noMemoryCap);
  for (int32_t r = 0; r < ranks; ++r)
    problem.replicas.addStage(r);
  for (int32_t s = 0; s < ranks; ++s)
    problem.setStageCost(s, 1000000, 1000000, 1000000, 4096, 1024);
  std::vector<int64_t> bytes(ranks, 1 << 20);
  bytes.back() = 0;
  problem.makeChain(bytes);
  problem.link = {/*latencyNs=*/5000, /*bytesPerUs=*/2000};
  return problem;
}

void estimate(benchmark::State &state) {
  const Problem problem = makeProblem(state.range(0), state.range(1));
  PlanFigures plan;
  ReplicaBuffers buffers{};
  buffers[static_cast<int>(BufferKind::SavedForInputGrad)] = 4096;
  for (BufferKind kind : {BufferKind::Input, BufferKind::Output,
                          BufferKind::OutputGrad, BufferKind::InputGrad})
    buffers[static_cast<int>(kind)] = 1 << 20;
  plan.buffers.assign(problem.numReplicas(), buffers);
  plan.devices.assign(problem.numRanks(), noMemoryCap);
  std::vector<Program> programs;
  int64_t actions = 0;
  for (int64_t k = 1; k <= candidates; ++k) {
    const auto schedule = *generate({findFamily("kfkb"), {{"k", k}}}, problem);
    ProvedPrograms proved = provePrograms(plan, problem, schedule);
    if (proved.fault)
      return state.SkipWithError("a program does not run");
    actions += proved.pipeline.order.numActions();
    programs.push_back(std::move(proved.pipeline));
  }
  for (auto _ : state)
    for (const Program &program : programs)
      benchmark::DoNotOptimize(simulateProgram(problem, program).makespanNs);
  state.SetItemsProcessed(state.iterations() * actions);
}

BENCHMARK(estimate)
    ->Args({8, 32})
    ->Args({64, 512})
    ->ArgNames({"ranks", "microbatches"})
    ->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
