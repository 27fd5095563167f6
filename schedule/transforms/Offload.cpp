//===- Offload.cpp - Copies for the order of a family ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/transforms/Offload.h"

#include "schedule/simulate/Simulator.h"
#include "schedule/transforms/SlowCopies.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

using namespace rondo;

namespace {

/// A micro-batch of a replica that may be copied. Positions are those of the
/// rank's order, times those of the order without copies.
struct Pair {
  Action save, load;
  int64_t bytes = 0, saveNs = 0, loadNs = 0;
  /// The end of F, and the start of the task that needs LOAD.
  int64_t takenNs = 0, neededNs = 0;
  size_t forward = 0, consumer = 0;
  /// Planned times.
  int64_t saveStartNs = 0, loadStartNs = 0;

  int64_t saveEndNs() const { return saveStartNs + saveNs; }
  /// Whether `a` is worth less than `b`: time away per time of the lanes.
  static bool isLess(const Pair &a, const Pair &b) {
    const auto awayOf = [](const Pair &pair) {
      return pair.neededNs - pair.takenNs - pair.saveNs - pair.loadNs;
    };
    const __int128 left = __int128(awayOf(a)) * (b.saveNs + b.loadNs),
                   right = __int128(awayOf(b)) * (a.saveNs + a.loadNs);
    return left != right ? left < right : a.takenNs < b.takenNs;
  }
};

/// The times at which a lane is busy.
class BusyTimes {
public:
  /// Takes the earliest interval of `ns` that begins at `from` or later.
  int64_t takeAfter(int64_t from, int64_t ns) {
    int64_t start = from;
    auto next = busy.upper_bound(start);
    if (next != busy.begin())
      start = std::max(start, std::prev(next)->second);
    for (; next != busy.end() && next->first < start + ns; ++next)
      start = std::max(start, next->second);
    add(start, ns);
    return start;
  }
  /// Takes the latest interval of `ns` that ends at `until` or earlier.
  int64_t takeBefore(int64_t until, int64_t ns) {
    int64_t end = until;
    auto next = busy.lower_bound(end);
    while (next != busy.begin()) {
      const auto before = std::prev(next);
      if (before->second <= end - ns)
        break;
      end = std::min(end, before->first);
      next = before;
    }
    add(end - ns, ns);
    return end - ns;
  }

private:
  void add(int64_t start, int64_t ns) {
    if (ns > 0)
      busy[start] = start + ns;
  }

  /// Disjoint intervals, by their start.
  std::map<int64_t, int64_t> busy;
};

class Rank {
public:
  Rank(const Problem &problem, int32_t rank) : problem(problem), rank(rank) {}

  /// The candidates of the rank's order.
  void find(const Schedule &schedule, const Simulation &run,
            const std::vector<bool> &mayCopy);
  /// Leaves out candidates until the lanes keep up.
  void plan();
  /// Leaves out candidates until the host holds the rest.
  void keepHost();
  /// If nothing can be copied because copies take too long: the one that lacks
  /// the least time.
  std::optional<SlowCopies> findSlow() const {
    return pairs.empty() ? slow : std::nullopt;
  }
  /// Keeps the planned candidates with the fewest bytes with which the cap
  /// holds, as far as a walk along the list finds them.
  void chooseFew();
  std::vector<Action> list(std::optional<Action> &excess) const;

private:
  /// Plans the copies of all pairs. Returns those whose LOAD would begin before
  /// the end of their SAVE.
  std::vector<size_t> place();
  /// Whenever the host is full, the pair on it that is worth least.
  std::vector<size_t> findOverHost() const;
  void leaveOut(const std::vector<size_t> &some);
  /// Whether pair `a` is worth less than `b`; of equals, the first one is.
  bool isLess(size_t a, size_t b) const {
    return Pair::isLess(pairs[a], pairs[b]) ||
           (!Pair::isLess(pairs[b], pairs[a]) && a < b);
  }

