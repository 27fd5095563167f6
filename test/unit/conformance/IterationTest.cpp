//===- IterationTest.cpp - Whole iterations on every pair -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same executable on each device and transport, against its sequential run
// on the CPU: timed layers bit by bit, since their gradients are whole numbers;
// a GPT within rounding, and bit by bit between the schedules of one device.
//
//===----------------------------------------------------------------------===//

#include "Conformance.h"

#include "test/unit/runtime/Fixture.h"

#include "runtime/execution/program_run.h"

#include <cmath>
#include <stdexcept>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

using Weights = std::vector<std::vector<float>>;

/// The results of a run.
struct Outcome {
  Weights weights;
  std::vector<float> losses;
  double norm = 0;
};

struct Run {
  ProgramKind kind = ProgramKind::Pipeline;
  int iterations = 4;
  bool useGraph = true;
  /// Pipelines that run in turn, three iterations each; empty: the first. With
  /// kind Sequential, their references run.
  std::vector<std::string> turns = {};
};

/// The program of iteration `i`, from 1.
const ProgramDesc &programOf(const Executable &exe, const Run &run, int i) {
  if (run.turns.empty())
    return findProgram(exe, run.kind);
  const std::string &name = run.turns[(i - 1) / 3 % run.turns.size()];
  for (int32_t p = 0; p < exe.numPrograms; ++p)
    if (exe.programs[p].kind == ProgramKind::Pipeline &&
        exe.programs[p].name == name)
      return run.kind == ProgramKind::Pipeline
                 ? exe.programs[p]
                 : findProgram(exe, run.kind, exe.programs[p]);
  throw std::logic_error("no pipeline " + name);
}

Outcome runOn(const Backend *backend, const Program &program, const Run &run) {
  Executable exe = program.exe;
  exe.backend = backend;
  State state(exe);
  // Makes reads that come too early visible.
  state.poison();
  state.initialise(1);
  ProgramOptions options;
  options.transport.cores = 2;
  options.transport.useGraph = run.useGraph;
  options.transport.timeoutSeconds = 20;
  Connections connections(state, options);
  std::vector<std::unique_ptr<ProgramRun>> runs(exe.numPrograms);
  Team team(exe.numRanks);
  Outcome outcome;
  for (int i = 1; i <= run.iterations; ++i) {
    const ProgramDesc &desc = programOf(exe, run, i);
    if (!runs[desc.id])
      runs[desc.id] = std::make_unique<ProgramRun>(connections, desc);
    ProgramRun &programRun = *runs[desc.id];
    ControlHeader header{};
    header.step = {i, 0.01f, 1};
    header.isFinite = 1;
    for (int32_t h = 0; h < exe.numReplicas; ++h) {
      state.write(h, state.replicas()[h].control.header, &header,
                  sizeof header);
      const ReplicaBinding &replica = state.replicas(desc)[h];
      for (const LayerBinding &layer : replica.layers)
        for (int m = 0; layer.sizes.data > 0 && m < desc.microbatches; ++m) {
          const size_t first =
              replica.share->firstSample * layer.desc->sequence;
          std::vector<int32_t> tokens(layer.desc->batch * layer.desc->sequence);
          for (size_t t = 0; t < tokens.size(); ++t)
            tokens[t] = static_cast<int32_t>(
                (7 * (first + t) + 31 * m + 5 * i) % layer.desc->vocab);
          state.write(h, programRun.data(h, m) + layer.dataOffset,
                      tokens.data(), static_cast<int64_t>(4 * tokens.size()));
        }
    }
    programRun.iterate(team);
  }
  for (const Tensor &tensor : state.tensors()) {
    outcome.weights.emplace_back(tensor.count);
    if (tensor.count > 0)
      state.read(tensor.replica, outcome.weights.back().data(), tensor.weights,
                 4 * tensor.count);
  }
  ControlHeader header;
  state.read(0, &header, state.replicas()[0].control.header, sizeof header);
  outcome.norm = header.norm;
  EXPECT_EQ(header.isFinite, 1);
  const ProgramDesc &desc = programOf(exe, run, run.iterations);
  const ReplicaBinding &last = state.replicas().back();
  outcome.losses.resize(desc.microbatches);
  if (last.layers.back().desc->kind == LayerKind::GptHead)
    state.read(exe.numReplicas - 1, outcome.losses.data(), last.control.losses,
               4 * desc.microbatches);
  return outcome;
}

Spec timed(std::vector<int> rankOfStage) {
  Spec spec;
  spec.layers = syntheticLayers(static_cast<int>(rankOfStage.size()), 0);
  spec.layersOfStage.assign(rankOfStage.size(), 1);
  spec.rankOfStage = std::move(rankOfStage);
  return spec;
}

