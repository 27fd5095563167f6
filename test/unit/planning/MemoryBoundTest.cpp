//===- MemoryBoundTest.cpp - Recomputation that memory forces -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/model/MemoryBound.h"

#include "ChainExamples.h"
#include "planning/model/LinearProgram.h"
#include "schedule/model/Problem.h"
#include "schedule/search/Search.h"

#include <gtest/gtest.h>

using namespace rondo;

namespace {

constexpr int64_t mebi = int64_t(1) << 20;

bool never() { return false; }

/// A model of equal layers, with times and bytes of a sample.
struct Example {
  ChainProblem chain;
  std::vector<LeastTimes> times;
  std::vector<bool> counts;
  int64_t heldBytes = 0;
  /// Infinity: no copies to the host.
  double hostNsPerByte = std::numeric_limits<double>::infinity();

  Example(int32_t layers, int32_t devices, int32_t microbatches,
          int64_t samples)
      : chain(equalDevices(devices, 1000)), counts(layers, true) {
    chain.microbatches = microbatches;
    chain.samples = samples;
    chain.layers.resize(layers);
    times.resize(layers);
  }
  void setLayer(int32_t layer, LeastTimes ofSample, int64_t held,
                int64_t state) {
    const auto b = double(chain.samples);
    times[layer] = {b * ofSample.forwardNs, b * ofSample.inputGradNs,
                    b * ofSample.weightGradNs};
    heldBytes = held;
    chain.layers[layer].stashBytes = chain.samples * held;
    chain.layers[layer].stateBytes = state;
  }
  double workNs() const {
    double work = 0;
    for (const LeastTimes &layer : times)
      work += layer.workNs();
    return work * chain.microbatches / chain.numDevices();
  }
  MemoryBound bound(bool mayKeep = true, bool mayRecompute = true) const {
    return MemoryBound(
        {chain, times, counts, mayKeep, mayRecompute, hostNsPerByte});
  }
};

/// Llama 3 70B in sequences of 8,192 tokens on 128 H100, by its figures.
Example llama70B(int64_t samples) {
  Example example(82, 128, static_cast<int32_t>(1024 / samples), samples);
  for (int32_t layer = 1; layer < 81; ++layer)
    example.setLayer(layer, {38.2e6, 42.37e6, 35.42e6}, 2146 * mebi,
                     14688 * mebi);
  example.setLayer(0, {0, 0, 0}, 128 * mebi, 18036 * mebi);
  example.setLayer(81, {43.5e6, 43.5e6, 43.5e6}, 256 * mebi, 18036 * mebi);
  example.counts.front() = example.counts.back() = false;
  example.chain.memoryBytes = 80'000'000'000;
  return example;
}

/// Calls `visit` with the group of each layer, for all ways to divide layers
/// among groups.
void forEachGrouping(int32_t layers, std::vector<int32_t> &groups,
                     const std::function<void(int32_t)> &visit) {
  const int32_t count =
      groups.empty() ? 0 : *std::max_element(groups.begin(), groups.end()) + 1;
  if (static_cast<int32_t>(groups.size()) == layers) {
    visit(count);
    return;
  }
  for (int32_t group = 0; group <= count; ++group) {
    groups.push_back(group);
    forEachGrouping(layers, groups, visit);
    groups.pop_back();
  }
}

/// The least time that a search finds for any plan of the example: layers in
/// any groups, groups of any sizes, any layers recomputed. A stage is a run of
/// layers of one group, and messages take no time.
class EveryGroup {
public:
  explicit EveryGroup(const Example &example) : example(example) {
    forEachGrouping(example.chain.numLayers(), groups, [&](int32_t count) {
      devices.assign(count, 1);
      giveDevices(0, example.chain.numDevices());
    });
  }

  int64_t leastNs = infinite;

private:
  void giveDevices(size_t group, int32_t left) {
    if (group == devices.size()) {
      for (uint32_t mask = 0; mask < 1U << groups.size(); ++mask)
        tryPlan(mask);
      return;
    }
    const auto most =
        std::min(left, static_cast<int32_t>(example.chain.samples));
    for (devices[group] = 1; devices[group] <= most; ++devices[group])
      giveDevices(group + 1, left - devices[group]);
  }

