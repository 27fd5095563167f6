//===- ShardedSearch.cpp - Search of plans whose stages are sharded -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/ShardedSearch.h"

#include "planning/Deadline.h"
#include "planning/FitLoop.h"
#include "planning/gathers/FittingGathers.h"
#include "planning/gathers/Units.h"
#include "schedule/bounds/ShardedBound.h"
#include "schedule/order/Shards.h"
#include "schedule/rules/Legality.h"
#include "schedule/search/OneByOne.h"
#include "schedule/search/Portfolio.h"
#include "schedule/simulate/Objective.h"

#include <algorithm>
#include <utility>

namespace rondo {

namespace {

std::vector<int32_t> ranksOf(const Problem &problem, int32_t stage) {
  std::vector<int32_t> ranks;
  for (const Replica &replica : problem.replicas.of(stage))
    ranks.push_back(replica.rank);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

bool isSharded(const Problem &problem, int32_t stage) {
  return problem.replicas.of(stage).begin()->isSharded();
}

bool shareRanks(const std::vector<int32_t> &ranks,
                const std::vector<int32_t> &others) {
  return std::find_first_of(ranks.begin(), ranks.end(), others.begin(),
                            others.end()) != ranks.end();
}

/// The first two stages a < b that share a rank and for which `isWanted(a, b,
/// whether their ranks are the same)`.
template <typename Wanted>
std::optional<std::pair<int32_t, int32_t>> findSharing(const Problem &problem,
                                                       const Wanted &isWanted) {
  for (int32_t b = 0; b < problem.numStages(); ++b)
    for (int32_t a = 0; a < b; ++a) {
      const std::vector<int32_t> of = ranksOf(problem, a),
                                 others = ranksOf(problem, b);
      if (shareRanks(of, others) && isWanted(a, b, of == others))
        return std::pair(a, b);
    }
  return std::nullopt;
}

/// Whether ranks that share a stage may issue collectives in different orders:
/// two stages share a rank but differ in ranks or shards, and one of them is
/// sharded.
bool mayCross(const Problem &problem) {
  return findSharing(problem,
                     [&](int32_t a, int32_t b, bool areTheSame) {
                       const bool areAlike =
                           areTheSame &&
                           problem.replicas.of(a).begin()->shards ==
                               problem.replicas.of(b).begin()->shards;
                       return !areAlike &&
                              (isSharded(problem, a) || isSharded(problem, b));
                     })
      .has_value();
}

/// [rank]: the bytes by which the arena of the order's programs exceeds the
/// device; 0 if it fits. Nothing if the programs cannot be lowered or do not
/// run.
std::optional<std::vector<int64_t>> excessOf(const PlanFigures &plan,
                                             const Problem &problem,
                                             const Schedule &schedule) {
  if (!plan.declaresWeights)
    return std::vector<int64_t>(problem.numRanks(), 0);
  const auto arena = arenaOf(plan, problem, schedule);
  if (!arena || ((mayCross(problem) || mayBlock(plan, problem)) &&
                 findBlocked(plan, problem, schedule)))
    return std::nullopt;
  return excessOver(plan.devices, *arena);
}

bool isZero(const std::vector<int64_t> &figures) {
  return std::all_of(figures.begin(), figures.end(),
                     [](int64_t figure) { return figure == 0; });
}

/// Places gathers in an order with given residencies. Nothing if that breaks a
/// rule or does not fit the devices; then sets `excess`, if given, to the
/// missing bytes by rank, where known.
std::optional<SearchResult> judge(const PlanFigures &plan,
                                  const Problem &problem, const Schedule &order,
                                  std::string origin,
                                  std::vector<int64_t> *excess,
                                  const Residencies &residencies) {
  SearchResult result;
  Schedule placed = placeGathers(problem, order, residencies);
  if (auto fault = checkAndSimulate(problem, placed, result.simulation)) {
    if (excess && fault->rule == Rule::Memory)
      (*excess)[fault->rank] = fault->found - fault->allowed;
    return std::nullopt;
  }
  const auto over = excessOf(plan, problem, placed);
  if (excess && over)
    *excess = *over;
  if (!over || !isZero(*over))
    return std::nullopt;
  result.schedule = std::move(placed);
  result.origin = std::move(origin);
  return result;
}

/// The residencies of chooseFitting() within the arenas of the plan's devices.
Residencies fittingResidencies(const PlanFigures &plan, const Problem &problem,
                               const Schedule &order) {
  return chooseFitting(problem, order,
                       PlanArenas(plan, problem, maxActionsToLowerOnce))
      .residencies;
}

/// As judge(), with the best residencies for the order; if programs do not fit
/// with these, with those of chooseFitting(). `excess` is that of the best
/// residencies.
std::optional<SearchResult> judgeWithLess(const PlanFigures &plan,
                                          const Problem &problem,
                                          const Schedule &order,
                                          const std::string &origin,
                                          std::vector<int64_t> &excess) {
  const Residencies best = chooseResidencies(problem, order);
  auto judged = judge(plan, problem, order, origin, &excess, best);
  if (judged || isZero(excess))
    return judged;
  return judge(plan, problem, order, origin, nullptr,
               fittingResidencies(plan, problem, order));
}

/// Why no order was found.
Fault whyNone(const PlanFigures &plan, const Problem &problem) {
  const auto overlapping =
      findSharing(problem, [&](int32_t a, int32_t b, bool areTheSame) {
        return !areTheSame && isSharded(problem, a) && isSharded(problem, b);
      });
  if (overlapping)
    return makeFault<FaultKind::NoOrderOfGroups>(overlapping->first,
                                                 overlapping->second);
  // Checks whether even one micro-batch at a time blocks with few launches in
  // flight.
  if (plan.resident > 0 && mayBlock(plan, problem)) {
    const auto blocked =
        findBlocked(plan, problem,
                    placeGathers(problem, oneByOne(withWholeState(problem)),
                                 Residencies{{0, 0}}));
    if (blocked && blocked->rule == Rule::Residency)
      return makeFault<FaultKind::NoProgramInFlight>(plan.resident);
  }
  return makeFault<FaultKind::NoShardedOrder>();
}

/// Improves the residencies of an order that fits.
class ResidencyMover {
public:
  ResidencyMover(const PlanFigures &plan, const Problem &problem,
                 const Deadline &limit)
      : plan(plan), problem(problem), limit(limit) {}

  /// The order of `best` with improved residencies, if it fits. Sets
  /// `roomBytes` to the memory that these residencies leave for the activations
  /// of each rank.
  std::optional<SearchResult> improve(const SearchResult &best,
                                      std::vector<int64_t> &roomBytes) {
    const Schedule order = withoutMoves(*best.schedule);
    int64_t trials = trialsFor(order);
    const std::vector<int64_t> nothing(problem.numRanks(), 0);
    const Residencies moved = improveResidencies(
        problem, order, fittingResidencies(plan, problem, order),
        [&](const Schedule &placed) {
          if (limit.isOver())
            trials = 0;
          return trials > 0 && !checkSchedule(problem, placed) &&
                 (placed.numActions() > maxActionsToLower ||
                  excessOf(plan, problem, placed) == nothing);
        },
        trials);
    roomBytes = roomBeside(order, moved);
    auto result = judge(plan, problem, order, best.origin, nullptr, moved);
    if (result)
      result->stop = best.stop;
    return result;
  }

private:
  /// Limits all trials together to `maxActions` actions, about 0.1 s.
  static int64_t trialsFor(const Schedule &order) {
    constexpr int64_t maxActions = int64_t(1) << 20, most = 400;
    return std::min(most,
                    maxActions / std::max<int64_t>(1, order.numActions()));
  }
  /// [rank]: the cap minus the peak of gathered weights and unreduced
  /// gradients.
  std::vector<int64_t> roomBeside(const Schedule &order,
                                  const Residencies &residencies) const {
    Problem moves = problem;
    std::fill(moves.costs.begin(), moves.costs.end(), Cost());
    for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
      for (ActionKind kind :
           {ActionKind::Unshard, ActionKind::Reshard, ActionKind::ReduceGrad})
        moves.cost(replica, kind) = problem.cost(replica, kind);
    const Simulation run =
        simulate(moves, placeGathers(problem, order, residencies));
    std::vector<int64_t> room = problem.memoryCaps;
    for (size_t rank = 0; run.complete && rank < room.size(); ++rank)
      if (room[rank] != noMemoryCap)
        room[rank] = std::max<int64_t>(0, room[rank] - run.peakBytes[rank]);
    return room;
  }

  const PlanFigures &plan;
  const Problem &problem;
  const Deadline &limit;
};

/// One run of searchSharded().
class ShardedSearcher {
public:
  ShardedSearcher(const PlanFigures &plan, const Problem &problem,
                  const SearchOptions &options, const RunSearch &run)
      : plan(plan), problem(problem), options(options), runSearch(run),
        bound(shardedBound(problem)), whole(withWholeState(problem)),
        limit(options.timeLimitMs, options.clock), mover(plan, problem, limit) {
  }

  SearchResult run() {
    tryFamilies();
    Caps excess;
    if (!best)
      take(fit(oneByOne(whole), "one-by-one", excess));
    Caps room;
    if (best && !isOptimal())
      take(mover.improve(*best, room));
    // Before an order fits, the caps leave memory for one gathered chunk and
    // for the excess of programs. Then they leave memory for the best order's
    // gathered chunks.
    constexpr int64_t maxAttempts = 3;
    if (!isOptimal())
      lowerUntilFitting(
          whole.memoryCaps, maxAttempts,
          [&](int64_t) { return isOptimal() || (best && limit.isOver()); },
          [&](int64_t number, const Caps &caps) {
            return attempt(number, caps, room);
          });
    if (!best) {
      // The search's own fault refers to whole state and lowered caps.
      last.fault = whyNone(plan, problem);
      return std::move(last);
    }
    best->bound = bound;
    best->effort = effort;
    best->seconds = seconds;
    best->provenOptimal = isOptimal();
    if (best->provenOptimal)
      best->stop = SearchStop::Optimal;
    return std::move(*best);
  }

private:
  using Caps = std::vector<int64_t>;

  bool isOptimal() const {
    return best && objectiveOf(problem, best->simulation) <= bound.ns;
  }
  void take(std::optional<SearchResult> found) {
    if (found && (!best || objectiveOf(problem, found->simulation) <
                               objectiveOf(problem, best->simulation)))
      best = std::move(found);
  }

  /// Places gathers and judges; sets `excess` as judgeWithLess() does.
  std::optional<SearchResult> fit(const Schedule &order,
                                  const std::string &origin, Caps &excess) {
    excess.assign(problem.numRanks(), 0);
    return judgeWithLess(plan, problem, order, origin, excess);
  }

  void tryFamilies() {
    constexpr double partOfFamilies = 0.5;
    std::vector<FamilyChoice> choices = allFamilies();
    // `blockwise` moves state once per unit; the best unit depends on links and
    // memory.
    for (int64_t unit : unitsWorthTrying(problem))
      choices.push_back(*chooseFamily("blockwise", {{"u", unit}}));
    // An order can only be judged once it has gathers.
    Portfolio families(problem, std::move(choices), [](Schedule order) {
      Judged unjudged;
      unjudged.schedule = std::move(order);
      return unjudged;
    });
    families.forEach(
        [&](size_t) { return !best || !limit.isOver(partOfFamilies); },
        [&](size_t i, const Judged &order) {
          Caps excess;
          if (!options.inIndexOrder ||
              !checkAccumulation(problem, order.schedule))
            take(fit(order.schedule, families.choice(i).text(), excess));
        });
  }

  /// Half of time and effort for the first attempt, a quarter for each other
  /// one.
  SearchOptions shareOf(int64_t number) const {
    SearchOptions share = options;
    for (Schedule &start : share.starts)
      start = withoutMoves(start);
    const int64_t parts = number == 0 ? 2 : 4;
    if (options.effort > 0)
      share.effort = std::max<int64_t>(1, options.effort / parts);
    if (options.timeLimitMs > 0)
      share.timeLimitMs = std::max<int64_t>(1, options.timeLimitMs / parts);
    if (best)
      share.starts.push_back(withoutMoves(*best->schedule));
    return share;
  }

  /// Searches with whole state under `caps`. `room` is the memory that the
  /// residencies of the best order leave for activations, if known. Returns the
  /// caps of the next attempt, or nothing to end.
  std::optional<Caps> attempt(int64_t number, const Caps &caps, Caps &room) {
    whole.memoryCaps = caps;
    SearchResult found = runSearch(whole, shareOf(number));
    effort += found.effort;
    seconds += found.seconds;
    if (!found.schedule) {
      last = std::move(found);
      return std::nullopt;
    }
    Caps excess;
    auto judged = fit(*found.schedule, found.origin, excess);
    if (judged)
      judged->stop = found.stop;
    last.stop = found.stop;
    take(std::move(judged));
    if (isZero(excess)) {
      if (best && !isOptimal())
        take(mover.improve(*best, room));
      return best && room != caps ? std::optional(room) : std::nullopt;
    }
    Caps lower = caps;
    for (size_t rank = 0; rank < excess.size(); ++rank)
      if (lower[rank] != noMemoryCap)
        lower[rank] = std::max<int64_t>(0, lower[rank] - excess[rank]);
    return lower;
  }

  const PlanFigures &plan;
  const Problem &problem;
  const SearchOptions &options;
  const RunSearch &runSearch;
  const Bound bound;
  Problem whole;
  const Deadline limit;
  ResidencyMover mover;
  std::optional<SearchResult> best;
  /// The last search's result, returned with a fault if no order fits.
  SearchResult last;
  int64_t effort = 0;
  double seconds = 0;
};

} // namespace

SearchResult searchSharded(const PlanFigures &plan, const Problem &problem,
                           const SearchOptions &options, const RunSearch &run) {
  return ShardedSearcher(plan, problem, options, run).run();
}

} // namespace rondo
