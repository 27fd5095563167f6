//===- WindowSearch.cpp - Search of depths from the bound on --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For each policy and style of backward, bisects the iteration time, from the
// bound up to that of one micro-batch at a time, and tries the least depths for
// it (leastDepths()). These are exact if a step takes no time and links are not
// congested. For other cases, and for policies whose copies do not grow with
// depth, a descent follows: one stage, or all up to one, a micro-batch deeper
// or less deep, as long as that is better. If there are few depth vectors, all
// are tried.
//
//===----------------------------------------------------------------------===//

#include "schedule/search/WindowSearch.h"

#include "schedule/bounds/Shortfall.h"
#include "schedule/families/OwnRanks.h"
#include "schedule/rules/Legality.h"
#include "schedule/rules/Repeatable.h"
#include "schedule/search/Budget.h"
#include "schedule/search/DepthOrder.h"
#include "schedule/search/Orders.h"
#include "schedule/search/Random.h"
#include "schedule/search/WindowJudge.h"
#include "schedule/transforms/Iterations.h"

#include <algorithm>
#include <map>

using namespace rondo;

/// Up to this many depth vectors of a style, all are tried.
static constexpr int64_t fewVectors = 400;
/// Steps of the bisection of an iteration time.
static constexpr int numBisections = 24;
/// The most values of DepthOrder::lateStages below the number of stages that
/// are tried.
static constexpr int32_t maxMixed = 7;
/// Number of restarts of the descent, from randomly changed depths.
static constexpr int numRestarts = 4;

int64_t rondo::iterationBound(const Problem &window) {
  const int64_t each = window.microbatchesEach();
  std::vector<int64_t> work(window.numRanks(), 0);
  for (int32_t replica = 0; replica < window.numReplicas(); ++replica) {
    auto ns = [&](ActionKind kind) { return window.cost(replica, kind).ns; };
    const int64_t split =
        (ns(ActionKind::InputGrad) + ns(ActionKind::WeightGrad)) * each;
    const int64_t fused =
        ns(ActionKind::Backward) * (window.countsOnce ? 1 : each);
    work[window.rankOf(replica)] +=
        ns(ActionKind::Forward) * each + std::min(split, fused) +
        ns(ActionKind::Recompute) * (window.countsOnce ? 1 : each) +
        ns(ActionKind::Step);
  }
  // Messages of a link are sent one after the other, whichever tasks make them.
  // The time of messages that leave together is rounded up once, so the bound
  // rounds down.
  std::map<std::pair<int32_t, int32_t>, int64_t> onLink;
  for (const Edge &edge : window.edges) {
    const int32_t from = window.rankOf(edge.from), to = window.rankOf(edge.to);
    const int64_t bytesPerUs = window.linkBetween(from, to).bytesPerUs;
    if (from == to || bytesPerUs == 0)
      continue;
    const int64_t times = window.countsOnce ? 1 : each;
    onLink[{from, to}] +=
        static_cast<int64_t>(__int128(1000) * edge.bytes * times / bytesPerUs);
  }
  int64_t bound = *std::max_element(work.begin(), work.end());
  for (const auto &[link, ns] : onLink)
    bound = std::max(bound, ns);
  return bound;
}

namespace {

class WindowSearcher {
public:
  WindowSearcher(const Problem &window, const WindowSearchOptions &options)
      : window(window), options(options), budget(options.search),
        random(options.search.seed) {}

  WindowSearchResult run() {
    result.fault = findShortfall(window);
    if (result.fault)
      return std::move(result);
    result.boundNs = iterationBound(window);
    const int64_t tasks = window.numTasks() / window.iterations;
    budget.limitEffort(options.search.effort > 0
                           ? std::min(options.search.effort, never / 1000) *
                                 1000
                           : 20000000 + 2000 * tasks);
    drain();
    hasChunks = haveSeveralStages(window);
    Result<Problem> chain = problemOfDepths(window);
    if (!chain) {
      result.onlyDrained = std::move(chain.fault());
    } else {
      for (const PolicyChoice &policy : options.policies)
        if (!isSynchronous(policy)) {
          result.numOverlapping = result.numOverlapping.value_or(0);
          searchPolicy(policy, *chain);
        }
    }
    finish();
    return std::move(result);
  }

private:
  bool isSynchronous(const PolicyChoice &policy) const {
    return WindowJudge(window, policy, options.maxDelay).maxDelay() == 0 &&
           (policy.versions.empty()
                ? window.versions.empty() ||
                      window.versions[0] == synchronousPolicy
                : policy.versions[0] == synchronousPolicy);
  }