  const Problem &problem;
  const int32_t rank;
  ActionRange order;
  int64_t first = 0;
  std::vector<int64_t> startNs, endNs;
  std::vector<Pair> pairs;
  std::optional<SlowCopies> slow;
};

void Rank::find(const Schedule &schedule, const Simulation &run,
                const std::vector<bool> &mayCopy) {
  order = schedule.rank(rank);
  first = schedule.rankBegin(rank);
  startNs.assign(run.startNs.begin() + first,
                 run.startNs.begin() + first + order.size());
  endNs.assign(run.endNs.begin() + first,
               run.endNs.begin() + first + order.size());
  // The position of F by replica and micro-batch.
  std::map<std::pair<int32_t, int64_t>, size_t> taken;
  for (int64_t i = 0; i < order.size(); ++i) {
    const Action action = order[i];
    const auto replica = static_cast<int32_t>(action.subject);
    if (!action.isTask() || !mayCopy[replica])
      continue;
    for (int64_t m = action.index, end = m + action.count; m < end; ++m) {
      if (action.kind() == ActionKind::Forward)
        taken[{replica, m}] = static_cast<size_t>(i);
      const auto found = taken.find({replica, m});
      if (!(problem.neededFor(replica, action.kind()) & loadDone) ||
          found == taken.end())
        continue;
      Pair pair;
      pair.save = Action(ActionKind::Save, replica, m);
      pair.load = Action(ActionKind::Load, replica, m);
      pair.bytes = problem.costOf(pair.load).acquireBytes;
      pair.saveNs = problem.costOf(pair.save).ns;
      pair.loadNs = problem.costOf(pair.load).ns;
      pair.forward = found->second;
      pair.takenNs = endNs[found->second];
      pair.neededNs = startNs[i];
      pair.consumer = static_cast<size_t>(i);
      const int64_t idleNs = pair.neededNs - pair.takenNs,
                    copiesNs = pair.saveNs + pair.loadNs;
      if (pair.bytes > 0 && idleNs >= copiesNs)
        pairs.push_back(pair);
      else if (pair.bytes > 0 &&
               (!slow || copiesNs - idleNs < slow->copiesNs - slow->idleNs))
        slow = SlowCopies{replica, copiesNs, idleNs};
      taken.erase(found);
    }
  }
  std::stable_sort(
      pairs.begin(), pairs.end(),
      [](const Pair &a, const Pair &b) { return a.takenNs < b.takenNs; });
}

std::vector<size_t> Rank::place() {
  BusyTimes out, in;
  BusyTimes &inLane = problem.hostMemory.isHalf(rank) ? out : in;
  for (Pair &pair : pairs)
    pair.saveStartNs = out.takeAfter(pair.takenNs, pair.saveNs);
  std::vector<size_t> byNeed(pairs.size());
  for (size_t i = 0; i < byNeed.size(); ++i)
    byNeed[i] = i;
  std::stable_sort(byNeed.begin(), byNeed.end(), [&](size_t a, size_t b) {
    return pairs[a].neededNs > pairs[b].neededNs;
  });
  std::vector<size_t> late;
  for (const size_t i : byNeed) {
    Pair &pair = pairs[i];
    pair.loadStartNs = inLane.takeBefore(pair.neededNs, pair.loadNs);
    if (pair.loadStartNs < pair.saveEndNs())
      late.push_back(i);
  }
  return late;
}

void Rank::leaveOut(const std::vector<size_t> &some) {
  std::vector<bool> isOut(pairs.size());
  for (const size_t i : some)
    isOut[i] = true;
  std::vector<Pair> rest;
  for (size_t i = 0; i < pairs.size(); ++i)
    if (!isOut[i])
      rest.push_back(pairs[i]);
  pairs = std::move(rest);
}

void Rank::plan() {
  // A round leaves out the least of 1/lateOfRound, so that there are few
  // rounds.
  constexpr size_t lateOfRound = 8;
  for (std::vector<size_t> late; !(late = place()).empty();) {
    const size_t count = (late.size() + lateOfRound - 1) / lateOfRound;
    std::partial_sort(late.begin(),
                      late.begin() + static_cast<ptrdiff_t>(count), late.end(),
                      [&](size_t a, size_t b) { return isLess(a, b); });
    late.resize(count);
    leaveOut(late);
  }
}

void Rank::keepHost() {
  for (std::vector<size_t> over; !(over = findOverHost()).empty(); place())
    leaveOut(over);
}

/// The list under construction: tasks in their order, SAVE where its planned
/// end is, LOAD where its planned start is. If an action that takes bytes
/// exceeds the cap, SAVEs come before it, oldest first, until it fits: it then
/// waits for them.
class Listing {
public:
  Listing(const Problem &problem, int32_t rank, const std::vector<Pair> &pairs)
      : problem(problem), cap(problem.memoryCaps[rank]), pairs(pairs),
        states(pairs.size()) {
    for (size_t i = 0; i < pairs.size(); ++i) {
      events.push_back({pairs[i].saveEndNs(), false, i});
      events.push_back({pairs[i].loadStartNs, true, i});
    }
    std::sort(events.begin(), events.end());
  }

