//===- LoopbackTest.cpp - Several ranks on one emulated GPU ---------------===//

#include "test/cuda_emulation/emulation.h"
#include "test/unit/runtime/Fixture.h"

#include "runtime/backend.h"
#include "runtime/plan_run.h"

#include "gtest/gtest.h"

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

std::vector<std::vector<float>>
weightsAfter(const Executable &exe, PlanKind kind, int iterations, bool graph) {
  State state(exe);
  state.poison();
  state.initialise(1);
  PlanOptions options;
  options.transport.cores = 2;
  options.transport.useGraph = graph;
  options.transport.timeoutSeconds = 5;
  PlanRun run(state, findPlan(exe, kind), options);
  Team team(run.plan().numRanks);
  for (int i = 1; i <= iterations; ++i) {
    ControlHeader header{};
    header.step.step = i;
    header.step.learningRate = 0.01f;
    header.isFinite = 1;
    for (int32_t s = 0; s < exe.numStages; ++s)
      state.write(s, state.stages()[s].control.header, &header, sizeof header);
    run.iterate(team);
  }
  std::vector<std::vector<float>> weights;
  for (const Tensor &tensor : state.tensors()) {
    weights.emplace_back(tensor.layout.count);
    state.read(tensor.stage, weights.back().data(), tensor.weights,
               4 * tensor.layout.count);
  }
  return weights;
}

TEST(Loopback, Smoke) {
  Spec spec;
  spec.layers = syntheticLayers(4, 0);
  for (int r = 0; r < 4; ++r) {
    spec.layersOfStage.push_back(1);
    spec.rankOfStage.push_back(r);
  }
  spec.messageSlots = 2;
  spec.savedSlots = 5;
  spec.pipeline = oneForwardOneBackward(spec, true);
  Program program(spec);
  auto reference = weightsAfter(program.exe, PlanKind::Pipeline, 4, false);
  for (uint64_t seed = 0; seed < 5; ++seed) {
    emulation::seed(seed);
    Executable exe = program.exe;
    exe.backend = &cudaBackend;
    emulation::GuardedMemory guarded;
    EXPECT_EQ(weightsAfter(exe, PlanKind::Pipeline, 4, false), reference);
    EXPECT_EQ(weightsAfter(exe, PlanKind::Sequential, 4, false), reference);
    EXPECT_EQ(weightsAfter(exe, PlanKind::Pipeline, 4, true), reference);
    emulation::setDevices(4);
    EXPECT_EQ(weightsAfter(exe, PlanKind::Pipeline, 4, false), reference);
    EXPECT_EQ(weightsAfter(exe, PlanKind::Pipeline, 4, true), reference);
    emulation::setDevices(1);
  }
}
} // namespace