  /// Tries the order of one iteration, repeated: no task is late, and all
  /// policies allow it. Of equal results, the first policy's is kept.
  void drain() {
    for (const PolicyChoice &policy : options.policies)
      drain(WindowJudge(window, policy, options.maxDelay), policy);
  }

  /// A search of one iteration counts activations only. If versions or the mean
  /// of changes make its order exceed the caps, searches again under the caps
  /// minus these bytes.
  void drain(const WindowJudge &judge, const PolicyChoice &policy) {
    // The memory of versions hardly depends on the order if iterations drain.
    constexpr int maxAttempts = 3;
    std::vector<int64_t> caps = window.memoryCaps;
    for (int i = 0; i < maxAttempts; ++i) {
      const SearchResult &found = searchOneIteration(caps);
      if (!found.schedule) {
        if (caps == window.memoryCaps)
          result.fault = found.fault;
        return;
      }
      auto write = [&](const Problem &over) {
        return repeatOrder(over, *found.schedule);
      };
      int64_t cost = 0;
      const auto figures = judge.measure(write, cost);
      budget.use(cost);
      if (!figures)
        return;
      offer(judge, policy, *figures, write,
            found.origin + " in each iteration");
      std::vector<int64_t> left = judge.capsOfActivations(*figures);
      if (judge.fits(*figures) || left == caps)
        return;
      caps = std::move(left);
    }
  }

  /// The result for these caps of activations; each is searched once.
  const SearchResult &searchOneIteration(const std::vector<int64_t> &caps) {
    const auto [at, isNew] = iterationsByCaps.try_emplace(caps);
    if (!isNew)
      return at->second;
    SearchOptions inner = options.search;
    inner.timeLimitMs = (inner.timeLimitMs + 2) / 3;
    inner.effort = (inner.effort + 2) / 3;
    inner.robustness.reset();
    inner.observer = nullptr;
    Problem one = oneIteration(window);
    one.versions.clear();
    if (caps != window.memoryCaps) {
      one.memoryCaps = caps;
      // `devices` only describes the original caps: what the state leaves of a
      // device.
      one.devices.clear();
    }
    at->second = search(one, inner);
    budget.use(at->second.effort * 1000);
    return at->second;
  }

  void searchPolicy(const PolicyChoice &policy, const Problem &chain) {
    const WindowJudge judge(window, policy, options.maxDelay);
    bool isWhole = window.countsOnce && window.microbatchesEach() > 1;
    for (const VersionPolicy &of : judge.window().versions)
      isWhole |= of.backward == BackwardWeights::Committed &&
                 window.microbatchesEach() > 1;
    std::vector<DepthOrder> styles = {{BackwardStyle::Fused, {}},
                                      {BackwardStyle::Split, {}}};
    if (window.microbatchesEach() > 1)
      styles.push_back({BackwardStyle::LateWeights, {}});
    if (isWhole && window.microbatchesEach() <= maxCount)
      styles.push_back({BackwardStyle::Whole, {}});
    if (window.microbatchesEach() > 1) {
      const int32_t mixed = chain.numStages() - 1;
      const int32_t count = std::min(mixed, maxMixed);
      for (int32_t i = 0; i < count; ++i)
        styles.push_back(
            {BackwardStyle::LateWeights, {}, 1 + i * mixed / count});
    }
    for (const DepthOrder &style : styles)
      searchStyle(judge, policy, chain, style);
  }

  /// The measurements of a style, by depths, and the best depths.
  struct Known {
    std::map<std::vector<int32_t>, std::optional<WindowFigures>> figures;
    std::vector<int32_t> best;
  };

