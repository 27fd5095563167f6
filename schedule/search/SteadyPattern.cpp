//===- SteadyPattern.cpp - Searches periodic patterns ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A steady state is an offset of every stage's F and I in a common period: the
// repeated building block of Qi et al., arXiv 2405.15362, with real times
// instead of slots. Offsets follow the edges, with slack for each hop and for
// each turn from one row of ranks to the next. The dispatcher turns a pattern
// into an order with its ramps and W; this file changes patterns a little at a
// time.
//
//===----------------------------------------------------------------------===//

#include "schedule/bounds/HeldBytes.h"
#include "schedule/search/Dispatch.h"
#include "schedule/search/Random.h"

#include <algorithm>

using namespace rondo;

namespace {

/// What a pattern is made from. Slack is in 1/24 of the period.
struct Genes {
  /// By row of stages (the n-th stages of all ranks): [2 * row + letter].
  std::vector<int32_t> hop, turn;
  int32_t neighbourhood = 0;
  int32_t group = 1, step = 0;
  Pattern::Discipline discipline = Pattern::Discipline::Ready;
  int32_t patience = 4;
  int32_t backlog = Pattern::unlimited;
  /// Whether a rank's tasks that would overlap in the steady state are moved
  /// apart.
  bool isApart = false;
  int32_t goal = -1;
};

/// Where the search begins. Hops and step are in the unit of Genes.
struct Preset {
  int32_t group, step, hop;
  Pattern::Discipline discipline;
  int32_t backlog;
  bool isApart;
};
/// Groups that depend on the problem: -n is n sixths of the ranks.
constexpr int32_t aThirdOfRanks = -2, halfTheRanks = -3, twoThirdsOfRanks = -4,
                  asManyAsRanks = -6, asManyAsFit = -7;

using Discipline = Pattern::Discipline;

/// The first ones tell most. Chosen from some 2,400 for how much each shortens
/// the schedules of 340 random problems beside those before it. They have 3 to
/// 32 ranks, two to four rows, one to six times as many micro-batches as ranks,
/// and room for 0.35 to 1.3 times as many.
constexpr Preset presets[] = {
    {asManyAsFit, 0, 1, Discipline::ForwardInOrder, Pattern::unlimited, true},
    {1, 0, 0, Discipline::ForwardInOrder, 4, true},
    {halfTheRanks, -2, 0, Discipline::ForwardInOrder, Pattern::unlimited,
     false},
    {asManyAsFit, 6, 0, Discipline::ForwardInOrder, Pattern::unlimited, false},
    {asManyAsRanks, -2, 3, Discipline::ForwardInOrder, Pattern::unlimited,
     false},
    {halfTheRanks, 6, 1, Discipline::ForwardInOrder, Pattern::unlimited, false},
    {2, 6, 0, Discipline::ForwardInOrder, 4, false},
    {1, 0, 2, Discipline::ForwardInOrder, Pattern::unlimited, true},
    {1, 0, 0, Discipline::ForwardInOrder, Pattern::unlimited, false},
    {asManyAsRanks, 6, 1, Discipline::Ready, Pattern::unlimited, true},
    {asManyAsFit, -4, 0, Discipline::ForwardInOrder, Pattern::unlimited, false},
    {halfTheRanks, 6, 6, Discipline::ForwardInOrder, Pattern::unlimited, false},
    {aThirdOfRanks, -4, -2, Discipline::ForwardInOrder, Pattern::unlimited,
     true},
    {halfTheRanks, 0, 2, Discipline::ForwardInOrder, Pattern::unlimited, false},
    {3, 3, -2, Discipline::ForwardInOrder, Pattern::unlimited, false},
    {2, 3, 3, Discipline::ForwardInOrder, Pattern::unlimited, true},
    {2, 6, 1, Discipline::ForwardInOrder, 4, false},
    {asManyAsFit, 6, 0, Discipline::ForwardInOrder, Pattern::unlimited, true},
    {4, -4, -2, Discipline::ForwardInOrder, Pattern::unlimited, false},
    {1, 0, 3, Discipline::ForwardInOrder, Pattern::unlimited, true},
    {halfTheRanks, -2, 1, Discipline::ForwardInOrder, Pattern::unlimited,
     false},
    {twoThirdsOfRanks, -2, 2, Discipline::ForwardInOrder, Pattern::unlimited,
     true},
    {halfTheRanks, 6, 1, Discipline::ForwardInOrder, Pattern::unlimited, true},
    {2, 0, 3, Discipline::ForwardInOrder, Pattern::unlimited, false},
    {asManyAsRanks, -6, 2, Discipline::Ready, Pattern::unlimited, false},
    {halfTheRanks, -4, -2, Discipline::ForwardInOrder, Pattern::unlimited,
     false},
    {asManyAsFit, 6, 6, Discipline::ForwardInOrder, Pattern::unlimited, false},
    {asManyAsFit, 0, 1, Discipline::ForwardInOrder, Pattern::unlimited, false},
    {3, 3, 3, Discipline::ForwardInOrder, Pattern::unlimited, false},
    {asManyAsFit, -2, 3, Discipline::ForwardInOrder, 4, true},
    {2, 0, -2, Discipline::ForwardInOrder, Pattern::unlimited, false},
    {1, 0, 2, Discipline::ForwardInOrder, Pattern::unlimited, false},
    {halfTheRanks, 0, 1, Discipline::Ready, Pattern::unlimited, true},
    {halfTheRanks, 6, 0, Discipline::ForwardInOrder, 4, true},
    {halfTheRanks, -2, 1, Discipline::ForwardInOrder, 4, false},
    {twoThirdsOfRanks, 6, 1, Discipline::ForwardInOrder, Pattern::unlimited,
     false},
    {1, 0, 3, Discipline::ForwardInOrder, Pattern::unlimited, false},
    {4, 0, 0, Discipline::ForwardInOrder, Pattern::unlimited, true},
    {aThirdOfRanks, -4, 0, Discipline::ForwardInOrder, Pattern::unlimited,
     false},
    {1, 0, 0, Discipline::InOrder, 4, true},
    {halfTheRanks, 0, 1, Discipline::ForwardInOrder, Pattern::unlimited, true},
    {asManyAsRanks, 6, 6, Discipline::ForwardInOrder, Pattern::unlimited, true},
    {asManyAsFit, -6, -2, Discipline::ForwardInOrder, Pattern::unlimited, true},
    {3, -4, 0, Discipline::ForwardInOrder, Pattern::unlimited, true},
    {asManyAsFit, 3, 3, Discipline::ForwardInOrder, Pattern::unlimited, true},
    {twoThirdsOfRanks, 6, 2, Discipline::ForwardInOrder, 4, false},
    {halfTheRanks, -2, 2, Discipline::ForwardInOrder, Pattern::unlimited,
     false},
    {4, 6, 3, Discipline::Ready, Pattern::unlimited, true},
};

/// What runs on each rank within a period.
class Occupancy {
public:
  explicit Occupancy(int32_t ranks) : taken(ranks) {}

