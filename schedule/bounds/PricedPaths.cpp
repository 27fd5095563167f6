//===- PricedPaths.cpp - LB8: prices of a rank's time and memory ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only one rank's time and memory are limited; all other ranks only delay
// micro-batches. An objective is assumed. The rank's time is cut into pieces.
// In each piece, its time has a price per ns and its memory one per byte and
// ns. All micro-batches together pay at most for the whole time and the whole
// cap in each piece, since the rank runs one task at a time and holds no more
// than its cap. Each of them pays at least the cost of the cheapest path of a
// micro-batch (CheapestPath.h). If the sum of these costs exceeds the price of
// all capacity, no schedule has this objective, nor a lower one, which would
// only leave each task less time. This holds for any prices. The best ones are
// the dual of a linear program over shares of all paths. So the bound combines
// the work, the cap, and the time and memory that stay unused at the two ends.
// If micro-batches may be copied to the host, the lanes for copies and the
// memory of the host have prices as well.
//
// Good prices are those of a game (Simplex.h): a mix of capacities against
// paths. Paths are added in rounds: those that are cheap at a mean of the best
// prices so far and the prices of the game (column generation, with the
// smoothing of Wentges, 1997). Then the objective grows as far as the best
// prices allow, and time is cut anew, finer where prices change (PriceKnots.h).
//
//===----------------------------------------------------------------------===//

#include "schedule/bounds/PricedPaths.h"
#include "schedule/bounds/Arguments.h"
#include "schedule/bounds/CheapestPath.h"
#include "schedule/bounds/HeldBytes.h"
#include "schedule/bounds/Idle.h"
#include "schedule/bounds/PriceKnots.h"
#include "schedule/bounds/Simplex.h"

#include <algorithm>
#include <cmath>

using namespace rondo;

namespace {

/// Limits for one objective.
constexpr int32_t maxRounds = 60;
constexpr int64_t maxPivots = 400;
/// The number of new paths per round, and the most paths that are kept.
constexpr size_t pathsOfRound = 8, maxPaths = 400;
/// The number of cheapest paths that move on to the next objective.
constexpr size_t pathsMoved = 200;
constexpr double shareOfBest = 0.7;
/// When the objective changes, paths that start in the first fifth of the slack
/// keep their starts, and those in the last fifth their distance from its end.
constexpr double shareThatStays = 0.2;
/// Rounds end once the best prices have gained this share of the value that the
/// game shows as possible.
constexpr double enough = 0.6;
/// Smaller gains, relative to the objective, do not count in a round
/// (leastOfRounds) or in a step (leastOfStep). The search stops after
/// stepsWithoutGain steps without a gain.
constexpr double leastOfRounds = 2e-4, leastOfStep = 1e-3;
constexpr int stepsWithoutGain = 3;
/// Maximum number of pieces; with more, rounds take too long for their gain.
constexpr size_t maxPieces = 60;
constexpr double shareSplit = 0.3;
/// Maximum effort in labels; more seldom raises the bound.
constexpr int64_t maxEffort = 300000;

class PricedPaths {
public:
  PricedPaths(const RankPath &path, int64_t microbatches, int64_t known,
              int64_t ceiling, int64_t &effort)
      : path(path), microbatches(double(microbatches)), ceiling(ceiling),
        effort(effort), knots(path, known), objective(known) {
    // At first only memory has a price, the same at all times.
    best.assign(path.capacities.size(), std::vector(knots.pieces(), 0.0));
    best[RankPath::Memory].assign(knots.pieces(), 1);
  }

  /// No schedule has an objective below the result.
  int64_t solve() {
    for (int idle = 0; effort > 0 && objective < ceiling;) {
      const std::optional<RankPrices> ofGame = improve();
      if (!ofGame)
        break;
      const int64_t before = objective;
      if (bestValue > 1)
        extend();
      const bool gains =
          double(objective - before) >= leastOfStep * double(before) ||
          bestValue >= 1 + leastOfStep;
      idle = gains ? 0 : idle + 1;
      if (idle == stepsWithoutGain)
        break;
      // After a step without a gain, all pieces may be halved.
      if (gains)
        knots.join(before, best);
      const RankPrices guide = bestValue > 1 ? best : *ofGame;
      knots.split(before, guide, gains ? shareSplit : 1, maxPieces, best);
    }
    return std::min(objective, ceiling);
  }

private:
  CheapestPath cheapestIn(int64_t tried) {
    return CheapestPath(path, tried, knots.timesIn(tried));
  }

  /// Scales prices so that all resources of the rank cost 1.
  void scale(const CheapestPath &cheapest, RankPrices &prices) const {
    double sum = 0;
    for (size_t i = 0; i < cheapest.pieces(); ++i) {
      double all = 0;
      for (size_t r = 0; r < prices.size(); ++r)
        all += double(path.capacities[r]) * prices[r][i];
      sum += cheapest.length(i) * all;
    }
    for (std::vector<double> &list : prices)
      for (double &price : list)
        price /= sum;
  }

