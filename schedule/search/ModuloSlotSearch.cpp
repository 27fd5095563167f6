//===- ModuloSlotSearch.cpp - Search of launches on modulo slots ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threshold accepting (Dueck and Scheuer, 1990) on the delays of launches, for
// modulo slots of several lengths: longer ones have room for W in more places.
// The end of the tightest rank is the estimate. Orders are made and timed if
// the estimate improves, and for one in `buildEvery` of the other accepted
// trials.
//
//===----------------------------------------------------------------------===//

#include "schedule/search/ModuloSlots.h"
#include "schedule/search/Random.h"
#include "schedule/search/SearchParts.h"
#include "schedule/search/Timer.h"

#include <algorithm>

using namespace rondo;

namespace {

class ModuloSlotSearch : public Part {
public:
  explicit ModuloSlotSearch(const PartInput &input)
      : flat(input.flat), best(input.best), budget(input.budget), timer(flat),
        random(input.seed) {
    for (double factor : {1.0, 1.03, 1.065, 1.1, 1.15, 1.2, 1.25, 1.3})
      chains.push_back(std::make_unique<Chain>(flat, factor));
  }

  void run(int64_t tasks) override {
    const int64_t begin = budget.tasksUsed();
    auto stop = [&] {
      return best.isOptimal() || budget.tasksUsed() >= begin + tasks ||
             budget.isSpent(3 * flat.tasks());
    };
    for (; numStarted < chains.size(); ++numStarted) {
      if (stop())
        return;
      attempt(*chains[numStarted], chains[numStarted]->delays, never);
    }
    for (size_t turn = 0; !stop(); ++turn) {
      Chain &chain = *chains[turn % chains.size()];
      // The accepted loss decreases to 0 over the turn.
      const double share =
          1.0 - double(budget.tasksUsed() - begin) / double(tasks);
      const auto loss =
          int64_t(share * random.unit() * double(chain.slots.slotNs()) / 4);
      std::vector<int32_t> delays = chain.delays;
      change(delays);
      attempt(chain, std::move(delays), chain.estimate + loss);
    }
    // The better half of the chains is kept for the next turn.
    std::stable_sort(
        chains.begin(), chains.end(),
        [](const auto &a, const auto &b) { return a->best < b->best; });
    chains.resize((chains.size() + 1) / 2);
    numStarted = chains.size();
  }

  int64_t value() const override {
    int64_t least = never;
    for (const auto &chain : chains)
      least = std::min(least, chain->best);
    return least;
  }

private:
  struct Chain {
    Chain(const FlatProblem &flat, double factor)
        : slots(flat, factor), delays(flat.microbatches) {}

    ModuloSlots slots;
    std::vector<int32_t> delays;
    int64_t estimate = never, built = never, best = never;
  };

  void attempt(Chain &chain, std::vector<int32_t> delays, int64_t ceiling) {
    const int64_t estimate = chain.slots.launch(delays);
    budget.use(chain.slots.cost());
    if (estimate >= never || estimate > ceiling)
      return;
    chain.estimate = estimate;
    chain.delays = std::move(delays);
    if (estimate >= chain.built && random.below(buildEvery) > 0)
      return;
    chain.built = std::min(chain.built, estimate);
    budget.use(flat.tasks());
    if (!chain.slots.toOrders(orders))
      return;
    budget.use(flat.tasks());
    const int64_t value = timer.run(orders, chain.best - 1);
    if (value >= never)
      return;
    chain.best = value;
    best.offer(orders, value, "modulo-slots");
  }

  /// Changes the delays of a few random micro-batches, clears those of a range,
  /// swaps two, or shifts every n-th one.
  void change(std::vector<int32_t> &delays) {
    const auto count = int64_t(delays.size());
    auto move = [&](int64_t at, int64_t by) {
      delays[at] = int32_t(std::max<int64_t>(0, delays[at] + by));
    };
    const int64_t kind = random.below(8), at = random.below(count);
    if (kind < 5) {
      for (int64_t n = 1 + random.below(3); n > 0; --n)
        move(random.below(count),
             (random.below(2) ? 1 : -1) * (1 + random.below(3)));
    } else if (kind == 5) {
      const int64_t end = std::min(count, at + 1 + random.below(8));
      std::fill(delays.begin() + at, delays.begin() + end, 0);
    } else if (kind == 6) {
      std::swap(delays[at], delays[random.below(count)]);
    } else {
      const int64_t every = 1 + random.below(16), by = random.below(3) - 1;
      for (int64_t i = at; i < std::min(count, at + 4 * every); i += every)
        move(i, by);
    }
  }

  static constexpr int64_t buildEvery = 32;
  const FlatProblem &flat;
  Incumbent &best;
  Budget &budget;
  Timer timer;
  Random random;
  std::vector<std::unique_ptr<Chain>> chains;
  size_t numStarted = 0;
  Orders orders;
};

} // namespace

/// Above this many tasks, modulo slots find schedules that no other part does.
static constexpr int64_t tasksWithoutModuloSlots = 400;

static bool mayUseModuloSlots(const FlatProblem &flat) {
  return flat.hasTightMemory && flat.tasks() > tasksWithoutModuloSlots &&
         ModuloSlots::fit(flat);
}

SearchPart rondo::moduloSlots() {
  return {"modulo-slots",
          "launches at modulo slots",
          PartPhase::Island,
          makePart<ModuloSlotSearch>,
          30,
          mayUseModuloSlots};
}
