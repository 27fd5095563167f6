//===- SteadyPattern.cpp - Searches periodic patterns ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Local search over patterns. The dispatcher turns a pattern into an order,
// with its ramps and W.
//
//===----------------------------------------------------------------------===//

#include "schedule/bounds/HeldBytes.h"
#include "schedule/search/Dispatch.h"
#include "schedule/search/PatternGenes.h"
#include "schedule/search/Random.h"
#include "schedule/search/SearchParts.h"
#include "schedule/search/Timer.h"

#include <algorithm>

using namespace rondo;

namespace {

class Tuner : public Part {
public:
  explicit Tuner(const PartInput &input)
      : flat(input.flat), best(input.best), budget(input.budget),
        dispatcher(flat, Direction::Forwards), random(input.seed), maker(flat) {
    if (flat.nics > 0)
      timer.emplace(flat);
    for (const Preset &preset : presets())
      if (std::optional<Genes> genes = maker.genesOf(preset))
        waiting.push_back(std::move(*genes));
  }

  void run(int64_t tasks) override {
    const int64_t end = budget.tasksUsed() + tasks;
    for (; next < waiting.size(); ++next) {
      if (best.objective < never && stop(end))
        return;
      // A run ends early if its objective is more than 1/16 above the best.
      const int64_t ceiling = best.objective < never
                                  ? best.objective + best.objective / 16
                                  : never - 1;
      starts.push_back({waiting[next], evaluate(waiting[next], ceiling)});
    }
    if (!isSorted)
      std::stable_sort(
          starts.begin(), starts.end(),
          [](const Start &a, const Start &b) { return a.value < b.value; });
    isSorted = true;
    starts.resize(std::min<size_t>(4, starts.size()));
    while (!stop(end))
      for (Start &start : starts)
        for (int round = 0; round < 24 && !stop(end); ++round) {
          Genes changed = start.genes;
          mutate(changed);
          int64_t value =
              evaluate(changed, std::min<int64_t>(start.value, never - 1));
          if (value <= start.value)
            start = {changed, value};
        }
  }

  int64_t value() const override {
    int64_t least = never;
    for (const Start &start : starts)
      least = std::min(least, start.value);
    return least;
  }

private:
  bool stop(int64_t end) {
    return best.isOptimal() || budget.tasksUsed() >= end ||
           budget.isSpent(5 * flat.tasks() / 2);
  }

  int64_t evaluate(const Genes &genes, int64_t ceiling) {
    Pattern pattern = maker.patternOf(genes);
    if (genes.goal >= 0 && best.objective < never)
      pattern.goal =
          best.bound + genes.goal * (best.objective - best.bound) / 32;
    int64_t value = dispatcher.run(pattern, ceiling);
    budget.use(2 * dispatcher.placed() + 8);
    if (timer && value < never) {
      value = timer->run(dispatcher.orders(), ceiling);
      budget.use(flat.tasks());
    }
    best.offer(dispatcher.orders(), value, "steady-state");
    return value;
  }

  void mutate(Genes &genes) {
    auto change = [&](int32_t &value, int32_t low) {
      static constexpr int32_t steps[] = {-8, -4, -2, -1, 1, 2, 4, 8};
      value = std::max(low, value + steps[random.below(8)]);
    };
    do {
      switch (random.below(13)) {
      case 0:
      case 1:
      case 2:
        change(genes.hop[random.below(int64_t(genes.hop.size()))], -12);
        break;
      case 3:
      case 4:
        change(genes.turn[random.below(int64_t(genes.turn.size()))], -96);
        break;
      case 5:
        change(genes.stretch, -8);
        break;
      case 6:
        genes.patience = int32_t(random.below(9));
        break;
      case 7:
        genes.discipline = static_cast<Pattern::Discipline>(random.below(3));
        break;
      case 8: {
        static constexpr int32_t backlogs[] = {1, 2, 3,
                                               4, 8, Pattern::unlimited};
        genes.backlog = backlogs[random.below(6)];
        break;
      }
      case 11:
      case 10:
        genes.goal = int32_t(random.below(2)) ? -1 : int32_t(random.below(36));
        break;
      case 9:
        genes.isApart = !genes.isApart;
        break;
      default:
        if (maker.numRows() > 1 && random.below(2))
          genes.group =
              1 + int32_t(random.below(random.below(2) ? 4 : 2 * flat.ranks));
        else
          change(genes.step, -24);
      }
    } while (random.below(3) == 0);
  }

  struct Start {
    Genes genes;
    int64_t value;
  };

  const FlatProblem &flat;
  Incumbent &best;
  Budget &budget;
  Dispatcher dispatcher;
  /// Set if there are NICs, which the dispatcher ignores.
  std::optional<Timer> timer;
  Random random;
  const PatternMaker maker;
  /// The presets; how many of them have run; and the best of them, with later
  /// changes.
  std::vector<Genes> waiting;
  size_t next = 0;
  std::vector<Start> starts;
  bool isSorted = false;
};

} // namespace

SearchPart rondo::steadyPattern() {
  return {"steady-state", "periodic patterns, with ramps by dispatching",
          PartPhase::Round, makePart<Tuner>, 100};
}
