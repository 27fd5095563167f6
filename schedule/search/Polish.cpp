//===- Polish.cpp - Moves tasks on the critical path ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threshold accepting (Dueck and Scheuer, 1990) on the sequences of the ranks.
// A move takes a task of the critical path to another position on its rank, not
// past a task of its own stage and letter. Every order is timed as a whole.
//
//===----------------------------------------------------------------------===//

#include "schedule/search/SearchParts.h"
#include "schedule/search/Timer.h"

#include <algorithm>

using namespace rondo;

namespace {

class Polisher : public Part {
public:
  explicit Polisher(const PartInput &input)
      : flat(input.flat), best(input.best), budget(input.budget), timer(flat),
        random(input.seed + 1), carried(flat.links) {}

  void run(int64_t tasks) override {
    if (best.objective >= never || best.orders.empty())
      return;
    const int64_t begin = budget.tasksUsed();
    const int64_t end = begin + tasks;
    if (budget.isSpent(3 * flat.tasks()))
      return;
    Orders current = best.orders;
    int64_t value = timer.run(current);
    budget.use(flat.tasks());
    if (value >= never)
      return;
    findPath(current);
    int64_t longest = 1;
    for (int letter : {0, 1, 2})
      for (int64_t ns : flat.ns[letter])
        longest = std::max(longest, ns);
    int64_t stale = 0;
    const int64_t patience = 400;
    while (!best.isOptimal() && budget.tasksUsed() < end &&
           !budget.isSpent(3 * flat.tasks() / 2)) {
      // How much a move may lose falls to nothing over the run.
      double share = 1.0 - double(budget.tasksUsed() - begin) / double(tasks);
      int64_t allowed = int64_t(share * random.unit() * double(longest) / 4);
      const Move move = choose(current);
      if (move.from == move.to) {
        budget.use(1);
        continue;
      }
      const bool wasReady = holdMessages(current, move.machine);
      apply(current.of(move.machine), move.from, move.to);
      int64_t changed = timer.run(current, value + allowed);
      budget.use(flat.tasks());
      if (changed < never) {
        if (best.offer(current, changed, "polish"))
          stale = 0;
        value = changed;
        findPath(current);
      } else {
        apply(current.of(move.machine), move.to, move.from);
        if (wasReady)
          current.of(move.machine).clear();
      }
      if (++stale > patience && value > best.objective) {
        current = best.orders;
        value = timer.run(current);
        findPath(current);
        stale = 0;
      }
    }
  }

  int64_t value() const override { return best.objective; }

private:
  struct Move {
    Machine machine;
    int64_t from, to;
  };

  /// Writes down a link's order before it is changed; true if messages went as
  /// they became ready.
  bool holdMessages(Orders &orders, Machine machine) const {
    if (!machine.isLink)
      return false;
    orders.links.resize(flat.links);
    Sequence &order = orders.links[machine.number];
    if (!order.empty())
      return false;
    order = carried[machine.number];
    return true;
  }

  static void apply(Sequence &order, int64_t from, int64_t to) {
    auto begin = order.begin();
    if (from < to)
      std::rotate(begin + from, begin + from + 1, begin + to + 1);
    else
      std::rotate(begin + to, begin + from, begin + from + 1);
  }

  void findPath(const Orders &orders) {
    path.clear();
    if (flat.hasContendedLinks)
      for (int32_t link = 0; link < flat.links; ++link)
        carried[link] = timer.carriedBy(link);
    const int32_t rank = timer.lastRank();
    Timer::Place place{{rank}, int64_t(orders.ranks[rank].size()) - 1};
    while (place.machine.number >= 0 && place.position >= 0) {
      path.push_back(place);
      place = timer.cause(orders, place);
    }
  }

  Move choose(const Orders &orders) {
    Timer::Place place = path[random.below(int64_t(path.size()))];
    // An idle time before a task that waits for a message is filled with a
    // later task.
    const Machine machine = place.machine;
    const Sequence &order =
        machine.isLink ? carried[machine.number] : orders.ranks[machine.number];
    const int64_t size = int64_t(order.size());
    int64_t from = place.position;
    // A message that waited for its busy link usually goes one position
    // earlier.
    if (machine.isLink && from > 0 && random.below(4))
      return order[from - 1] == order[from] ? Move{machine, from, from}
                                            : Move{machine, from, from - 1};
    if (random.below(4) == 0)
      from = std::min(size - 1, from + 1 + random.below(6));
    const int64_t reach = random.below(3) ? 4 : 24;
    int64_t to = from + (random.below(2) ? 1 : -1) * (1 + random.below(reach));
    to = std::max<int64_t>(0, std::min(size - 1, to));
    const int64_t direction = to < from ? -1 : 1;
    const int32_t stage = stageOf(order[from]);
    const int letter = kindOf(order[from]);
    for (int64_t at = from; at != to; at += direction) {
      const Code other = order[at + direction];
      // Moving a task past another of its own kind and stage changes nothing;
      // moving it past the next kind of its stage only helps if that serves an
      // earlier micro-batch, which timing finds out.
      if (stageOf(other) == stage && kindOf(other) == letter)
        return {machine, from, at};
    }
    return {machine, from, to};
  }

  const FlatProblem &flat;
  Incumbent &best;
  Budget &budget;
  Timer timer;
  Random random;
  std::vector<Timer::Place> path;
  /// What contended links carried in the run that the path belongs to.
  std::vector<Sequence> carried;
};

} // namespace

SearchPart rondo::polish() {
  return {"polish", "moves on the critical path", PartPhase::Round,
          makePart<Polisher>};
}
