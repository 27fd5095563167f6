//===- MemoryCurve.cpp - Searches under decreasing caps -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The epsilon-constraint method of optimization with two objectives (Haimes et
// al., 1971): one is minimized under a decreasing limit of the other.
//
//===----------------------------------------------------------------------===//

#include "schedule/search/MemoryCurve.h"
#include "schedule/bounds/Shortfall.h"
#include "schedule/search/Budget.h"
#include "schedule/simulate/Objective.h"

#include <algorithm>
#include <numeric>

using namespace rondo;

static bool areAllCapped(const Problem &problem) {
  return std::none_of(problem.memoryCaps.begin(), problem.memoryCaps.end(),
                      [](int64_t cap) { return cap == noMemoryCap; });
}

static int64_t largestCap(const Problem &problem) {
  return *std::max_element(problem.memoryCaps.begin(),
                           problem.memoryCaps.end());
}

/// More bytes than a rank ever holds.
static int64_t totalBytes(const Problem &problem, int32_t rank) {
  __int128 bytes = 1;
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
    for (const ActionTraits &traits : actionTable.rows)
      if (traits.hasCost() && problem.rankOf(replica) == rank)
        bytes += __int128(problem.cost(replica, traits.kind).acquireBytes) *
                 problem.microbatches;
  return static_cast<int64_t>(std::min<__int128>(bytes, maxSum));
}

Problem rondo::underCap(const Problem &problem, int64_t capBytes) {
  Problem under = problem;
  const bool isInProportion = areAllCapped(problem);
  const int64_t largest = largestCap(problem);
  // The peak of a rank with copies is that of a count only if it has a cap.
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
    if (problem.hostMemory.hasCopies() && under.memoryCaps[rank] == noMemoryCap)
      under.memoryCaps[rank] = totalBytes(problem, rank);
  for (int64_t &cap : under.memoryCaps)
    if (!isInProportion)
      cap = std::min(cap, capBytes);
    else if (capBytes < largest)
      cap = static_cast<int64_t>(__int128(cap) * capBytes / largest);
  if (under.memoryCaps != problem.memoryCaps)
    // `devices` only describes the original caps: what the state leaves of a
    // device.
    under.devices.clear();
  return under;
}