  /// The first time from `time` on that is free for `length`, modulo the
  /// period; `time` itself if there is none.
  int64_t place(int32_t rank, int64_t time, int64_t length, int64_t period) {
    int64_t at = time;
    std::vector<Interval> &all = taken[rank];
    for (size_t tries = 0; tries <= all.size(); ++tries) {
      int64_t later = 0;
      for (const Interval &other : all) {
        // How long after the start of the other one this one starts.
        int64_t phase = (at - other.begin) % period;
        phase += phase < 0 ? period : 0;
        if (phase < other.length)
          later = std::max(later, other.length - phase);
        else if (phase + length > period)
          later = std::max(later, period - phase + other.length);
      }
      if (later == 0) {
        all.push_back({at, length});
        return at;
      }
      at += later;
    }
    all.push_back({time, length});
    return time;
  }

private:
  struct Interval {
    int64_t begin, length;
  };
  std::vector<std::vector<Interval>> taken;
};

class Tuner : public Part {
public:
  Tuner(const FlatProblem &flat, uint64_t seed, Incumbent &best, Budget &budget)
      : flat(flat), best(best), budget(budget),
        dispatcher(flat, Direction::Forwards), random(seed), row(flat.stages),
        fit(flat.microbatches) {
    if (flat.nics > 0)
      timer.emplace(flat);
    std::vector<int64_t> work(flat.ranks);
    for (int32_t s = 0; s < flat.stages; ++s) {
      auto &stages = flat.stagesOf[flat.rankOf[s]];
      row[s] =
          int32_t(std::find(stages.begin(), stages.end(), s) - stages.begin());
      rows = std::max(rows, row[s] + 1);
      period = std::max(period, work[flat.rankOf[s]] +=
                                flat.ns[0][s] + flat.ns[1][s] + flat.ns[2][s]);
    }
    period = std::max<int64_t>(period, 1);
    for (int32_t rank = 0; rank < flat.ranks; ++rank) {
      int64_t bytes = 0;
      for (int32_t s : flat.stagesOf[rank])
        bytes += flat.takes[s];
      if (bytes > 0)
        fit = int32_t(std::min<int64_t>(fit, flat.caps[rank] / bytes));
    }
    waiting = presetGenes();
  }

