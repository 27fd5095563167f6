//===- Kernel.cpp - Searches periodic patterns ----------------------------===//
//
// A steady state is an offset of every stage's F and I in a common period: the
// repeated building block of Qi et al., arXiv 2405.15362, with real times in
// place of slots. Offsets follow the chain, with slack for each hop and each
// turn from one row of ranks to the next. The dispatcher turns a pattern into
// an order with its ramps and W; here patterns are changed one step at a time.
//
//===----------------------------------------------------------------------===//

#include "schedule/search/Dispatch.h"

#include <algorithm>

using namespace rondo;

namespace {

/// What a pattern is made from. Slack is in 1/24 of the period.
struct Genes {
  /// By row of stages (the n-th stages of all ranks): [2 * row + letter].
  std::vector<int32_t> hop, turn;
  int32_t stretch = 0;
  int32_t group = 1, step = 0;
  Pattern::Discipline discipline = Pattern::Discipline::Ready;
  int32_t patience = 4;
  int32_t backlog = Pattern::unlimited;
};

class Tuner {
public:
  Tuner(const Chain &chain, uint64_t seed, Incumbent &best, Budget &budget)
      : chain(chain), best(best), budget(budget), dispatcher(chain),
        random(seed), row(chain.stages) {
    std::vector<int64_t> work(chain.ranks);
    for (int32_t s = 0; s < chain.stages; ++s) {
      auto &stages = chain.stagesOf[chain.rankOf[s]];
      row[s] =
          int32_t(std::find(stages.begin(), stages.end(), s) - stages.begin());
      rows = std::max(rows, row[s] + 1);
      period =
          std::max(period, work[chain.rankOf[s]] +=
                           chain.ns[0][s] + chain.ns[1][s] + chain.ns[2][s]);
    }
    period = std::max<int64_t>(period, 1);
  }

  void run(int64_t tasks) {
    const int64_t end = budget.tasksUsed() + tasks;
    struct Start {
      Genes genes;
      int64_t value;
    };
    std::vector<Start> starts;
    for (const Genes &genes : presets()) {
      if (best.objective < never && stop(end))
        return;
      starts.push_back({genes, evaluate(genes, never - 1)});
    }
    std::stable_sort(
        starts.begin(), starts.end(),
        [](const Start &a, const Start &b) { return a.value < b.value; });
    const size_t climbs = std::min<size_t>(4, starts.size());
    while (!stop(end))
      for (size_t i = 0; i < climbs && !stop(end); ++i)
        for (int round = 0; round < 24 && !stop(end); ++round) {
          Genes changed = starts[i].genes;
          mutate(changed);
          int64_t value = evaluate(changed, starts[i].value);
          if (value <= starts[i].value)
            starts[i] = {changed, value};
        }
  }

private:
  bool stop(int64_t end) {
    return best.isOptimal() || budget.tasksUsed() >= end ||
           budget.isSpent(4 * chain.tasks());
  }

  int64_t evaluate(const Genes &genes, int64_t ceiling) {
    int64_t value = dispatcher.run(patternOf(genes), ceiling);
    budget.use(2 * dispatcher.placed() + 8);
    best.offer(dispatcher.orders(), value, "kernel");
    return value;
  }

  Pattern patternOf(const Genes &genes) const {
    Pattern pattern;
    for (auto &column : pattern.offset)
      column.resize(chain.stages);
    const int64_t unit = std::max<int64_t>(1, period / 24);
    int64_t time = 0;
    auto slack = [&](int32_t from, int32_t to, int letter) {
      const auto &genesOf = row[from] == row[to] ? genes.hop : genes.turn;
      return genesOf[2 * row[from] + letter] * unit;
    };
    for (int32_t s = 0; s < chain.stages; ++s) {
      pattern.offset[0][s] = time;
      time += chain.ns[0][s];
      if (s + 1 < chain.stages)
        time += chain.messages[0][s].transferNs() + slack(s, s + 1, 0);
    }
    time += genes.turn[2 * row[chain.stages - 1]] * unit;
    for (int32_t s = chain.stages; s-- > 0;) {
      pattern.offset[1][s] = time;
      time += chain.ns[1][s];
      if (s > 0)
        time += chain.messages[1][s].transferNs() + slack(s, s - 1, 1);
    }
    pattern.period = period + genes.stretch * unit;
    pattern.group = genes.group;
    pattern.step =
        std::max<int64_t>(1, pattern.period / rows + genes.step * unit);
    pattern.discipline = genes.discipline;
    pattern.patience = genes.patience;
    pattern.backlog = genes.backlog;
    return pattern;
  }

  std::vector<Genes> presets() const {
    using Discipline = Pattern::Discipline;
    std::vector<Genes> result;
    for (int32_t group : {1, chain.ranks})
      for (Discipline discipline :
           {Discipline::Ready, Discipline::ForwardInOrder, Discipline::InOrder})
        for (int32_t backlog : {1, 4, int32_t(Pattern::unlimited)})
          for (int32_t hop : {0, 2, 6}) {
            Genes genes;
            genes.hop.assign(size_t(2) * rows, hop);
            genes.turn.assign(size_t(2) * rows, 0);
            genes.group = group;
            genes.discipline = discipline;
            genes.backlog = backlog;
            if (group == 1 || (rows > 1 && group > 1))
              result.push_back(genes);
          }
    return result;
  }

  void mutate(Genes &genes) {
    auto change = [&](int32_t &value, int32_t low) {
      static constexpr int32_t steps[] = {-8, -4, -2, -1, 1, 2, 4, 8};
      value = std::max(low, value + steps[random.below(8)]);
    };
    do {
      switch (random.below(10)) {
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
      default:
        if (rows > 1 && random.below(2))
          genes.group = 1 + int32_t(random.below(2 * chain.ranks));
        else
          change(genes.step, -24);
      }
    } while (random.below(3) == 0);
  }

  const Chain &chain;
  Incumbent &best;
  Budget &budget;
  Dispatcher dispatcher;
  Random random;
  std::vector<int32_t> row;
  int32_t rows = 1;
  int64_t period = 0;
};

} // namespace

void rondo::tuneKernel(const Chain &chain, uint64_t seed, int64_t tasks,
                       Incumbent &best, Budget &budget) {
  Tuner(chain, seed, best, budget).run(tasks);
}