/// The least cap from `low` to `high` for which `holds` is true. It must be
/// true for all larger caps too.
template <typename Holds>
static int64_t leastCap(int64_t low, int64_t high, const Holds &holds) {
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (holds(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

int64_t rondo::leastCapOf(const Problem &problem,
                          const std::vector<int64_t> &peaks) {
  const int64_t largest = areAllCapped(problem)
                              ? largestCap(problem)
                              : *std::max_element(peaks.begin(), peaks.end());
  return leastCap(0, largest, [&](int64_t cap) {
    const std::vector<int64_t> caps = underCap(problem, cap).memoryCaps;
    for (size_t rank = 0; rank < caps.size(); ++rank)
      if (peaks[rank] > caps[rank])
        return false;
    return true;
  });
}

namespace {

/// Share of the time and effort for the descent; the rest goes to open points.
constexpr double shareOfDescent = 0.6;

class CurveSearch {
public:
  CurveSearch(const Problem &problem, const SearchOptions &options,
              int64_t maxPoints,
              const std::function<SearchResult(const Problem &,
                                               const SearchOptions &)> &run)
      : problem(problem), options(options), maxPoints(maxPoints), run(run),
        budget(options) {}

  MemoryCurve search() {
    curve.fault = findShortfall(problem);
    if (curve.fault)
      return std::move(curve);
    const std::vector<int64_t> least = neededActivationBytes(problem);
    curve.leastBytes = leastCapOf(problem, least);
    descend();
    share();
    improve();
    if (!curve.points.empty())
      curve.boundOfAll = curve.points.front().result.bound;
    keepBest();
    return std::move(curve);
  }

private:
  int64_t objectiveOf(const CurvePoint &point) const {
    return rondo::objectiveOf(problem, point.result.simulation);
  }

  bool isInterrupted() {
    curve.wasInterrupted |= options.interrupt && options.interrupt->load();
    return curve.wasInterrupted;
  }

  double msLeft(double part) const {
    return double(options.timeLimitMs) * part - 1000 * budget.seconds();
  }

  /// Options of a search that gets 1/`parts` of what is left of a share of the
  /// total time and effort.
  SearchOptions optionsOf(double share, int64_t parts) const {
    SearchOptions now = options;
    if (options.timeLimitMs > 0)
      now.timeLimitMs =
          std::max<int64_t>(1, int64_t(msLeft(share) / double(parts)));
    if (options.effort > 0)
      now.effort = std::max<int64_t>(
          1, int64_t(double(options.effort) * share - double(effort)) / parts);
    return now;
  }

  /// Upper bound of the number of caps that may matter: peaks are multiples of
  /// the greatest common divisor of all bytes.
  int64_t levels(const std::vector<int64_t> &peaks) const {
    int64_t unit = 0;
    for (const auto *costs : {&problem.costs, &problem.unevenCosts})
      for (const Cost &cost : *costs)
        unit = std::gcd(std::gcd(unit, cost.acquireBytes), cost.releaseBytes);
    if (unit == 0)
      return 1;
    const std::vector<int64_t> least = neededActivationBytes(problem);
    int64_t sum = 1;
    for (size_t rank = 0; rank < peaks.size(); ++rank)
      sum += std::max<int64_t>(0, (peaks[rank] - least[rank]) / unit);
    return sum;
  }

  void descend() {
    int64_t cap = largestCap(problem);
    bool takesAll = false;
    // Even an interrupted search makes a schedule, so there is always a point.
    for (int64_t left = maxPoints;
         left > 0 && (curve.points.empty() || !isInterrupted()); --left) {
      SearchOptions now = optionsOf(shareOfDescent, left);
      if (!curve.points.empty()) {
        const SearchResult &last = curve.points.back().result;
        now.starts.push_back(*last.schedule);
        now.known = last.bound;
      }
      SearchResult result = run(underCap(problem, cap), now);
      effort += result.effort;
      if (!result.schedule) {
        curve.fault = result.fault;
        return;
      }
      const std::vector<int64_t> &peaks = result.simulation.peakBytes;
      const int64_t needed = leastCapOf(problem, peaks);
      if (curve.points.empty())
        takesAll = levels(peaks) <= maxPoints;
      curve.points.push_back({needed, cap, std::move(result)});
      if (needed <= curve.leastBytes)
        return;
      const int64_t room = needed - curve.leastBytes;
      // The last search is under the least cap.
      cap = takesAll || left == 1
                ? needed - 1
                : needed - std::max<int64_t>(1, (room + left - 2) / (left - 1));
    }
  }

  /// A schedule counts for larger caps, a bound for smaller ones.
  void share() {
    auto &points = curve.points;
    for (size_t i = points.size(); i-- > 1;)
      if (objectiveOf(points[i]) < objectiveOf(points[i - 1])) {
        const Bound bound = points[i - 1].result.bound;
        points[i - 1].result = points[i].result;
        points[i - 1].result.bound = bound;
        points[i - 1].capBytes = points[i].capBytes;
      }
    for (size_t i = 0; i < points.size(); ++i) {
      SearchResult &result = points[i].result;
      if (i > 0 && points[i - 1].result.bound.ns > result.bound.ns)
        result.bound = points[i - 1].result.bound;
      result.provenOptimal = objectiveOf(points[i]) <= result.bound.ns;
    }
  }

  void improve() {
    std::vector<size_t> open;
    auto gap = [&](size_t i) {
      const CurvePoint &point = curve.points[i];
      return double(objectiveOf(point)) /
             double(std::max<int64_t>(1, point.result.bound.ns));
    };
    for (size_t i = 0; i < curve.points.size(); ++i)
      if (!curve.points[i].result.provenOptimal)
        open.push_back(i);
    std::stable_sort(open.begin(), open.end(),
                     [&](size_t a, size_t b) { return gap(a) > gap(b); });
    for (size_t n = 0; n < open.size() && !isInterrupted(); ++n) {
      if ((options.timeLimitMs > 0 && msLeft(1) < 1) ||
          (options.effort > 0 && effort >= options.effort))
        return;
      CurvePoint &point = curve.points[open[n]];
      if (point.result.provenOptimal)
        continue;
      SearchOptions now = optionsOf(1, int64_t(open.size() - n));
      now.seed = options.seed + 1;
      now.known = point.result.bound;
      for (size_t i : {open[n], open[n] + 1, open[n] - 1})
        if (i < curve.points.size())
          now.starts.push_back(*curve.points[i].result.schedule);
      SearchResult result = run(underCap(problem, point.boundUpToBytes), now);
      effort += result.effort;
      if (!result.schedule)
        continue;
      const int64_t needed = leastCapOf(problem, result.simulation.peakBytes);
      const int64_t found = rondo::objectiveOf(problem, result.simulation);
      const Bound bound = result.bound;
      if (found < objectiveOf(point) ||
          (found == objectiveOf(point) && needed < point.capBytes)) {
        point.result = std::move(result);
        point.capBytes = needed;
      } else if (bound.ns > point.result.bound.ns) {
        point.result.bound = bound;
      }
      share();
    }
  }

  /// Drops points that take more memory without a better objective, and
  /// reverses the order of the points.
  void keepBest() {
    std::vector<CurvePoint> kept;
    for (size_t i = curve.points.size(); i-- > 0;) {
      CurvePoint &point = curve.points[i];
      if (!kept.empty() && objectiveOf(point) >= objectiveOf(kept.back())) {
        // `point` proves the objective under its own, larger cap as well.
        if (point.result.provenOptimal)
          kept.back().boundUpToBytes = point.boundUpToBytes;
        continue;
      }
      kept.push_back(std::move(point));
    }
    curve.points = std::move(kept);
  }

  const Problem &problem;
  const SearchOptions &options;
  const int64_t maxPoints;
  const std::function<SearchResult(const Problem &, const SearchOptions &)>
      &run;
  const Budget budget;
  int64_t effort = 0;
  MemoryCurve curve;
};

} // namespace

MemoryCurve rondo::searchMemoryCurve(
    const Problem &problem, const SearchOptions &options, int64_t maxPoints,
    const std::function<SearchResult(const Problem &, const SearchOptions &)>
        &run) {
  return CurveSearch(problem, options, maxPoints, run).search();
}
