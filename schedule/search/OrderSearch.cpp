//===- OrderSearch.cpp - All parts of the order search --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/OrderSearch.h"

#include <algorithm>

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
      steady.push_back({&part, runnerOf(part, options.seed)});
}

bool OrderSearch::uses(const SearchPart &part) const {
  return options.without != part.name && (!part.applies || part.applies(flat));
}

std::unique_ptr<Runner> OrderSearch::runnerOf(const SearchPart &part,
                                              uint64_t seed,
                                              Orders start) const {
  return rounds.runner([&](Incumbent &own, Budget &share) {
    return part.make({flat, seed, own, share, std::move(start)});
  });
}

void OrderSearch::run() {
  BoundSeeker seeker(*this);
  runRounds(seeker);
  seeker.finish();
}

void OrderSearch::runRounds(BoundSeeker &seeker) {
  Islands open = islands();
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
    for (auto &island : open)
      turns.push_back({island.get(), tasks});
    for (const Steady &each : steady)
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
OrderSearch::firstTurns(const Islands &islands) const {
  std::vector<Rounds::Turn> turns;
  const bool isLate = isOver();
  for (const auto &island : islands)
    if (!isLate)
      turns.push_back({island.get(), replay().firstTurn * flat.tasks()});
  const size_t first = turns.empty() ? 0 : 1;
  for (const Steady &each : steady) {
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
void OrderSearch::shrink(Islands &islands, uint64_t round) const {
  std::stable_sort(islands.begin(), islands.end(),
                   [](const auto &a, const auto &b) {
                     return a->part->value() < b->part->value();
                   });
  islands.resize((islands.size() + 1) / 2);
  if (uses(replay()) &&
      (islands.empty() || islands[0]->part->value() > best.objective))
    islands.insert(
        islands.begin(),
        runnerOf(replay(), options.seed + round * 1000003, best.orders));
}

/// One island for each seed, the best first: orders that keep the caps before
/// those that do not. Large problems only have an island of the incumbent. If
/// modulo slots apply, also an island of these.
OrderSearch::Islands OrderSearch::islands() const {
  Islands islands;
  if (uses(replay()) && flat.tasks() > replayedTasks) {
    if (!best.orders.empty())
      islands.push_back(runnerOf(replay(), options.seed, best.orders));
  } else if (uses(replay())) {
    std::stable_sort(
        seeds.begin(), seeds.end(),
        [](const Seed &a, const Seed &b) { return a.objective < b.objective; });
    for (size_t i = 0; i < seeds.size(); ++i)
      if (auto orders = toOrders(flat, seeds[i].schedule))
        islands.push_back(
            runnerOf(replay(), options.seed + i, std::move(*orders)));
  }
  // If time is short, only the first islands run. On a linear pipeline modulo
  // slots are better than any seed, otherwise the best seed comes before them.
  if (uses(moduloSlots()))
    islands.insert(islands.begin() +
                       (flat.stages > flat.ranks && !islands.empty()),
                   runnerOf(moduloSlots(), options.seed));
  return islands;
}
