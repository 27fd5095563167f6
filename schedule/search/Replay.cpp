//===- Replay.cpp - Known orders as priorities ----------------------------===//
//
// The starts of a known order, of the incumbent or of a family that may break
// the caps, are the targets of a dispatch that keeps them. Then targets are
// shifted for a letter, a row of stages, a stretch of time or all at random,
// and the order is made again: many tasks move at once.
//
//===----------------------------------------------------------------------===//

#include "schedule/search/Dispatch.h"

#include <algorithm>

using namespace rondo;

namespace {

class Replayer {
public:
  Replayer(const Chain &chain, uint64_t seed, Incumbent &best, Budget &budget)
      : chain(chain), best(best), budget(budget), dispatcher(chain),
        random(seed) {
    for (int letter : {0, 1, 2})
      for (int64_t ns : chain.ns[letter])
        longest = std::max(longest, ns);
    for (int32_t s = 0; s < chain.stages; ++s)
      place.push_back(
          int32_t(std::find(chain.stagesOf[chain.rankOf[s]].begin(),
                            chain.stagesOf[chain.rankOf[s]].end(), s) -
                  chain.stagesOf[chain.rankOf[s]].begin()));
  }

  void run(const Orders &orders, int64_t tasks) {
    if (stop(budget.tasksUsed() + tasks) || budget.isSpent(8 * chain.tasks()))
      return;
    Chain free = chain;
    free.caps.assign(chain.ranks, noMemoryCap);
    Timer timer(free);
    if (timer.run(orders) >= never)
      return;
    budget.use(chain.tasks());
    setTargets(orders, timer);
    const int64_t end = budget.tasksUsed() + tasks;
    Pattern current = base;
    int64_t value = evaluate(current, never - 1);
    for (auto discipline :
         {Pattern::Discipline::InOrder, Pattern::Discipline::ForwardInOrder})
      for (int32_t backlog : {1, 4, int32_t(Pattern::unlimited)}) {
        Pattern pattern = base;
        pattern.discipline = discipline;
        pattern.backlog = backlog;
        if (stop(end))
          return;
        int64_t found = evaluate(pattern, value);
        if (found <= value) {
          current = pattern;
          value = found;
        }
      }
    while (!stop(end)) {
      Pattern changed = current;
      change(changed);
      int64_t found = evaluate(changed, value);
      if (found <= value) {
        value = found;
        current = std::move(changed);
      }
    }
  }

private:
  bool stop(int64_t end) {
    return best.isOptimal() || budget.tasksUsed() >= end ||
           budget.isSpent(4 * chain.tasks());
  }

  int64_t evaluate(const Pattern &pattern, int64_t ceiling) {
    int64_t value = dispatcher.run(pattern, ceiling);
    budget.use(2 * dispatcher.placed() + chain.tasks() / 4);
    best.offer(dispatcher.orders(), value, "replay");
    return value;
  }

  void setTargets(const Orders &orders, const Timer &timer) {
    for (auto &column : base.targets)
      column.resize(size_t(chain.stages) * chain.microbatches);
    for (int32_t rank = 0; rank < chain.ranks; ++rank) {
      std::vector<int32_t> next(size_t(3) * chain.stages);
      for (size_t i = 0; i < orders[rank].size(); ++i) {
        const Code code = orders[rank][i];
        const int32_t k = next[code]++;
        if (letterOf(code) < 2)
          base.targets[letterOf(code)][chain.at(stageOf(code), k)] =
              timer.starts()[rank][i];
        horizon = std::max(horizon, timer.starts()[rank][i]);
      }
    }
  }

  void change(Pattern &pattern) {
    const int64_t kind = random.below(8);
    if (kind == 0)
      pattern.patience = int32_t(random.below(9));
    else if (kind == 1)
      pattern.discipline = static_cast<Pattern::Discipline>(random.below(3));
    else if (kind == 2)
      pattern.backlog =
          random.below(3) ? int32_t(1 + random.below(8)) : Pattern::unlimited;
    else
      shift(pattern);
  }

  /// Moves the targets of some letter, stages and stretch of time.
  void shift(Pattern &pattern) {
    const int64_t amount =
        (random.below(2) ? 1 : -1) *
        (1 + int64_t(random.unit() * random.unit() * 8.0 * double(longest)));
    const int64_t noise = random.below(4) == 0 ? 2 * longest : 0;
    const int letter = int(random.below(2));
    int64_t from = 0, to = horizon + 1;
    if (random.below(3)) {
      from = random.below(horizon + 1);
      to = from + 1 + random.below(1 + horizon / 2);
    }
    const int64_t which = random.below(3);
    const int32_t one = int32_t(random.below(chain.stages));
    for (int32_t s = 0; s < chain.stages; ++s) {
      if (which == 1 && place[s] != place[one])
        continue;
      if (which == 2 && chain.rankOf[s] != chain.rankOf[one])
        continue;
      for (int32_t k = 0; k < chain.microbatches; ++k) {
        int64_t &target = pattern.targets[letter][chain.at(s, k)];
        if (target >= from && target < to)
          target += noise ? random.below(2 * noise) - noise : amount;
      }
    }
  }

  const Chain &chain;
  Incumbent &best;
  Budget &budget;
  Dispatcher dispatcher;
  Random random;
  Pattern base;
  std::vector<int32_t> place;
  int64_t longest = 1, horizon = 0;
};

} // namespace

void rondo::replay(const Chain &chain, uint64_t seed, const Orders &orders,
                   int64_t tasks, Incumbent &best, Budget &budget) {
  Replayer(chain, seed, best, budget).run(orders, tasks);
}