  void run(int64_t tasks) override {
    const int64_t end = budget.tasksUsed() + tasks;
    for (; next < waiting.size(); ++next) {
      if (best.objective < never && stop(end))
        return;
      // A run far above the best ends early.
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
    int64_t value = dispatcher.run(patternOf(genes), ceiling);
    budget.use(2 * dispatcher.placed() + 8);
    if (timer && value < never) {
      value = timer->run(dispatcher.orders(), ceiling);
      budget.use(flat.tasks());
    }
    best.offer(dispatcher.orders(), value, "steady-state");
    return value;
  }

  Pattern patternOf(const Genes &genes) const {
    Pattern pattern;
    for (auto &column : pattern.offset)
      column.resize(flat.stages);
    const int64_t unit = std::max<int64_t>(1, period / 24);
    auto slack = [&](int32_t from, int32_t to, int letter) {
      const auto &genesOf = row[from] == row[to] ? genes.hop : genes.turn;
      return genesOf[2 * row[from] + letter] * unit;
    };
    pattern.period = std::max<int64_t>(1, period + genes.neighbourhood * unit);
    Occupancy busy(flat.ranks);
    auto place = [&](int letter, int32_t s) {
      int64_t time = -never;
      for (int32_t e : flat.inputs(letter, s)) {
        const FlatProblem::Message &message = flat.messages[e];
        time = std::max(time, pattern.offset[letter][message.from] +
                                  flat.ns[letter][message.from] +
                                  message.transferNs() +
                                  slack(message.from, s, letter));
      }
      if (time == -never)
        time = letter == 0 ? 0
                           : pattern.offset[0][s] + flat.ns[0][s] +
                                 genes.turn[2 * row[s]] * unit;
      if (genes.isApart)
        time = busy.place(flat.rankOf[s], time, flat.ns[letter][s],
                          pattern.period);
      pattern.offset[letter][s] = time;
    };
    for (int32_t s = 0; s < flat.stages; ++s)
      place(0, s);
    for (int32_t s = flat.stages; s-- > 0;)
      place(1, s);
    pattern.group = genes.group;
    pattern.step =
        std::max<int64_t>(1, pattern.period / rows + genes.step * unit);
    pattern.discipline = genes.discipline;
    pattern.patience = genes.patience;
    pattern.backlog = genes.backlog;
    if (genes.goal >= 0 && best.objective < never)
      pattern.goal =
          best.bound + genes.goal * (best.objective - best.bound) / 32;
    return pattern;
  }

  std::vector<Genes> presetGenes() const {
    std::vector<Genes> result;
    for (const Preset &preset : presets) {
      Genes genes;
      genes.group = groupOf(preset);
      // They run together, at the pace that memory permits.
      if (preset.group == asManyAsFit)
        genes.neighbourhood = stretchOfMemory();
      if (preset.group != 1 && (rows == 1 || genes.group <= 1))
        continue;
      genes.hop.assign(size_t(2) * rows, preset.hop);
      genes.turn.assign(size_t(2) * rows, 0);
      genes.step = preset.step;
      genes.discipline = preset.discipline;
      genes.backlog = preset.backlog;
      genes.isApart = preset.isApart;
      result.push_back(genes);
    }
    return result;
  }

  int32_t groupOf(const Preset &preset) const {
    if (preset.group == asManyAsFit)
      return fit;
    return preset.group > 0 ? preset.group : flat.ranks * -preset.group / 6;
  }

  int32_t stretchOfMemory() const {
    const int64_t least = std::min(heldBytesPeriod(flat), 4 * period);
    return int32_t(std::max<int64_t>(0, 24 * (least - period) / period));
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
        change(genes.neighbourhood, -8);
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
        if (rows > 1 && random.below(2))
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
  /// Where there are NICs, which the dispatcher leaves out.
  std::optional<Timer> timer;
  Random random;
  std::vector<int32_t> row;
  int32_t rows = 1;
  int64_t period = 0;
  /// How many micro-batches fit on all ranks.
  int32_t fit;
  /// Presets, how many of them have run, and the best of them with later
  /// changes.
  std::vector<Genes> waiting;
  size_t next = 0;
  std::vector<Start> starts;
  bool isSorted = false;
};

} // namespace

std::unique_ptr<Part> rondo::tuneSteadyPattern(const FlatProblem &flat,
                                               uint64_t seed, Incumbent &best,
                                               Budget &budget) {
  return std::make_unique<Tuner>(flat, seed, best, budget);
}