  /// A problem in which a group is a rank.
  void tryPlan(uint32_t recomputed) {
    const auto &layers = example.chain.layers;
    const auto ranks = static_cast<int32_t>(devices.size());
    std::vector<int32_t> firsts;
    for (size_t l = 0; l < groups.size(); ++l)
      if (l == 0 || groups[l] != groups[l - 1])
        firsts.push_back(static_cast<int32_t>(l));
    Problem problem;
    problem.name = "groups";
    problem.microbatches = example.chain.microbatches;
    problem.memoryCaps.assign(ranks, example.chain.memoryBytes);
    for (int32_t first : firsts)
      problem.replicas.addStage(groups[first]);
    problem.makeChain(std::vector<int64_t>(firsts.size(), 0));
    std::vector<bool> hasScratch(ranks);
    for (size_t s = 0; s < firsts.size(); ++s) {
      const int32_t group = groups[firsts[s]];
      const int64_t share =
          (example.chain.samples + devices[group] - 1) / devices[group];
      const auto end = s + 1 < firsts.size()
                           ? static_cast<size_t>(firsts[s + 1])
                           : groups.size();
      LeastTimes sum;
      double again = 0;
      int64_t restored = 0, held = 0;
      for (size_t l = firsts[s]; l < end; ++l) {
        const double part = double(share) / double(example.chain.samples);
        sum.forwardNs += part * example.times[l].forwardNs;
        sum.inputGradNs += part * example.times[l].inputGradNs;
        sum.weightGradNs += part * example.times[l].weightGradNs;
        held += share * example.heldBytes;
        problem.memoryCaps[group] -= layers[l].stateBytes;
        if (recomputed >> l & 1) {
          again += part * example.times[l].forwardNs;
          restored += share * example.heldBytes;
        }
      }
      const auto stage = static_cast<int32_t>(s);
      const int64_t copyNs =
          std::isfinite(example.hostNsPerByte)
              ? std::llround(double(held - restored) * example.hostNsPerByte)
              : 0;
      problem.setStageCost(stage, std::llround(sum.forwardNs),
                           std::llround(sum.inputGradNs),
                           std::llround(sum.weightGradNs), held, 0);
      if (std::isfinite(example.hostNsPerByte) && held > restored)
        problem.setCopies(
            stage, {held - restored, LoadBefore::InputGrad, copyNs, copyNs});
      if (restored == 0)
        continue;
      problem.setRecomputation(stage, Recomputation::FromCheckpoint,
                               std::llround(again), restored, 0);
      if (!hasScratch[group])
        problem.memoryCaps[group] -= share * example.heldBytes;
      hasScratch[group] = true;
    }
    for (int64_t cap : problem.memoryCaps)
      if (cap < 0)
        return;
    ASSERT_FALSE(problem.check());
    SearchOptions options;
    options.timeLimitMs = 0;
    options.effort = 20;
    const SearchResult found = search(problem, options);
    if (found.schedule)
      leastNs = std::min(leastNs, found.simulation.makespanNs);
  }

