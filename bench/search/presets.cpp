//===- presets.cpp - Chooses where the search of patterns begins ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses a table of presets, as long as that of PatternPresets.cpp, from all
// combinations of the values below: each next one shortens the schedules of
// random problems most, given those before it. Then compares both tables on
// other problems, which neither has seen.
//
//===----------------------------------------------------------------------===//

#include "bench/search/measure.h"
#include "bench/search/ranks.h"
#include "schedule/search/PatternGenes.h"

#include <algorithm>
#include <cstdio>
#include <random>

using namespace rondo;

namespace {

constexpr size_t numProblems = 340;
/// Larger problems take most of the time without adding information.
constexpr int64_t maxTasks = 12000;
/// Schedules that are longer than this many times the bound count as that.
constexpr double maxRatio = 2;

/// 3 to 32 ranks, two to four stages on each, one to six times as many
/// micro-batches as ranks, room for 0.35 to 1.3 times as many.
Problem drawProblem(std::mt19937 &random) {
  auto pick = [&](int64_t least, int64_t most) {
    return least + int64_t(random() % uint64_t(most - least + 1));
  };
  while (true) {
    const auto ranks = int32_t(pick(3, 32)), rows = int32_t(pick(2, 4));
    const Shape shape = pick(0, 1) ? Shape::V : Shape::Looped;
    const auto microbatches = int32_t(pick(ranks, 6 * ranks));
    const Costs costs = {"presets",         pick(8000, 12000),
                         pick(8000, 13000), pick(3000, 12000),
                         pick(0, 3) * 400,  pick(0, 1) * 900,
                         pick(0, 1) * 1800};
    const int64_t room = std::max<int64_t>(8, 8 * ranks * pick(35, 130) / 100);
    if (int64_t(3) * ranks * rows * microbatches <= maxTasks)
      return rankProblem(costs, ranks, rows, microbatches, shape, room);
  }
}

std::vector<Preset> allPresets() {
  using Discipline = Pattern::Discipline;
  std::vector<Preset> all;
  for (int32_t group :
       {1, 2, 3, 4, Preset::aThirdOfRanks, Preset::halfTheRanks,
        Preset::twoThirdsOfRanks, Preset::asManyAsRanks, Preset::asManyAsFit})
    for (int32_t step : {-6, -4, -2, 0, 3, 6})
      for (int32_t hop : {-2, 0, 1, 2, 3, 6})
        for (Discipline discipline :
             {Discipline::Ready, Discipline::ForwardInOrder})
          for (int32_t backlog : {Pattern::unlimited, 4})
            for (bool isApart : {false, true})
              // Only groups have steps.
              if (group != 1 || step == 0)
                all.push_back({group, step, hop, discipline, backlog, isApart});
  return all;
}

/// Objective divided by the bound; first index: preset, second index: problem.
using Ratios = std::vector<std::vector<float>>;

/// Every `every`-th of `count` problems of a seed.
Ratios measureAll(const std::vector<Preset> &all, uint32_t seed, size_t every) {
  Ratios ratios(all.size());
  std::mt19937 random(seed);
  for (size_t n = 0; n < numProblems; ++n) {
    const Problem problem = drawProblem(random);
    if (n % every != 0)
      continue;
    const FlatProblem flat = *FlatProblem::of(problem, BackwardCosts::Split);
    const int64_t bound = quickBound(problem).ns;
    const PatternMaker maker(flat);
    Dispatcher dispatcher(flat, Direction::Forwards);
    for (size_t i = 0; i < all.size(); ++i) {
      double ratio = maxRatio;
      if (const auto genes = maker.genesOf(all[i])) {
        const int64_t found = dispatcher.run(maker.patternOf(*genes),
                                             int64_t(maxRatio * double(bound)));
        if (found < never)
          ratio = double(found) / double(bound);
      }
      ratios[i].push_back(float(ratio));
    }
  }
  return ratios;
}

double meanOf(const std::vector<float> &values) {
  double sum = 0;
  for (float value : values)
    sum += value;
  return sum / double(values.size());
}

std::vector<float> leastOf(std::vector<float> a, const std::vector<float> &b) {
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = std::min(a[i], b[i]);
  return a;
}

std::vector<Preset> choose(const std::vector<Preset> &all, const Ratios &ratios,
                           size_t count) {
  std::vector<Preset> chosen;
  std::vector<float> best(ratios[0].size(), float(maxRatio));
  while (chosen.size() < count) {
    size_t next = 0;
    double least = never;
    for (size_t i = 0; i < all.size(); ++i)
      if (const double mean = meanOf(leastOf(best, ratios[i])); mean < least) {
        least = mean;
        next = i;
      }
    best = leastOf(best, ratios[next]);
    chosen.push_back(all[next]);
  }
  return chosen;
}

std::string nameOf(int32_t group) {
  switch (group) {
  case Preset::aThirdOfRanks:
    return "aThirdOfRanks";
  case Preset::halfTheRanks:
    return "halfTheRanks";
  case Preset::twoThirdsOfRanks:
    return "twoThirdsOfRanks";
  case Preset::asManyAsRanks:
    return "asManyAsRanks";
  case Preset::asManyAsFit:
    return "asManyAsFit";
  }
  return std::to_string(group);
}

} // namespace

void measurePresets(const Settings &settings) {
  const std::vector<Preset> all = allPresets(), &known = presets();
  const std::vector<Preset> chosen =
      choose(all, measureAll(all, 1, settings.every), known.size());
  for (const Preset &preset : chosen)
    printf("    {%s, %d, %d, Discipline::%s, %s, %s},\n",
           nameOf(preset.group).c_str(), preset.step, preset.hop,
           preset.discipline == Pattern::Discipline::Ready ? "Ready"
                                                           : "ForwardInOrder",
           preset.backlog == Pattern::unlimited
               ? "Pattern::unlimited"
               : std::to_string(preset.backlog).c_str(),
           preset.isApart ? "true" : "false");
  printf("| presets | chosen from %zu | PatternPresets.cpp |\n|---|---|---|\n",
         all.size());
  const Ratios ofChosen = measureAll(chosen, 2, settings.every),
               ofKnown = measureAll(known, 2, settings.every);
  std::vector<float> first(ofChosen[0].size(), float(maxRatio)), second = first;
  for (size_t i = 0; i < known.size(); ++i) {
    first = leastOf(first, ofChosen[i]);
    second = leastOf(second, ofKnown[i]);
    // Every doubling, and all.
    if (((i + 1) & i) == 0 || i + 1 == known.size())
      printf("| %zu | %.2f %% | %.2f %% |\n", i + 1, 100 * (meanOf(first) - 1),
             100 * (meanOf(second) - 1));
  }
  printf("\n");
}