  /// Lists the copies planned until then; of those at `ns` LOADs only if
  /// `withLoads`.
  void addUntil(int64_t ns, bool withLoads) {
    for (; next < events.size(); ++next) {
      const auto &[eventNs, isLoad, pair] = events[next];
      if (std::tie(eventNs, isLoad) > std::tie(ns, withLoads))
        return;
      isLoad ? load(pair) : save(pair);
    }
  }
  /// Lists a task; `needed` are the pairs that it needs, `taken` those whose F
  /// it is.
  void add(Action task, const std::vector<size_t> &needed, int64_t taken) {
    for (const size_t pair : needed)
      load(pair);
    const Cost cost = problem.costOf(task);
    append(task, cost.acquireBytes, cost.releaseBytes);
    if (taken >= 0)
      states[taken] = std::max(states[taken], State::Taken);
  }
  std::vector<Action> list;
  /// The first action at which the count exceeds the cap, if any.
  std::optional<Action> excess;

private:
  enum class State : uint8_t { Before, Taken, Saved, Loaded };

  void append(Action action, int64_t takes, int64_t frees) {
    // Pairs are in the order of their Fs.
    for (size_t i = oldest; cap != noMemoryCap && takes > 0 &&
                            held + takes > cap && i < pairs.size();
         ++i) {
      oldest += i == oldest && states[i] >= State::Saved;
      if (states[i] == State::Taken)
        save(i);
    }
    held += takes;
    if (held > cap && !excess)
      excess = action;
    held -= frees;
    list.push_back(action);
  }
  void save(size_t pair) {
    if (states[pair] != State::Taken)
      return;
    states[pair] = State::Saved;
    append(pairs[pair].save, 0, pairs[pair].bytes);
  }
  void load(size_t pair) {
    save(pair);
    if (states[pair] != State::Saved)
      return;
    states[pair] = State::Loaded;
    append(pairs[pair].load, pairs[pair].bytes, 0);
  }

