//===- PlanSearch.cpp - Searches placement and shape of a plan ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every candidate gets a bound before it is searched, and is dropped if the
// bound is not below the best objective found. The others are searched in three
// rounds that share time and effort: all of them, the better quarter, the best
// one.
//
//===----------------------------------------------------------------------===//

#include "planning/PlanSearch.h"

#include "planning/FittingSearch.h"
#include "planning/ShardedSearch.h"
#include "schedule/bounds/Shortfall.h"

#include <algorithm>

using namespace rondo;

namespace {

using State = PlanCandidate::State;

class PlanSearcher {
public:
  PlanSearcher(const PlanSearchOptions &options,
               std::vector<PlanCandidate> &candidates)
      : options(options), candidates(candidates) {}

  void run();

private:
  void searchRound(const std::vector<PlanCandidate *> &members, double share,
                   double shareOfLeft);
  void searchOne(PlanCandidate &candidate, const SearchOptions &share);
  bool isAnyFound() const {
    return std::any_of(candidates.begin(), candidates.end(),
                       [](const PlanCandidate &c) { return bool(c.found); });
  }

  const PlanSearchOptions &options;
  std::vector<PlanCandidate> &candidates;
};

} // namespace

static bool isInterrupted(const PlanSearchOptions &options) {
  return options.search.interrupt && *options.search.interrupt;
}

/// The time that a search takes at least: it always makes a first schedule and
/// its program.
static int64_t leastMsOf(const Problem &problem) {
  constexpr int64_t nsOfTask = 600;
  return problem.numTasks() * nsOfTask / 1000000;
}

/// Searches a candidate and keeps the better of the earlier result and the new
/// one.
void PlanSearcher::searchOne(PlanCandidate &candidate,
                             const SearchOptions &share) {
  auto run = [&](const Problem &problem, const SearchOptions &now) {
    SearchOptions observed = now;
    if (options.observer)
      observed.observer = [&](const SearchProgress &progress) {
        options.observer(candidate, progress);
      };
    return search(problem, observed);
  };
  const Problem &problem = candidate.plan->problem;
  const std::vector<int64_t> caps = candidate.tightened.memoryCaps;
  auto mayGiveUp = [&] { return isAnyFound() || options.deadline.isOver(); };
  FittingSearch fitting{candidate.plan->figures, problem, candidate.bound,
                        candidate.tightened,     run,     mayGiveUp};
  fitting.triesFamilies = !candidate.found;
  SearchResult result =
      problem.replicas.areSharded()
          ? searchSharded(candidate.plan->figures, problem, share, run)
          : searchFitting(fitting, share);
  if (result.schedule) {
    keepBetter(problem, candidate.found, std::move(result));
    // The state may be NoSchedule from an earlier round.
    candidate.state = State::Open;
  } else if (candidate.found) {
    candidate.tightened.memoryCaps = caps;
  } else {
    candidate.state = State::NoSchedule;
    candidate.fault = std::move(result.fault);
  }
}

/// Splits `share` of the effort, and `shareOfLeft` of the remaining time, among
/// `members`. Unused effort of a member is not passed on, so that results
/// depend on effort alone; unused time is.
void PlanSearcher::searchRound(const std::vector<PlanCandidate *> &members,
                               double share, double shareOfLeft) {
  const Deadline &deadline = options.deadline;
  const Deadline round = deadline.after(
      deadline.exists()
          ? std::max<int64_t>(1,
                              int64_t(double(deadline.leftMs()) * shareOfLeft))
          : 0);
  for (size_t place = 0; place < members.size(); ++place) {
    PlanCandidate &candidate = *members[place];
    int64_t best = infinite;
    for (const PlanCandidate &other : candidates)
      best = std::min(best, other.objective());
    if (candidate.knownBound() >= best) {
      if (!candidate.found)
        candidate.state = State::NotBetter;
      continue;
    }
    if (isInterrupted(options))
      return;
    if (deadline.leftMs() <= leastMsOf(candidate.plan->problem) &&
        isAnyFound()) {
      if (!candidate.found)
        candidate.state = State::NoTime;
      continue;
    }
    SearchOptions part = options.search;
    if (part.effort > 0)
      part.effort = std::max<int64_t>(
          1, int64_t(part.effort * (share / double(members.size()))));
    part.timeLimitMs =
        deadline.exists()
            ? std::max<int64_t>(1, round.leftMs() / (members.size() - place))
            : 0;
    searchOne(candidate, part);
  }
}

void PlanSearcher::run() {
  std::vector<PlanCandidate *> open;
  for (PlanCandidate &candidate : candidates)
    if (candidate.isOpen())
      open.push_back(&candidate);
  const double shares[] = {0.3, 0.3, 0.4};
  int64_t leastMs = 0;
  for (const PlanCandidate *candidate : open)
    leastMs += leastMsOf(candidate->plan->problem);
  // Promising candidates first: their results exclude others. If time is short,
  // the first candidate stays first, since there must be an answer; it is the
  // plan as written if that can be searched.
  const bool isShort =
      !open.empty() && options.deadline.exists() &&
      double(leastMs) >= shares[0] * double(options.deadline.leftMs());
  std::stable_sort(open.begin() + isShort, open.end(),
                   [](const PlanCandidate *a, const PlanCandidate *b) {
                     return a->bound.ns < b->bound.ns;
                   });
  double sharesLeft = 1;
  for (int round = 0; round < 3 && !open.empty(); ++round) {
    const double share = open.size() == 1 ? 1 : shares[round];
    searchRound(open, share, std::min(1.0, share / sharesLeft));
    sharesLeft -= share;
    if (open.size() == 1)
      return;
    std::stable_sort(open.begin(), open.end(),
                     [](const PlanCandidate *a, const PlanCandidate *b) {
                       return a->objective() < b->objective();
                     });
    open.resize(round == 0 ? (open.size() + 3) / 4 : 1);
  }
}

PlanSearchResult rondo::searchPlans(const PlanSpace &space,
                                    const std::vector<PlanShape> &shapes,
                                    const PlanSearchOptions &options) {
  PlanSearchResult result;
  result.candidates =
      makeCandidates(space, shapes, options.objective, options.deadline);
  PlanSearcher(options, result.candidates).run();
  result.isInterrupted = isInterrupted(options);
  result.boundNs = infinite;
  for (size_t c = 0; c < result.candidates.size(); ++c) {
    const PlanCandidate &candidate = result.candidates[c];
    if (candidate.plan && !findShortfall(candidate.plan->problem))
      result.boundNs = std::min(result.boundNs, candidate.knownBound());
    if (candidate.found &&
        (!result.best ||
         candidate.objective() < result.candidates[*result.best].objective()))
      result.best = c;
  }
  return result;
}