  /// Lower bound of the total cost of all micro-batches, for prices at which
  /// all resources of the rank cost 1 (scale()). Above 1, no schedule has
  /// the objective. Subtracts rounding errors: that of leastCost(), and 1e-9
  /// for the scaling and the product, whose errors are about 1e-13.
  double valueOf(CheapestPath &cheapest, const RankPrices &prices) {
    spend(cheapest.work() / 16);
    return microbatches *
               (cheapest.leastCost(prices) - cheapest.roundingError()) -
           1e-9;
  }
  void spend(size_t labels) { effort -= 1 + int64_t(labels); }

  /// The column of a path: the use of each piece's resources, as a part of
  /// their capacity, if all micro-batches took this path.
  std::vector<double> columnOf(const CheapestPath &cheapest,
                               const PathStarts &starts) const {
    std::vector<double> column = cheapest.useOf(starts);
    const size_t pieces = cheapest.pieces();
    for (size_t n = 0; n < column.size(); ++n)
      column[n] *= microbatches / cheapest.length(n % pieces) /
                   double(path.capacities[n / pieces]);
    return column;
  }
  RankPrices pricesOf(const CheapestPath &cheapest,
                      const std::vector<double> &mix) const {
    const size_t pieces = cheapest.pieces();
    RankPrices prices(path.capacities.size());
    for (size_t n = 0; n < mix.size(); ++n)
      prices[n / pieces].push_back(
          mix[n] /
          (cheapest.length(n % pieces) * double(path.capacities[n / pieces])));
    return prices;
  }

  void add(const CheapestPath &cheapest, Simplex &game, PathStarts starts) {
    const std::vector<double> column = columnOf(cheapest, starts);
    // A path that uses nothing is free at any prices.
    if (*std::max_element(column.begin(), column.end()) <= 0)
      return;
    game.addColumn(column);
    paths.push_back(std::move(starts));
  }
  void keepPaths(Simplex &game, size_t most) {
    std::vector<PathStarts> kept;
    for (size_t number : game.prune(most))
      kept.push_back(std::move(paths[number]));
    paths = std::move(kept);
  }

  /// Moves the paths of the last objective: those near its begin stay, those
  /// near its end move with it, and others move by a part of it. The delays
  /// between a path's operations do not change.
  void movePaths(const CheapestPath &cheapest, Simplex &game) {
    std::vector<PathStarts> old;
    std::swap(old, paths);
    const auto slack = double(path.slack(objective));
    for (PathStarts &starts : old) {
      const double part = (starts[0] / slackOfPaths - shareThatStays) /
                          (1 - 2 * shareThatStays);
      const double shift = (slack - slackOfPaths) * std::clamp(part, 0.0, 1.0);
      for (double &start : starts)
        start += shift;
      add(cheapest, game, std::move(starts));
    }
    slackOfPaths = slack;
  }

  /// Improves the prices for the objective. Returns those of the game; none if
  /// a path is free.
  std::optional<RankPrices> improve() {
    CheapestPath cheapest = cheapestIn(objective);
    const size_t pieces = cheapest.pieces();
    Simplex game(path.capacities.size() * pieces);
    movePaths(cheapest, game);
    scale(cheapest, best);
    RankPrices prices = best, ofGame;
    bestValue = 0;
    for (int32_t round = 0; round < maxRounds; ++round) {
      const double value = valueOf(cheapest, prices);
      if (value > bestValue) {
        bestValue = value;
        best = prices;
      }
      for (PathStarts &starts : cheapest.cheapPaths(pathsOfRound))
        add(cheapest, game, std::move(starts));
      if (game.columns() == 0)
        return std::nullopt;
      int64_t pivots = maxPivots;
      game.solve(pivots);
      spend(size_t(maxPivots - pivots) * (pieces + game.columns()) * pieces /
            256);
      ofGame = pricesOf(cheapest, game.mix());
      // Upper bound of what better prices can reach: more paths only lower the
      // value of the game.
      const double most = game.value();
      if (most <= 1 + leastOfRounds || most - bestValue < leastOfRounds ||
          bestValue - 1 > enough * (most - 1) || effort <= 0)
        break;
      if (game.columns() > maxPaths)
        keepPaths(game, maxPaths);
      for (size_t r = 0; r < prices.size(); ++r)
        for (size_t i = 0; i < pieces; ++i)
          prices[r][i] =
              shareOfBest * best[r][i] + (1 - shareOfBest) * ofGame[r][i];
    }
    keepPaths(game, pathsMoved);
    return ofGame;
  }