  const Problem &problem;
  const int64_t cap;
  const std::vector<Pair> &pairs;
  std::vector<State> states;
  /// Time, whether it is a LOAD, and the pair.
  std::vector<std::tuple<int64_t, bool, size_t>> events;
  size_t next = 0, oldest = 0;
  int64_t held = 0;
};

/// `excess` is the first action at which the count exceeds the cap, if any.
std::vector<Action> Rank::list(std::optional<Action> &excess) const {
  // [position]: pairs whose LOAD the task needs; the pair whose F it is.
  std::vector<std::vector<size_t>> needed(order.size());
  std::vector<int64_t> taken(order.size(), -1);
  for (size_t i = 0; i < pairs.size(); ++i) {
    needed[pairs[i].consumer].push_back(i);
    taken[pairs[i].forward] = int64_t(i);
  }
  Listing listing(problem, rank, pairs);
  for (int64_t i = 0; i < order.size(); ++i) {
    const Action task = order[i];
    const Cost cost = problem.costOf(task);
    // A task that takes bytes has its place at its start, others at their end.
    if (cost.acquireBytes > 0 || cost.releaseBytes == 0)
      listing.addUntil(startNs[i], true);
    else
      listing.addUntil(endNs[i], false);
    listing.add(task, needed[i], taken[i]);
  }
  excess = listing.excess;
  return std::move(listing.list);
}

std::vector<size_t> Rank::findOverHost() const {
  const int64_t cap = problem.hostMemory.cap(rank);
  std::vector<size_t> over;
  if (cap == infinite)
    return over;
  // The pair by replica and micro-batch.
  std::map<std::pair<int64_t, int64_t>, size_t> numbers;
  for (size_t i = 0; i < pairs.size(); ++i)
    numbers[{pairs[i].save.subject, pairs[i].save.index}] = i;
  const auto isFirst = [&](size_t a, size_t b) { return isLess(a, b); };
  std::set<size_t, decltype(isFirst)> onHost(isFirst);
  int64_t held = 0;
  std::optional<Action> excess;
  for (const Action action : list(excess)) {
    if (!action.traits().isCopy())
      continue;
    const size_t number = numbers.at({action.subject, action.index});
    if (action.kind() == ActionKind::Load) {
      held -= onHost.erase(number) ? pairs[number].bytes : 0;
      continue;
    }
    held += pairs[number].bytes;
    onHost.insert(number);
    for (; held > cap; onHost.erase(onHost.begin())) {
      over.push_back(*onHost.begin());
      held -= pairs[over.back()].bytes;
    }
  }
  return over;
}

/// At the first action that exceeds the cap, adds the pair that is away the
/// longest from then on, without delaying tasks after the action.
void Rank::chooseFew() {
  std::vector<Pair> left = std::move(pairs);
  pairs.clear();
  while (true) {
    std::optional<Action> excess;
    list(excess);
    if (!excess)
      return;
    // When the action starts, and how late it may.
    int64_t fromNs = 0, untilNs = 0;
    if (excess->traits().isCopy()) {
      for (const Pair &pair : pairs)
        if (pair.load == *excess)
          fromNs = untilNs = pair.loadStartNs;
    } else {
      const auto i =
          std::find(order.begin(), order.end(), *excess) - order.begin();
      fromNs = startNs[i];
      untilNs =
          std::max(fromNs, (i + 1 < order.size() ? startNs[i + 1] : endNs[i]) -
                               (endNs[i] - startNs[i]));
    }
    // In time first, then the longest.
    const auto rankOf = [&](const Pair &pair) {
      return std::tuple(pair.takenNs + pair.saveNs <= untilNs, pair.neededNs);
    };
    auto best = left.end();
    for (auto pair = left.begin(); pair != left.end(); ++pair)
      if (pair->takenNs <= fromNs && pair->neededNs - pair->loadNs > fromNs &&
          (best == left.end() || rankOf(*pair) > rankOf(*best)))
        best = pair;
    if (best == left.end())
      return;
    const std::vector<Pair> before = pairs;
    pairs.insert(std::upper_bound(pairs.begin(), pairs.end(), *best,
                                  [](const Pair &a, const Pair &b) {
                                    return a.takenNs < b.takenNs;
                                  }),
                 *best);
    left.erase(best);
    if (!place().empty() || !findOverHost().empty())
      pairs = before;
  }
}

} // namespace

std::optional<SlowCopies> rondo::findSlowCopies(const Problem &problem,
                                                const Schedule &schedule) {
  const Simulation run = simulate(problem, schedule, /*keepTimes=*/true);
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    if (run.peakBytes[r] <= problem.memoryCaps[r])
      continue;
    Rank rank(problem, r);
    rank.find(schedule, run, std::vector<bool>(problem.numReplicas(), true));
    if (const auto slow = rank.findSlow())
      return slow;
  }
  return std::nullopt;
}

Schedule rondo::withCopies(const Problem &problem, const Schedule &schedule,
                           const OffloadOptions &options) {
  const Simulation run = simulate(problem, schedule, /*keepTimes=*/true);
  // The stages of a rank are numbered from its first.
  std::vector<int32_t> chunks(problem.numRanks(), 0);
  std::vector<bool> mayCopy(problem.numReplicas());
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
    const int32_t chunk = chunks[problem.rankOf(replica)]++;
    mayCopy[replica] = problem.hostMemory.mayCopy(replica) &&
                       (options.chunks == 0 || chunk < options.chunks);
  }
  Schedule result;
  result.reserve(schedule.numActions());
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    Rank rank(problem, r);
    rank.find(schedule, run, mayCopy);
    rank.plan();
    if (options.pairs == OffloadOptions::Pairs::Fit)
      rank.chooseFew();
    else
      rank.keepHost();
    std::optional<Action> excess;
    for (Action action : rank.list(excess))
      result.append(action);
    result.endRank();
  }
  result.linkOrders = schedule.linkOrders;
  result.accumulation = schedule.accumulation;
  return result;
}
