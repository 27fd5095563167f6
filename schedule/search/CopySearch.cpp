//===- CopySearch.cpp - Search if stages may copy to their hosts ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First orders without copies, under the caps and under larger ones. The latter
// get copies until they fit. A local search then changes the best lists.
//
//===----------------------------------------------------------------------===//

#include "schedule/search/CopySearch.h"

#include "schedule/families/Family.h"
#include "schedule/search/CopyAnnealing.h"
#include "schedule/search/ListSearch.h"
#include "schedule/search/OneByOne.h"
#include "schedule/search/Workers.h"
#include "schedule/transforms/Offload.h"

#include <algorithm>
#include <atomic>
#include <cmath>

using namespace rondo;

namespace {

/// Units of 1,000 tasks; about a minute of one thread.
constexpr int64_t defaultEffort = 2000000;
/// Parts of the time and effort for orders without copies: under the caps, and
/// under each of the larger ones.
constexpr double shareWithoutCopies = 0.3, shareOfLargerCaps = 0.03;
/// Larger caps that are tried, in percent. 0: no cap.
constexpr int64_t largerCaps[] = {0, 125, 150, 200, 300};
/// Chains of a round, the rounds, and the most starts that are kept.
constexpr int64_t chains = 8, rounds = 6;
constexpr size_t maxStarts = 12;
/// Temperatures of the chains of a round, as parts of the objective.
constexpr double hottest = 0.03, coolest = 0.005;
/// CopyAnnealing::Settings of half of the chains.
constexpr double weightOfEnds = 0.1;

using Start = ListStart<CopyLists>;

class Searcher : ListSearch {
public:
  Searcher(const Problem &problem, const SearchOptions &options)
      : ListSearch(problem, options), workers(options.threads) {}

  SearchResult run() {
    if (!begin(defaultEffort))
      return std::move(result);
    for (const Schedule &start : options.starts)
      offer(start, "start");
    searchWithoutCopies();
    if (options.without != "copies")
      placeCopies();
    finish();
    return std::move(result);
  }

private:
  /// Keeps a schedule if it is legal and better; returns its objective.
  int64_t offer(Schedule schedule, const std::string &origin) {
    if (schedule.numActions() <= maxActions)
      sources.push_back(schedule);
    return submit(judge(problem, std::move(schedule), options.inIndexOrder),
                  origin);
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
        if (const auto graph = makeCopyGraph(problem, isFused))
          searchGraph(*graph, hasFused && !isFused ? 0.5 : 1);
  }

  void searchWithoutCopies() {
    SearchResult plain =
        searchPlain(problem.withoutCopies(), shareWithoutCopies);
    if (plain.schedule)
      offer(std::move(*plain.schedule), plain.origin);
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
    // Families write orders that fill and drain in many ways.
    Problem free = problem.withoutCopies();
    std::fill(free.memoryCaps.begin(), free.memoryCaps.end(), noMemoryCap);
    for (const FamilyChoice &choice : allFamilies()) {
      if (budget.isSpent(8 * problem.numTasks()))
        return;
      budget.use(problem.numTasks());
      FamilyResult made = generate(choice, free);
      if (!made || made->numActions() > maxActions)
        continue;
      if (!made->hasCounts() && !made->hasSteps())
        for (const OffloadOptions::Pairs pairs :
             {OffloadOptions::Pairs::All, OffloadOptions::Pairs::Fit}) {
          budget.use(4 * made->numActions());
          offer(withCopies(problem, *made, {pairs, 0}),
                "offload of " + choice.text());
        }
      sources.push_back(std::move(*made));
    }
    sources.push_back(oneByOne(free));
  }

