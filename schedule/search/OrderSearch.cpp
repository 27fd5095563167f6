//===- OrderSearch.cpp - All parts of the order search --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/OrderSearch.h"

#include <algorithm>
#include <iterator>

using namespace rondo;

namespace {

/// Searches a better bound, which may prove that the incumbent is optimal.
class BoundPart : public Part {
public:
  BoundPart(std::function<Bound()> seek, Bound &found, Incumbent &best)
      : seek(std::move(seek)), found(found), best(best) {}

  void run(int64_t) override {
    found = seek();
    best.bound = std::max(best.bound, found.ns);
  }
  int64_t value() const override { return never; }

private:
  const std::function<Bound()> seek;
  Bound &found;
  Incumbent &best;
};

} // namespace

/// Searches a better bound once: concurrently with the rounds if there are
/// several threads and the result may depend on time, otherwise as a turn of a
/// round.
class OrderSearch::BoundSeeker {
public:
  explicit BoundSeeker(OrderSearch &search) : search(search) {}

  /// Before a round: adds a turn to it, or starts the search on another thread.
  void start(const Rounds &rounds, std::vector<Rounds::Turn> &turns) {
    const std::function<Bound()> seek = search.owner.boundToSeek();
    if (!seek)
      return;
    isSought = true;
    if (search.workers.count() > 1 && !search.budget.isByEffort()) {
      search.workers.startBeside([this, seek] { found = seek(); });
      return;
    }
    runner = rounds.runner([&](Incumbent &best, Budget &) {
      return std::make_unique<BoundPart>(seek, found, best);
    });
    runner->isFree = true;
    turns.push_back({runner.get(), 0});
  }

  /// After a round: applies the bound if the search has ended.
  void take() {
    if (!isSought || search.workers.isBesideBusy())
      return;
    isSought = false;
    search.best.bound =
        std::max(search.best.bound, search.owner.keepBound(found));
  }

  /// After the last round: waits for the search.
  void finish() {
    search.workers.awaitBeside();
    take();
  }

private:
  OrderSearch &search;
  std::unique_ptr<Runner> runner;
  Bound found;
  bool isSought = false;
};

OrderSearch::OrderSearch(const OrderSearchInput &input,
                         std::vector<Seed> &seeds, OrderSearchOwner &owner)
    : flat(input.flat), options(input.options), best(input.best),
      budget(input.budget), workers(input.workers), seeds(seeds), owner(owner),
      rounds(flat, best, budget, workers), guided(flat, best, budget, workers) {
  for (const SearchPart &part : searchParts())
    if (part.phase == PartPhase::Round && uses(part))
      steady.push_back(start(part, options.seed));
}

bool OrderSearch::uses(const SearchPart &part) const {
  return options.without != part.name && (!part.applies || part.applies(flat));
}

OrderSearch::RunningPart
OrderSearch::start(const SearchPart &part, uint64_t seed, Orders orders) const {
  return {&part, rounds.runner([&](Incumbent &own, Budget &share) {
            return part.make({flat, seed, own, share, std::move(orders)});
          })};
}

void OrderSearch::run() {
  BoundSeeker seeker(*this);
  runRounds(seeker);
  seeker.finish();
}

void OrderSearch::runRounds(BoundSeeker &seeker) {
  RunningParts open = islands();
  rounds.run(firstTurns(open));
  if (uses(beamSearch()) && !isOver() && endsWithBeam())
    return;
  owner.keepIncumbent();
  // Turns grow, so that a long search has long ones. After each round the worse
  // half of the islands stops.
  int64_t tasks = 60 * flat.tasks();
  for (uint64_t round = 1; !isOver(); ++round) {
    shrink(open, round);
    std::vector<Rounds::Turn> turns;
    if (round == 1)
      seeker.start(rounds, turns);
    for (const RunningParts *parts : {&open, &steady})
      for (const RunningPart &each : *parts)
        turns.push_back({each.runner.get(), tasks});
    const int64_t before = budget.tasksUsed();
    rounds.run(turns);
    seeker.take();
    // No part had orders to work on.
    if (budget.tasksUsed() == before)
      return;
    tasks += tasks / 4;
    if (!isOver() && guided.isDue() && endsWithBeam())
      return;
  }
}

/// Runs the next beam. True if it ends the search.
bool OrderSearch::endsWithBeam() {
  return guided.run() && owner.endsWithBeam();
}

/// Turns of the first round. The first island comes before the steady-state
/// pattern, which makes many trials. If time is up, no island runs; parts that
/// need no seed run if there is no schedule yet.
std::vector<Rounds::Turn>
OrderSearch::firstTurns(const RunningParts &islands) const {
  std::vector<Rounds::Turn> turns;
  const bool isLate = isOver();
  for (const RunningPart &island : islands)
    if (!isLate)
      turns.push_back(
          {island.runner.get(), island.part->firstTurn * flat.tasks()});
  const size_t first = turns.empty() ? 0 : 1;
  for (const RunningPart &each : steady) {
    const int64_t tasks = each.part->firstTurn * flat.tasks();
    if (tasks == 0 || (isLate && !best.orders.empty()))
      continue;
    turns.insert(turns.begin() + first,
                 {each.runner.get(), isLate            ? 0
                                     : islands.empty() ? tasks + tasks / 2
                                                       : tasks});
  }
  return turns;
}

/// Drops the worse half of the islands. If the incumbent is better than all of
/// them, adds an island that begins with its orders.
void OrderSearch::shrink(RunningParts &islands, uint64_t round) const {
  std::stable_sort(islands.begin(), islands.end(),
                   [](const RunningPart &a, const RunningPart &b) {
                     return a.runner->part->value() < b.runner->part->value();
                   });
  islands.resize((islands.size() + 1) / 2);
  if (!islands.empty() && islands[0].runner->part->value() <= best.objective)
    return;
  for (const SearchPart &part : searchParts())
    if (part.continuesOrders && uses(part))
      islands.insert(islands.begin(),
                     start(part, options.seed + round * 1000003, best.orders));
}

/// Adds an island for each seed, the best first: orders that keep the caps
/// before those that do not. Large problems only have an island of the
/// incumbent.
void OrderSearch::addIslandsOfSeeds(const SearchPart &part,
                                    RunningParts &islands) const {
  if (flat.tasks() > replayedTasks) {
    if (!best.orders.empty())
      islands.push_back(start(part, options.seed, best.orders));
    return;
  }
  std::stable_sort(
      seeds.begin(), seeds.end(),
      [](const Seed &a, const Seed &b) { return a.objective < b.objective; });
  for (size_t i = 0; i < seeds.size(); ++i)
    if (auto orders = toOrders(flat, seeds[i].schedule))
      islands.push_back(start(part, options.seed + i, std::move(*orders)));
}

/// The islands of the table, in the order of their first turns. If time is
/// short, only the first islands run. On a linear pipeline an island without
/// orders (modulo slots) is better than any seed, otherwise the best seed comes
/// before it.
OrderSearch::RunningParts OrderSearch::islands() const {
  RunningParts islands, withoutOrders;
  for (const SearchPart &part : searchParts()) {
    if (part.phase != PartPhase::Island || !uses(part))
      continue;
    if (part.continuesOrders)
      addIslandsOfSeeds(part, islands);
    else
      withoutOrders.push_back(start(part, options.seed));
  }
  islands.insert(islands.begin() +
                     (flat.stages > flat.ranks && !islands.empty()),
                 std::make_move_iterator(withoutOrders.begin()),
                 std::make_move_iterator(withoutOrders.end()));
  return islands;
}