  const Example &example;
  std::vector<int32_t> groups, devices;
};

TEST(LinearProgram, FindsTheCorner) {
  // x + y <= 4, x + 3 y <= 6: the most of 3 x + 5 y is 14, at (3, 1).
  LinearProgram program;
  const size_t x = program.add(3), y = program.add(5);
  program.limit({{x, 1}, {y, 1}}, 4);
  program.limit({{x, 1}, {y, 3}}, 6);
  const std::vector<double> values = program.solve(100, 1e9);
  EXPECT_NEAR(values[x], 3, 1e-5);
  EXPECT_NEAR(values[y], 1, 1e-5);
}

TEST(LinearProgram, StopsOnceEnoughIsReached) {
  LinearProgram program;
  const size_t x = program.add(1), y = program.add(1);
  program.limit({{x, 1}}, 5);
  program.limit({{y, 1}}, 5);
  const std::vector<double> values = program.solve(100, 4);
  EXPECT_NEAR(values[x] + values[y], 5, 1e-5);
}

TEST(MemoryBound, NoPlanOfSmallModelsIsFaster) {
  std::mt19937 random(1);
  auto pick = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  int32_t higher = 0, solved = 0;
  for (int32_t round = 0; round < 60; ++round) {
    const auto layers = static_cast<int32_t>(pick(2, 3));
    Example example(layers, static_cast<int32_t>(pick(2, 3)),
                    static_cast<int32_t>(pick(3, 8)), pick(1, 2));
    const int64_t held = pick(1, 6) * mebi, state = pick(0, 10) * mebi;
    const LeastTimes usual{double(pick(500, 2000)), double(pick(500, 2000)),
                           double(pick(0, 2000))};
    for (int32_t layer = 0; layer < layers; ++layer)
      example.setLayer(
          layer,
          round % 2 ? usual
                    : LeastTimes{usual.forwardNs + double(pick(0, 200)),
                                 usual.inputGradNs + double(pick(0, 200)),
                                 usual.weightGradNs},
          held, state);
    // Room for all layers on one device and some activations, or for less.
    example.chain.memoryBytes =
        pick(1, layers) * state + pick(1, 5 * layers) * held;
    const int64_t best = EveryGroup(example).leastNs;
    if (best == infinite)
      continue;
    ++solved;
    const double bound = example.bound().find(example.workNs() * (1 - 1e-6),
                                              2 * double(best), never);
    EXPECT_LE(bound, double(best) * (1 + 1e-6)) << "round " << round;
    higher += bound > example.workNs() * 1.01;
  }
  // Not a bound that says nothing.
  EXPECT_GE(solved, 40);
  EXPECT_GE(higher, 20);
}

TEST(MemoryBound, NoPlanWithCopiesIsFaster) {
  std::mt19937 random(2);
  auto pick = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  int32_t higher = 0, lower = 0, solved = 0;
  for (int32_t round = 0; round < 40; ++round) {
    Example example(3, static_cast<int32_t>(pick(2, 3)),
                    static_cast<int32_t>(pick(4, 8)), 1);
    const int64_t held = pick(1, 6) * mebi, state = pick(0, 4) * mebi;
    const LeastTimes usual{double(pick(500, 2000)), double(pick(500, 2000)),
                           double(pick(0, 2000))};
    for (int32_t layer = 0; layer < 3; ++layer)
      example.setLayer(layer, usual, held, state);
    example.chain.memoryBytes = pick(1, 3) * state + pick(1, 5) * held;
    const double withoutNs =
        example.bound().find(example.workNs() * (1 - 1e-6), 1e6, never);
    // A copy takes a part of the work of a layer, or several times as long.
    example.hostNsPerByte =
        usual.workNs() * double(pick(1, 30)) / 10 / double(held);
    const int64_t best = EveryGroup(example).leastNs;
    if (best == infinite)
      continue;
    ++solved;
    const double bound = example.bound().find(example.workNs() * (1 - 1e-6),
                                              2 * double(best), never);
    EXPECT_LE(bound, double(best) * (1 + 1e-6)) << "round " << round;
    EXPECT_LE(bound, withoutNs * 1.002) << "round " << round;
    higher += bound > example.workNs() * 1.01;
    lower += bound < withoutNs * 0.99;
  }
  EXPECT_GE(solved, 20);
  EXPECT_GE(higher, 5);
  // Copies count.
  EXPECT_GE(lower, 1);
}

TEST(MemoryBound, CountsWhatLlama70BHasToRecompute) {
  const Example four = llama70B(4);
  EXPECT_NEAR(four.workNs() / 1e9, 75.3, 0.1);
  // Three layers on four devices, of which one is recomputed: 98.8 s.
  const double bound = four.bound().find(four.workNs(), 125e9, never);
  EXPECT_GT(bound, 98e9);
  EXPECT_LT(bound, 100e9);
  // If all layers recompute, each of them takes a third longer.
  EXPECT_GT(four.bound(/*mayKeep=*/false).find(four.workNs(), 200e9, never),
            117e9);
  // Not with larger or smaller micro-batches either.
  for (int64_t samples : {1, 2, 8, 64, 1024})
    EXPECT_FALSE(llama70B(samples).bound().mayTake(95e9)) << samples;
}

TEST(MemoryBound, MemoryForNothingOrWithoutLimit) {
  Example example(4, 2, 4, 1);
  for (int32_t layer = 0; layer < 4; ++layer)
    example.setLayer(layer, {100, 100, 100}, 10 * mebi, 100 * mebi);
  example.chain.memoryBytes = 90 * mebi;
  EXPECT_FALSE(example.bound().mayTake(1e12));
  example.chain.memoryBytes = 0;
  EXPECT_TRUE(example.bound().mayTake(0));
}

} // namespace