  /// Searches the depths of a style. `like` states the style and has no depths.
  void searchStyle(const WindowJudge &judge, const PolicyChoice &policy,
                   const Problem &chain, const DepthOrder &like) {
    Known known;
    auto look = [&](const std::vector<int32_t> &depths) {
      return lookAt(judge, policy, like, known, depths);
    };
    auto leastFor = [&](double ns) {
      return leastDepths(chain, like.style, ns, like.lateStages);
    };
    const int32_t least = leastDepth(chain, like.style);
    const std::vector<int32_t> shallow(chain.numStages(), least);
    const auto deepest = leastFor(double(result.boundNs));
    look(shallow);
    // The depths of 1F1B, which the least ones for an iteration time fall short
    // of where stages share a rank and wait for each other.
    if (hasChunks) {
      std::vector<int32_t> full(chain.numStages());
      for (int32_t s = 0; s < chain.numStages(); ++s)
        full[s] = std::max(least, chain.numStages() - s);
      look(full);
    }
    if (!look(deepest))
      bisect(chain, leastFor, look);
    noteUnlimited(judge, known, deepest);
    if (known.best.empty())
      return;
    const int64_t all = numVectors(chain.numStages(), deepest[0] + 1 - least);
    if (all <= fewVectors) {
      lookAtAll(least, deepest[0] + 1, shallow, 0, look);
      return;
    }
    descend(known, look, least);
    for (int i = 0; i < numRestarts && !budget.isSpent(); ++i) {
      std::vector<int32_t> changed = known.best;
      for (int32_t &depth : changed)
        depth = std::max<int32_t>(least, depth + int32_t(random.below(3)) - 1);
      for (size_t s = changed.size() - 1; s-- > 0;)
        changed[s] = std::max(changed[s], changed[s + 1]);
      look(changed);
      Known from = known;
      from.best = changed;
      descend(from, look, least);
    }
  }

  /// Measures an order by depths, at most once. True if it fits.
  bool lookAt(const WindowJudge &judge, const PolicyChoice &policy,
              const DepthOrder &like, Known &known,
              const std::vector<int32_t> &depths) {
    DepthOrder order = like;
    order.depths = depths;
    auto [at, isNew] = known.figures.try_emplace(depths);
    std::optional<WindowFigures> &figures = at->second;
    auto write = [&](const Problem &over) { return scheduleOf(over, order); };
    if (isNew) {
      // Measures one order even if the budget is spent, to have a result.
      if (result.schedule && budget.isSpent())
        return false;
      int64_t cost = 0;
      ++*result.numOverlapping;
      figures = judge.measure(write, cost);
      budget.use(cost);
      if (figures && judge.fits(*figures))
        offer(judge, policy, *figures, write, order.text());
    }
    if (!figures || !judge.fits(*figures))
      return false;
    if (known.best.empty() ||
        WindowJudge::isBetter(*figures, *known.figures[known.best]))
      known.best = depths;
    return true;
  }

  /// Searches the least iteration time whose least depths fit.
  template <typename Least, typename Look>
  void bisect(const Problem &chain, const Least &leastFor, const Look &look) {
    double low = double(result.boundNs), high = low;
    for (int32_t s = 0; s < chain.numStages(); ++s)
      high += double(chain.microbatchesEach()) *
              double(chain.cost(s, ActionKind::Forward).ns +
                     chain.cost(s, ActionKind::Backward).ns +
                     chain.cost(s, ActionKind::InputGrad).ns);
    for (int i = 0; i < numBisections && !budget.isSpent(); ++i) {
      const double middle = (low + high) / 2;
      (look(leastFor(middle)) ? high : low) = middle;
    }
  }

  /// Number of non-increasing vectors with `values` possible values; not exact
  /// above `fewVectors`.
  static int64_t numVectors(int64_t stages, int64_t values) {
    int64_t count = 1;
    for (int64_t i = 1; i <= stages && count <= fewVectors; ++i)
      count = count * (values - 1 + i) / i;
    return count;
  }