class Iterations : public Conformance {
protected:
  /// Every way of running it on the pair gives the CPU's bits.
  void expectBitsOfCpu(const Spec &spec) {
    Program program(spec);
    const Weights reference =
        runOn(&cpuBackend, program, {ProgramKind::Sequential}).weights;
    inAllOrders([&] {
      const Backend *backend = GetParam().backend;
      EXPECT_TRUE(runOn(backend, program, {}).weights == reference);
      EXPECT_TRUE(
          runOn(backend, program, {ProgramKind::Pipeline, 4, false}).weights ==
          reference);
    });
  }
};

TEST_P(Iterations, OneForwardOneBackward) {
  Spec spec = timed({0, 1, 2, 3});
  spec.pipeline = oneForwardOneBackward(spec, false);
  expectBitsOfCpu(spec);
}

TEST_P(Iterations, SplitBackwardWithFewSlots) {
  Spec spec = timed({0, 1, 2, 3});
  spec.messageSlots = 1;
  spec.microbatches = 6;
  spec.pipeline = oneForwardOneBackward(spec, true);
  expectBitsOfCpu(spec);
}

Lists gpipe(const Spec &spec) { return forwardThenBackward(spec); }
Lists split(const Spec &spec) { return oneForwardOneBackward(spec, true); }

/// Switches back and forth, twice: the second time, graphs are repeated that
/// were recorded before another program ran.
void expectSwitches(const Backend *backend, const Backend *reference,
                    const Program &program,
                    const std::vector<std::string> &turns) {
  const int iterations = static_cast<int>(6 * turns.size());
  const Outcome wanted = runOn(
      reference, program, {ProgramKind::Sequential, iterations, true, turns});
  for (bool useGraph : {true, false}) {
    const Outcome found = runOn(
        backend, program, {ProgramKind::Pipeline, iterations, useGraph, turns});
    EXPECT_TRUE(found.weights == wanted.weights);
    EXPECT_TRUE(found.losses == wanted.losses);
  }
}

TEST_P(Iterations, ProgramsInTurn) {
  Spec spec = timed({0, 1, 2});
  spec.pipeline = oneForwardOneBackward(spec, false);
  spec.others = {{"gpipe", 4, 0, gpipe}, {"split", 4, 0, split}};
  Program program(spec);
  inAllOrders([&] {
    expectSwitches(GetParam().backend, &cpuBackend, program,
                   {"pipeline", "gpipe", "split"});
  });
}

TEST_P(Iterations, MicrobatchesOfOtherSizesInTurn) {
  Spec spec;
  spec.layers = gptLayers(2, true);
  for (LayerDesc &layer : spec.layers)
    layer.target = targetOf(GetParam());
  spec.layersOfStage = {2, 2};
  spec.rankOfStage = {0, 1};
  spec.others = {{"fine", 8, 1, gpipe}, {"coarse", 2, 4, split}};
  Program program(spec);
  expectSwitches(GetParam().backend, GetParam().backend, program,
                 {"pipeline", "fine", "coarse"});
}

TEST_P(Iterations, StagesThatComeBackToARank) {
  for (std::vector<int> ranks :
       {std::vector<int>{0, 1, 0, 1}, {0, 1, 1, 0}, {0, 1, 2, 2, 1, 0}}) {
    Spec spec = timed(ranks);
    spec.pipeline = forwardThenBackward(spec);
    expectBitsOfCpu(spec);
  }
}

/// One rank works on the memory of all.
TEST_P(Iterations, SequentialProgram) {
  Program program(timed({0, 1, 2, 3}));
  const Weights reference =
      runOn(&cpuBackend, program, {ProgramKind::Sequential}).weights;
  inAllOrders([&] {
    EXPECT_TRUE(
        runOn(GetParam().backend, program, {ProgramKind::Sequential}).weights ==
        reference);
  });
}

TEST_P(Iterations, MessagesWithoutBytes) {
  Spec spec = timed({0, 1});
  for (LayerDesc &layer : spec.layers)
    layer.inputBytes[0] = layer.outputBytes = 0;
  spec.pipeline = oneForwardOneBackward(spec, false);
  expectBitsOfCpu(spec);
}

//===----------------------------------------------------------------------===//
// A GPT.
//===----------------------------------------------------------------------===//

Spec gpt(const Pair &pair, DType dtype, bool tied) {
  Spec spec;
  spec.microbatches = 3;
  spec.layers = gptLayers(2, tied);
  for (LayerDesc &layer : spec.layers) {
    layer.target = targetOf(pair);
    layer.dtype = dtype;
  }
  spec.layersOfStage = {2, 2};
  spec.rankOfStage = {0, 1};
  return spec;
}

