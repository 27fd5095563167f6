//===- OrderSearch.cpp - All parts of the search for orders in turn -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/OrderSearch.h"
#include "schedule/search/ModuloSlots.h"
#include "schedule/search/WideningBeam.h"

#include <algorithm>

using namespace rondo;

/// Up to this many a beam is worth its quadratic time.
static constexpr int64_t guidedTasks = 1600;
/// Above this many, launches on modulo slots find what no other part does.
static constexpr int64_t tasksWithoutModuloSlots = 400;

namespace {

/// A better bound, once. It may prove that the incumbent is optimal.
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

/// The parts that there is one of.
struct Parts {
  Parts(const Rounds &rounds, const FlatProblem &flat, uint64_t seed)
      : pattern(rounds.runner([&](Incumbent &best, Budget &budget) {
          return tuneSteadyPattern(flat, seed, best, budget);
        })),
        neighbourhoods(rounds.runner([&](Incumbent &best, Budget &budget) {
          return searchNeighbourhoods(flat, seed, best, budget);
        })),
        polisher(rounds.runner([&](Incumbent &best, Budget &budget) {
          return localSearch(flat, seed + 1, best, budget);
        })) {}

  std::unique_ptr<Runner> pattern, neighbourhoods, polisher;
};

} // namespace

/// Seeks a better bound once: in a round; or beside the rounds, which are
/// shorter, if there are threads and what is found may depend on time.
class OrderSearch::BoundSeeker {
public:
  explicit BoundSeeker(OrderSearch &search) : search(search) {}

  /// In front of a round: adds a turn to it, or begins beside it.
  void start(const Rounds &rounds, std::vector<Rounds::Turn> &turns) {
    const std::function<Bound()> seek = search.boundToSeek();
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

  /// Behind a round: tells what has been found.
  void take() {
    if (!isSought || search.workers.isBesideBusy())
      return;
    isSought = false;
    search.best.bound = std::max(search.best.bound, search.keepBound(found));
  }

  /// Behind the last round.
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

static std::unique_ptr<Runner> replayRunner(const Rounds &rounds,
                                            const FlatProblem &flat,
                                            uint64_t seed, Orders orders) {
  return rounds.runner([&](Incumbent &best, Budget &budget) {
    return replay(flat, seed, std::move(orders), best, budget);
  });
}

void OrderSearch::run() {
  BoundSeeker seeker(*this);
  runRounds(seeker);
  seeker.finish();
}

void OrderSearch::runRounds(BoundSeeker &seeker) {
  Rounds rounds(flat, best, budget, workers);
  Parts parts(rounds, flat, seed);
  std::vector<std::unique_ptr<Runner>> islands = islandsOf(rounds);
  auto isOver = [&] {
    return best.isOptimal() || budget.isSpent(4 * flat.tasks());
  };
  // All start; the best seed goes before the steady-state pattern, which makes
  // many trials.
  std::vector<Rounds::Turn> turns;
  if (isOver()) {
    if (best.orders.empty())
      turns.push_back({parts.pattern.get(), 0});
  } else {
    for (auto &island : islands)
      turns.push_back({island.get(), 30 * flat.tasks()});
    turns.insert(
        turns.begin() + (islands.empty() ? 0 : 1),
        {parts.pattern.get(), (islands.empty() ? 150 : 100) * flat.tasks()});
  }
  rounds.run(turns);
  WideningBeam guided(flat, best, budget, workers);
  if (flat.tasks() <= guidedTasks && !isOver() && guided.run() && isProof())
    return;
  keep();
  // Turns grow, so that a long search has long ones; after each round the
  // worse half of the islands stops.
  int64_t turn = 60 * flat.tasks();
  for (uint64_t round = 1; !isOver(); ++round) {
    std::stable_sort(islands.begin(), islands.end(),
                     [](const auto &a, const auto &b) {
                       return a->part->value() < b->part->value();
                     });
    islands.resize((islands.size() + 1) / 2);
    if (islands.empty() || islands[0]->part->value() > best.objective)
      islands.insert(
          islands.begin(),
          replayRunner(rounds, flat, seed + round * 1000003, best.orders));
    turns.clear();
    if (round == 1)
      seeker.start(rounds, turns);
    for (auto &island : islands)
      turns.push_back({island.get(), turn});
    for (Runner *runner : {parts.pattern.get(), parts.polisher.get(),
                           parts.neighbourhoods.get()})
      turns.push_back({runner, turn});
    rounds.run(turns);
    seeker.take();
    turn += turn / 4;
    if (!isOver() && guided.isDue() && guided.run() && isProof())
      return;
  }
}

/// One for each seed, the best first: orders that keep the caps before those
/// that do not. Large problems only have the incumbent's. And one of launches
/// on modulo slots, where these fit.
std::vector<std::unique_ptr<Runner>>
OrderSearch::islandsOf(const Rounds &rounds) {
  std::vector<std::unique_ptr<Runner>> islands;
  if (flat.tasks() > replayedTasks) {
    if (!best.orders.empty())
      islands.push_back(replayRunner(rounds, flat, seed, best.orders));
  } else {
    std::stable_sort(
        seeds.begin(), seeds.end(),
        [](const Seed &a, const Seed &b) { return a.objective < b.objective; });
    for (size_t i = 0; i < seeds.size(); ++i)
      if (auto orders = toOrders(flat, seeds[i].schedule))
        islands.push_back(
            replayRunner(rounds, flat, seed + i, std::move(*orders)));
  }
  // Short of time, only the first islands run. On a linear pipeline modulo
  // slots are better than any seed, otherwise the best seed comes before them.
  if (flat.hasTightMemory && flat.tasks() > tasksWithoutModuloSlots &&
      ModuloSlots::fit(flat))
    islands.insert(islands.begin() +
                       (flat.stages > flat.ranks && !islands.empty()),
                   rounds.runner([&](Incumbent &best, Budget &budget) {
                     return searchModuloSlots(flat, seed, best, budget);
                   }));
  return islands;
}