  /// Lists of all orders so far, made legal; best first, with different
  /// objectives.
  std::vector<Start> makeStarts(const CopyGraph &graph,
                                CopyAnnealing &annealing) {
    std::vector<Start> starts;
    for (const Schedule &source : sources) {
      CopyLists given;
      if (!readLists(graph, source, given))
        continue;
      for (const CopyOverflow overflow :
           {CopyOverflow::Copy, CopyOverflow::Pull, CopyOverflow::Defer}) {
        if (!starts.empty() && budget.isSpent(4 * given.total()))
          return starts;
        CopyLists lists = given;
        if (!annealing.legalize(lists, overflow))
          continue;
        const int64_t ns = annealing.timeOf(lists);
        insertStart(starts, {std::move(lists), ns}, maxStarts);
      }
    }
    return starts;
  }

  int64_t tasksLeft() const {
    const int64_t inTime = budget.tasksInTime();
    return std::max<int64_t>(
        0, std::min(budget.tasksLeft(), inTime < never / workers.count()
                                            ? inTime * workers.count()
                                            : never));
  }

  void searchGraph(const CopyGraph &graph, double share) {
    CopyAnnealing annealing(graph, options.seed, budget);
    std::vector<Start> starts = makeStarts(graph, annealing);
    if (starts.empty())
      return;
    offer(toSchedule(graph, starts.front().lists), "copies");
    const int64_t until =
        budget.tasksUsed() + int64_t(double(tasksLeft()) * share);
    for (int64_t round = 0; !isDone(); ++round) {
      const int64_t left = std::min(tasksLeft(), until - budget.tasksUsed());
      if (left <= 0)
        break;
      runRound(graph, starts, round,
               left / std::max<int64_t>(1, rounds - round) / chains);
    }
    CopyLists lists = starts.front().lists;
    if (starts.front().ns == objective()) {
      Budget rest = budget.part(8 * int64_t(lists.total()) * lists.total());
      CopyAnnealing dropping(graph, options.seed, rest);
      dropping.dropCopies(lists);
      Judged judged =
          judge(problem, toSchedule(graph, lists), options.inIndexOrder);
      if (judged.objective <= objective()) {
        result.schedule = std::move(judged.schedule);
        result.simulation = std::move(judged.simulation);
      }
    }
  }

  /// Chains from the best starts, one after another or on all threads. Their
  /// results depend on their numbers alone.
  void runRound(const CopyGraph &graph, std::vector<Start> &starts,
                int64_t round, int64_t each) {
    std::vector<Start> ends(chains);
    std::vector<Budget> parts(chains, budget.part(each));
    std::vector<double> seconds(chains);
    std::atomic<int64_t> firstDone{chains};
    const double begin = budget.seconds();
    workers.forEach(chains, [&](int32_t, int64_t i) {
      // A chain before this one has reached the bound.
      if (firstDone < i)
        return;
      const double beginOfChain = budget.seconds();
      ends[i] = starts[(i + round) % 2 == 0 ? 0 : i / 2 % starts.size()];
      CopyAnnealing annealing(
          graph, options.seed + uint64_t(1 + i + chains * round), parts[i]);
      const double hot =
          hottest * std::pow(coolest / hottest, double(i) / double(chains - 1));
      ends[i].ns = annealing.run(ends[i].lists, result.bound.ns, each,
                                 {hot, i % 4 < 2 ? 0 : weightOfEnds});
      seconds[i] = budget.seconds() - beginOfChain;
      if (ends[i].ns <= result.bound.ns)
        for (int64_t known = firstDone; i < known;)
          if (firstDone.compare_exchange_weak(known, i))
            break;
    });
    double together = 0;
    for (int64_t i = 0; i < chains; ++i) {
      budget.join(parts[i]);
      together += seconds[i];
      if (ends[i].ns < objective())
        offer(toSchedule(graph, ends[i].lists), "copies");
      insertStart(starts, std::move(ends[i]), maxStarts, /*replaces=*/true);
    }
    budget.addSeconds(std::max(0.0, together - (budget.seconds() - begin)));
  }

  /// Longer orders are no starts of the local search.
  static constexpr int64_t maxActions = 200000;

  Workers workers;
  /// Orders to start from; they may break caps.
  std::vector<Schedule> sources;
};

} // namespace

SearchResult rondo::searchWithCopies(const Problem &problem,
                                     const SearchOptions &options) {
  return Searcher(problem, options).run();
}