  /// Raises the objective as long as the best prices prove it too low.
  void extend() {
    int64_t low = objective, high = ceiling;
    for (double value = bestValue; effort > 0 && high - low > 1;) {
      // Extrapolates: at the same prices, the value usually falls at most in
      // proportion to the objective.
      int64_t tried = low + 1 + int64_t(double(low) * (value - 1));
      if (tried >= high)
        tried = low + (high - low) / 2;
      CheapestPath cheapest = cheapestIn(tried);
      RankPrices prices = best;
      scale(cheapest, prices);
      const double found = valueOf(cheapest, prices);
      if (found > 1) {
        low = tried;
        value = found;
      } else {
        high = tried;
      }
      if (value - 1 < leastOfRounds / 4 || high - low < low / 20000)
        break;
    }
    objective = low + 1;
  }

  const RankPath &path;
  const double microbatches;
  const int64_t ceiling;
  int64_t &effort;
  PriceKnots knots;
  /// No schedule has a lower objective.
  int64_t objective;
  /// The best prices for the last objective, and their value.
  RankPrices best;
  double bestValue = 0;
  /// The paths of the game's columns, in the last objective.
  std::vector<PathStarts> paths;
  double slackOfPaths = 1;
};

/// A rank is skipped if the time per micro-batch that its memory requires is
/// below this share of its work: the work decides there, and prices gain
/// nothing.
constexpr double leastShare = 0.95;

/// The rank whose memory allows the least throughput.
const RankPath *tightestOf(const std::vector<RankPath> &paths) {
  const RankPath *tightest = nullptr;
  double most = 0;
  for (const RankPath &path : paths) {
    const double period = path.area() / double(path.cap());
    if (period > most && period >= leastShare * double(path.work())) {
      most = period;
      tightest = &path;
    }
  }
  return tightest;
}

/// With more copies, there are too many sets of them.
constexpr size_t maxCopies = 4;

/// The bounds of all ranks whose memory is tight, each from the one before on.
int64_t boundWithCopies(const Problem &problem, const FlatProblem &flat,
                        int64_t ceiling, int64_t effort) {
  const std::vector<RankPath> paths = rankPathsOf(flat, &problem);
  int64_t known = quickBound(problem).ns;
  for (size_t i = 0; i < paths.size() && known < ceiling; ++i) {
    int64_t takes = 0;
    for (const RankPath::Operation &operation : paths[i].operations)
      takes += operation.takes;
    if (paths[i].copies.size() > maxCopies || paths[i].slack(known) <= 0 ||
        paths[i].cap() / problem.microbatches >= takes)
      continue;
    int64_t own = effort / int64_t(paths.size() - i);
    effort -= own;
    known =
        pricedPathsBound(paths[i], problem.microbatches, known, ceiling, own);
    effort += own;
  }
  return std::min(known, ceiling);
}

int64_t computePricedPaths(const Problem &problem, int64_t ceiling,
                           int64_t effort) {
  std::optional<FlatProblem> flat =
      FlatProblem::of(problem, BackwardCosts::Least);
  if (!flat || !flat->isChain || !flat->offsetsAreExact ||
      !flat->hasTightMemory)
    return 0;
  // Takes a quarter of the effort, as bound LB7 does.
  effort = std::min(effort / 4, maxEffort);
  if (problem.hostMemory.hasCopies())
    return boundWithCopies(problem, *flat, ceiling, effort);
  const std::vector<RankPath> paths = rankPathsOf(*flat);
  const RankPath *path = tightestOf(paths);
  // With one stage, bound LB4 is as good.
  if (!path || path->leaves.size() < 2)
    return 0;
  // The search for the objective begins at bound LB4 of the first
  // micro-batches, enough for the ramps.
  const int64_t all = problem.microbatches;
  flat->microbatches =
      int32_t(std::min(all, int64_t(2) * std::max(8, flat->ranks)));
  Propagation propagation(*flat, true);
  const int64_t bound = propagation.estimate(PartialState(*flat)).bound;
  if (bound >= never)
    return 0;
  const int64_t known = std::max({bound, idleBound(*flat, propagation, all),
                                  heldBytesBound(*flat, propagation, all)});
  if (known >= ceiling || path->slack(known) <= 0)
    return std::min(known, ceiling);
  return pricedPathsBound(*path, all, known, ceiling, effort);
}

} // namespace

int64_t rondo::pricedPathsBound(const RankPath &path, int64_t microbatches,
                                int64_t known, int64_t ceiling,
                                int64_t &effort) {
  return PricedPaths(path, microbatches, known, ceiling, effort).solve();
}

BoundArgument rondo::pricedPaths() {
  return {"L8", "prices of one rank's time and memory", computePricedPaths,
          BoundCost::Labels};
}