Outcome gptOnCpu(bool tied) {
  static const Pair cpu = {"cpu", &cpuBackend, nullptr, nullptr, true,
                           false, nullptr,     nullptr, 1};
  Program program(gpt(cpu, DType::Fp32, tied));
  return runOn(&cpuBackend, program, {ProgramKind::Sequential, 3});
}

void expectNear(const Outcome &outcome, const Outcome &reference,
                double tolerance) {
  EXPECT_NEAR(outcome.norm, reference.norm, tolerance * reference.norm);
  for (size_t m = 0; m < reference.losses.size(); ++m)
    EXPECT_NEAR(outcome.losses[m], reference.losses[m],
                tolerance * reference.losses[m]);
}

TEST_P(Iterations, GptHasTheLossesOfTheCpu) {
  for (bool tied : {false, true}) {
    const Outcome reference = gptOnCpu(tied);
    Program program(gpt(GetParam(), DType::Fp32, tied));
    expectNear(runOn(GetParam().backend, program, {ProgramKind::Pipeline, 3}),
               reference, 1e-4);
  }
}

TEST_P(Iterations, SchedulesOfAGptHaveTheSameBits) {
  const DType dtypes[] = {DType::Fp32, DType::Bf16};
  for (DType dtype : dtypes) {
    if (dtype == DType::Bf16 && targetOf(GetParam()) == Target::Cpu)
      continue;
    const Spec spec = gpt(GetParam(), dtype, true);
    Spec split = spec, together = spec;
    split.pipeline = oneForwardOneBackward(spec, true);
    together.pipeline = forwardThenBackward(spec);
    const Backend *backend = GetParam().backend;
    const Program first(split), second(together);
    GetParam().begin(1);
    const Outcome a = runOn(backend, first, {ProgramKind::Pipeline, 3});
    GetParam().begin(2);
    const Outcome b =
        runOn(backend, second, {ProgramKind::Pipeline, 3, /*useGraph=*/false});
    EXPECT_TRUE(a.weights == b.weights);
    EXPECT_EQ(a.losses, b.losses);
    EXPECT_EQ(a.norm, b.norm);
    if (dtype == DType::Bf16)
      expectNear(a, gptOnCpu(true), 0.03);
  }
}

TEST_P(Iterations, TiedHeadBesideItsEmbeddingHasTheSameBits) {
  const DType dtype =
      targetOf(GetParam()) == Target::Cpu ? DType::Fp32 : DType::Bf16;
  const Spec apart = gpt(GetParam(), dtype, true);
  Spec beside = apart;
  beside.layersOfStage = {4};
  beside.rankOfStage = {0};
  const Backend *backend = GetParam().backend;
  const Program two(apart), one(beside);
  const Outcome expected = runOn(backend, two, {ProgramKind::Pipeline, 3});
  for (bool useGraph : {true, false}) {
    const Outcome outcome =
        runOn(backend, one, {ProgramKind::Pipeline, 3, useGraph});
    EXPECT_TRUE(outcome.weights == expected.weights);
    EXPECT_EQ(outcome.losses, expected.losses);
    EXPECT_EQ(outcome.norm, expected.norm);
  }
}

/// The pipeline adds what its sequential reference does, in which one rank has
/// all shards: one chunk for each task, several under way at once, two groups.
TEST_P(Iterations, StateInShards) {
  const DType dtype =
      targetOf(GetParam()) == Target::Cpu ? DType::Fp32 : DType::Bf16;
  for (const Sharding &how :
       {Sharding{2, 2}, Sharding{2, 2, 2, 2, true, true, 2},
        Sharding{4, 2, 2, 2, true, true, 2}}) {
    Spec spec = gpt(GetParam(), dtype, true);
    spec.microbatches = 4;
    for (LayerDesc &layer : spec.layers)
      layer.batch = 5;
    if (how.replicas > 2) {
      spec.layersOfStage = {4};
      spec.rankOfStage = {0};
    }
    spec.sharding = how;
    const Backend *backend = GetParam().backend;
    const Program program(spec);
    const Outcome reference =
        runOn(backend, program, {ProgramKind::Sequential, 2});
    for (bool useGraph : {true, false}) {
      const Outcome shards =
          runOn(backend, program, {ProgramKind::Pipeline, 2, useGraph});
      EXPECT_TRUE(shards.weights == reference.weights);
      EXPECT_EQ(shards.losses, reference.losses);
      EXPECT_EQ(shards.norm, reference.norm);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Iterations, testing::ValuesIn(allPairs()),
                         nameOfPair);

} // namespace
