//===- CopySearch.cpp - Search if stages may copy to their hosts ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First orders without copies, under the caps and under larger ones. The latter
// get copies until they fit. A local search then changes the best lists.
//
//===----------------------------------------------------------------------===//

#include "schedule/search/CopySearch.h"

#include "schedule/families/Family.h"
#include "schedule/search/ListSearch.h"
#include "schedule/search/OneByOne.h"
#include "schedule/transforms/Offload.h"

#include <algorithm>

using namespace rondo;

namespace {

/// Units of 1,000 tasks; about a minute of one thread.
constexpr int64_t defaultEffort = 2000000;
/// Parts of the time and effort for orders without copies: under the caps, and
/// under each of the larger ones.
constexpr double shareWithoutCopies = 0.3, shareOfLargerCaps = 0.03;
/// Part of the effort for families, and the least of it per task.
constexpr double shareOfFamilies = 0.1;
constexpr int64_t leastForFamilies = 250;
/// Larger caps that are tried, in percent. 0: no cap.
constexpr int64_t largerCaps[] = {0, 125, 150, 200, 300};
/// Chains of a round, the rounds, and the most starts that are kept.
constexpr int64_t chains = 8, rounds = 6;
constexpr size_t maxStarts = 12;
/// Temperature of the hottest chain of a round, as a part of the objective, and
/// of each chain, as a part of that of the one before it.
constexpr double hottest = 0.03, coolingOfChains = 0.774163;
/// ListAnnealing::Settings of half of the chains.
constexpr double weightOfEnds = 0.1;

class Searcher : ListSearch {
public:
  Searcher(const Problem &problem, const SearchOptions &options)
      : ListSearch(problem, options) {}

  SearchResult run() {
    if (!begin(1000 * defaultEffort))
      return std::move(result);
    for (const Schedule &start : options.starts)
      add(start, "start");
    if (options.without != "copies")
      tryFamilies();
    searchWithoutCopies();
    if (!isDone())
      seekPricedPaths(budget.tasksInTime());
    if (options.without != "copies")
      placeCopies();
    return end();
  }

private:
  /// Offers a schedule, and keeps it to start from.
  void add(Schedule schedule, const std::string &origin) {
    if (schedule.numActions() <= maxActions)
      sources.push_back(schedule);
    offer(std::move(schedule), origin);
  }

  /// Options for a part of the time and effort.
  SearchOptions part(double share) const {
    SearchOptions now = options;
    now.observer = nullptr;
    now.robustness.reset();
    now.starts.clear();
    now.known = {0, "L1"};
    if (options.timeLimitMs > 0)
      now.timeLimitMs =
          std::max<int64_t>(1, int64_t(double(options.timeLimitMs) * share));
    if (budget.isByEffort())
      now.effort = std::max<int64_t>(
          1,
          int64_t(double(options.effort > 0 ? options.effort : defaultEffort) *
                  share));
    return now;
  }

  /// Searches orders without copies; joins the work.
  SearchResult searchPlain(const Problem &plain, double share) {
    SearchOptions now = part(share);
    for (const Schedule &start : options.starts)
      if (!start.hasCopies())
        now.starts.push_back(start);
    SearchResult found = search(plain, now);
    budget.use(found.effort * 1000);
    return found;
  }

  void placeCopies() {
    if (!isDone())
      searchLargerCaps();
    const bool hasFused = hasCheaperBackward(problem);
    for (const bool isFused : {false, true})
      if ((hasFused || !isFused) && !isDone())
        if (const auto graph = makeTaskGraph(problem, isFused))
          searchGraph({*graph, ordersOf(isFused), "copies"},
                      hasFused && !isFused ? 0.5 : 1);
  }

  /// W keeps the order of sums, B only if that is asked for.
  OrderClass ordersOf(bool isFused) const {
    if (problem.isUneven())
      return options.inIndexOrder && !isOrderGiven(options.orders)
                 ? OrderClass::Sums
                 : options.orders;
    return isFused && !options.inIndexOrder ? OrderClass::Free
                                            : OrderClass::Sums;
  }

  void searchWithoutCopies() {
    SearchResult plain =
        searchPlain(problem.withoutCopies(), shareWithoutCopies);
    if (plain.schedule)
      add(std::move(*plain.schedule), plain.origin);
  }

  /// Orders that do not fit yet. A bound without caps holds with copies as
  /// well.
  void searchLargerCaps() {
    std::vector<int64_t> peaks(problem.numRanks(), noMemoryCap);
    for (const int64_t percent : largerCaps) {
      if (isDone())
        return;
      Problem larger = problem.withoutCopies();
      bool isTighter = percent == 0;
      for (int32_t r = 0; r < problem.numRanks(); ++r) {
        int64_t &cap = larger.memoryCaps[r];
        if (percent == 0 || cap == noMemoryCap)
          cap = noMemoryCap;
        else
          cap = std::max<int64_t>(cap + 1, cap / 100 * percent);
        isTighter |= cap < peaks[r];
      }
      if (!isTighter)
        continue;
      SearchResult found = searchPlain(larger, shareOfLargerCaps);
      if (percent == 0)
        keep(found.bound);
      if (!found.schedule)
        continue;
      if (percent == 0)
        peaks = found.simulation.peakBytes;
      sources.push_back(std::move(*found.schedule));
    }
  }