  template <typename Look>
  void lookAtAll(int32_t least, int32_t most, std::vector<int32_t> depths,
                 size_t stage, const Look &look) {
    if (stage == depths.size()) {
      look(depths);
      return;
    }
    const int32_t highest = stage == 0 ? most : depths[stage - 1];
    for (int32_t depth = least; depth <= highest; ++depth) {
      depths[stage] = depth;
      lookAtAll(least, most, depths, stage + 1, look);
    }
  }

  /// Changes the best depths as long as a neighbour is better.
  template <typename Look>
  void descend(Known &known, const Look &look, int32_t least) {
    const auto stages = static_cast<int32_t>(known.best.size());
    for (bool isBetter = true; isBetter && !budget.isSpent();) {
      isBetter = false;
      const std::vector<int32_t> start = known.best;
      for (int32_t by : {-1, 1})
        for (int32_t s = 0; s < stages; ++s)
          for (int32_t first : {0, s}) {
            std::vector<int32_t> depths = known.best;
            for (int32_t i = first; i <= s; ++i)
              depths[i] += by;
            const bool isLegal = depths[s] >= least &&
                                 std::is_sorted(depths.rbegin(), depths.rend());
            if (isLegal && !budget.isSpent())
              look(depths);
          }
      isBetter = known.best != start;
    }
  }

  template <typename Write>
  void offer(const WindowJudge &judge, const PolicyChoice &policy,
             const WindowFigures &figures, const Write &write,
             const std::string &origin) {
    if (!judge.fits(figures) ||
        (result.schedule && !WindowJudge::isBetter(figures, result.figures)))
      return;
    Schedule schedule = write(judge.window());
    if (auto repeatable = repeatableOrder(judge.window(), schedule))
      schedule = std::move(*repeatable);
    Simulation simulation;
    if (checkAndSimulate(judge.window(), schedule, simulation,
                         /*keepTimes=*/true) ||
        (options.search.inIndexOrder &&
         checkAccumulation(judge.window(), schedule)))
      return;
    result.schedule = std::move(schedule);
    result.simulation = std::move(simulation);
    result.problem = judge.window();
    result.policy = policy.name;
    result.figures = figures;
    result.origin = origin;
  }

  /// Keeps the figures of `depths`, the least ones that can reach the bound, if
  /// they are better than those of other policies and styles.
  void noteUnlimited(const WindowJudge &judge, Known &known,
                     const std::vector<int32_t> &depths) {
    const auto at = known.figures.find(depths);
    if (at == known.figures.end() || !at->second)
      return;
    const WindowFigures &figures = *at->second;
    if (unlimited && !WindowJudge::isBetter(figures, *unlimited))
      return;
    unlimited = figures;
    shortRank = judge.shortestRank(figures);
  }

  void finish() {
    if (result.schedule) {
      result.fault.reset();
      const SettledTime &time = result.figures.time;
      result.isOptimal =
          time.isExact && time.ns <= result.boundNs * time.iterations;
      if (unlimited && unlimited->time < time) {
        result.unlimited = unlimited;
        result.shortRank = shortRank;
      }
    } else if (!result.fault || result.fault->kind == FaultKind::NothingFits) {
      const WindowSearchResult least = leastWindow(window, options);
      result.fault =
          least.fault ? least.fault : makeFault<FaultKind::NothingFits>();
    }
    result.stop = result.isOptimal ? SearchStop::Optimal : budget.stop();
    result.effort = budget.tasksUsed() / 1000;
    result.seconds = budget.seconds();
  }

  const Problem &window;
  const WindowSearchOptions &options;
  Budget budget;
  Random random;
  /// Whether a rank has several stages.
  bool hasChunks = false;
  WindowSearchResult result;
  std::map<std::vector<int64_t>, SearchResult> iterationsByCaps;
  std::optional<WindowFigures> unlimited;
  int32_t shortRank = -1;
};

} // namespace

WindowSearchResult rondo::searchWindow(const Problem &window,
                                       const WindowSearchOptions &options) {
  return WindowSearcher(window, options).run();
}