  /// Families write orders that fill and drain in many ways. The fastest ones
  /// get copies, until the next one would be no better with unlimited memory.
  void tryFamilies() {
    struct Draft {
      FamilyChoice choice;
      Schedule schedule;
      int64_t ns;
    };
    const int64_t until =
        budget.tasksUsed() +
        std::max(int64_t(double(tasksLeft()) * shareOfFamilies),
                 leastForFamilies * tasks);
    const auto isOver = [&] { return budget.tasksUsed() >= until || isDone(); };
    Problem free = problem.withoutCopies();
    std::fill(free.memoryCaps.begin(), free.memoryCaps.end(), noMemoryCap);
    sources.push_back(oneByOne(free));
    std::vector<Draft> drafts;
    for (const FamilyChoice &choice : allFamilies()) {
      if (isOver())
        break;
      budget.use(tasks);
      FamilyResult made = generate(choice, free);
      if (!made || made->numActions() > maxActions || made->hasCounts() ||
          made->hasSteps())
        continue;
      Judged judged = judge(free, std::move(*made), options);
      budget.use(judged.steps);
      if (judged.isLegal())
        drafts.push_back(
            {choice, std::move(judged.schedule), judged.objective});
    }
    std::stable_sort(
        drafts.begin(), drafts.end(),
        [](const Draft &a, const Draft &b) { return a.ns < b.ns; });
    using Pairs = OffloadOptions::Pairs;
    for (Draft &draft : drafts) {
      for (const Pairs pairs : {Pairs::Fit, Pairs::All}) {
        if (draft.ns >= objective() || isOver())
          break;
        budget.use(4 * draft.schedule.numActions());
        add(withCopies(problem, draft.schedule, {pairs, 0}),
            draft.choice.text() + ":" + offloadName + "=" +
                offloadWords[static_cast<int>(pairs)]);
      }
      sources.push_back(std::move(draft.schedule));
    }
  }

  /// Lists of all orders so far, made legal; best first, with different
  /// objectives.
  std::vector<ListStart> makeStarts(const ListDomain &domain) {
    ListAnnealing annealing = makeAnnealing(domain, options.seed, budget);
    std::vector<ListStart> starts;
    for (const Schedule &source : sources) {
      RankLists given;
      if (!readLists(domain.graph, source, given))
        continue;
      for (const Overflow overflow :
           {Overflow::Copy, Overflow::Pull, Overflow::Defer}) {
        if (!starts.empty() && budget.isSpent(4 * given.total()))
          return starts;
        RankLists lists = given;
        if (!annealing.legalize(lists, overflow))
          continue;
        const int64_t ns = annealing.timeOf(lists);
        insertStart(starts, {std::move(lists), ns}, maxStarts);
      }
    }
    return starts;
  }

  void searchGraph(const ListDomain &domain, double share) {
    std::vector<ListStart> starts = makeStarts(domain);
    if (starts.empty())
      return;
    offer(domain, starts.front().lists);
    // The last search ends with the budget: the pace may change.
    const int64_t until =
        share < 1 ? budget.tasksUsed() + int64_t(double(tasksLeft()) * share)
                  : never;
    for (int64_t round = 0; !isDone(); ++round) {
      const int64_t left = std::min(tasksLeft(), until - budget.tasksUsed());
      if (left <= 0)
        break;
      std::vector<ListChain> list = chainsOf(starts, round);
      runChains(domain, list,
                left / std::max<int64_t>(1, rounds - round) / chains);
      for (ListChain &chain : list)
        insertStart(starts, std::move(chain.start), maxStarts,
                    /*replaces=*/true);
    }
    if (starts.front().ns == objective())
      dropCopies(domain, starts.front().lists);
  }

  /// Chains of different temperatures, half of them from the best start.
  std::vector<ListChain> chainsOf(const std::vector<ListStart> &starts,
                                  int64_t round) const {
    std::vector<ListChain> list;
    double hot = hottest;
    for (int64_t i = 0; i < chains; ++i, hot *= coolingOfChains)
      list.push_back({starts[(i + round) % 2 == 0 ? 0 : i / 2 % starts.size()],
                      {hot, i % 4 < 2 ? 0 : weightOfEnds}});
    return list;
  }

  void dropCopies(const ListDomain &domain, RankLists lists) {
    Budget rest = budget.part(8 * int64_t(lists.total()) * lists.total());
    makeAnnealing(domain, options.seed, rest).dropCopies(lists);
    Judged judged = judge(problem, scheduleOf(domain, lists), options);
    if (judged.objective > objective())
      return;
    result.schedule = std::move(judged.schedule);
    result.simulation = std::move(judged.simulation);
  }

  /// Longer orders are no starts of the local search.
  static constexpr int64_t maxActions = 200000;

  /// Orders to start from; they may break caps.
  std::vector<Schedule> sources;
};

} // namespace

SearchResult rondo::searchWithCopies(const Problem &problem,
                                     const SearchOptions &options) {
  return Searcher(problem, options).run();
}
