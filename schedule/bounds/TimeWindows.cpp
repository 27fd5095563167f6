//===- TimeWindows.cpp - LB7: time windows that an objective leaves empty -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Destructive improvement (Klein and Scholl, 1999): assumes an objective and
// tries to derive a contradiction; if it does, the bound is higher. Every task
// has a time window, from its earliest start to its latest end under the
// assumption. These rules narrow windows until nothing changes:
//
// - The tasks that a task needs end before it, plus the time of the message,
//   and a stage runs each of its tasks in the order of micro-batches.
// - If two tasks of a rank cannot run in one order, they run in the other.
// - Edge finding (Carlier and Pinson, 1989): a task that cannot run before the
//   last of some tasks of its rank runs after all of them, and the mirror of
//   that. Here in the quadratic form of Martin and Shmoys, 1996.
// - A cap: when an F starts, the F that must have started before it have taken
//   bytes, and only their I and W can have freed some. The F waits until the
//   earliest of these can have freed enough. A task without which the others
//   do not free enough ends before the F starts.
//
//===----------------------------------------------------------------------===//

#include "schedule/bounds/Arguments.h"
#include "schedule/partial/Propagation.h"

#include <algorithm>

using namespace rondo;

namespace {

struct Range {
  int64_t start = 0, end = 0;
};

/// Tasks of one machine, for edge finding.
struct Slot {
  int64_t ns, start, end;
  size_t task;
};

/// Raises starts; false if the tasks do not fit. O(tasks^2).
bool findEdges(std::vector<Slot> &slots, std::vector<int64_t> &starts) {
  std::sort(slots.begin(), slots.end(),
            [](const Slot &a, const Slot &b) { return a.start < b.start; });
  const size_t count = slots.size();
  starts.resize(count);
  for (size_t i = 0; i < count; ++i)
    starts[i] = slots[i].start;
  std::vector<int64_t> ends(count);
  for (const Slot &last : slots) {
    const int64_t limit = last.end;
    int64_t work = 0, latest = -never;
    for (size_t i = count; i-- > 0;) {
      if (slots[i].end <= limit) {
        work += slots[i].ns;
        latest = std::max(latest, slots[i].start + work);
        if (latest > limit)
          return false;
      }
      ends[i] = latest;
    }
    int64_t most = -never;
    for (size_t i = 0; i < count; ++i) {
      const Slot &slot = slots[i];
      if (slot.end <= limit) {
        most = std::max(most, slot.start + work);
        work -= slot.ns;
        continue;
      }
      if (slot.start + work + slot.ns > limit)
        starts[i] = std::max(starts[i], ends[i]);
      if (most + slot.ns > limit)
        starts[i] = std::max(starts[i], latest);
    }
  }
  return true;
}

class TimeWindows {
public:
  TimeWindows(const FlatProblem &flat, const Propagation &propagation,
              int64_t &effort)
      : flat(flat), propagation(propagation), effort(effort) {
    tasksOf.resize(flat.ranks);
    tasks.resize(size_t(flat.tasks()));
    for (Task task : allTasks)
      for (int32_t s = 0; s < flat.stages; ++s)
        for (int32_t k = 0; k < flat.microbatches; ++k) {
          tasks[at(task, s, k)] = {task, s, k};
          tasksOf[flat.rankOf[s]].push_back(at(task, s, k));
        }
    ranges.resize(tasks.size());
  }

  /// Whether it proves that no schedule has an objective of at most
  /// `objective`. False if the effort is used up.
  bool refutes(int64_t objective) {
    for (size_t t = 0; t < tasks.size(); ++t) {
      const auto [task, s, k] = tasks[t];
      ranges[t] = {propagation.heads(task)[flat.at(s, k)],
                   objective - propagation.tails(task)[flat.at(s, k)]};
    }
    for (hasChanged = true; hasChanged;) {
      hasChanged = false;
      if (!order())
        return true;
      for (int32_t rank = 0; rank < flat.ranks; ++rank) {
        const auto all = int64_t(tasksOf[rank].size());
        // Charges effort in label-equivalents.
        if ((effort -= 1 + all * all / 16) < 0)
          return false;
        if (!orderPairs(rank) || !edges(rank) || !cap(rank))
          return true;
      }
    }
    return false;
  }

private:
  struct StageTask {
    Task task;
    int32_t stage, k;
  };

  size_t at(Task task, int32_t s, int32_t k) const {
    return size_t(flat.at(task, s, k));
  }
  int64_t nsOf(size_t t) const {
    return flat.ns[tasks[t].task][tasks[t].stage];
  }
  int64_t latestStart(size_t t) const { return ranges[t].end - nsOf(t); }
  int64_t earliestEnd(size_t t) const { return ranges[t].start + nsOf(t); }

  /// False if the window becomes too short.
  bool raise(size_t t, int64_t start) {
    if (start > ranges[t].start) {
      ranges[t].start = start;
      hasChanged = true;
    }
    return earliestEnd(t) <= ranges[t].end;
  }
  bool lower(size_t t, int64_t end) {
    if (end < ranges[t].end) {
      ranges[t].end = end;
      hasChanged = true;
    }
    return earliestEnd(t) <= ranges[t].end;
  }
  bool follows(size_t first, size_t second, int64_t delay) {
    return raise(second, earliestEnd(first) + delay) &&
           lower(first, latestStart(second) - delay);
  }

  bool orderTask(Task task, int32_t s, int32_t k) {
    const size_t t = at(task, s, k);
    bool fits = earliestEnd(t) <= ranges[t].end;
    if (k > 0)
      fits = fits && follows(at(task, s, k - 1), t, 0);
    if (task != Task::F)
      fits = fits && follows(at(taskBefore(task), s, k), t, 0);
    if (task != Task::W)
      for (int32_t e : flat.inputs(task, s))
        fits = fits && follows(at(task, flat.messages[e].from, k), t,
                               flat.messages[e].transferNs());
    return fits;
  }
  /// Starts settle in one pass; ends may need several.
  bool order() {
    for (int32_t k = 0; k < flat.microbatches; ++k) {
      for (int32_t s = 0; s < flat.stages; ++s)
        if (!orderTask(Task::F, s, k))
          return false;
      for (int32_t s = flat.stages; s-- > 0;)
        if (!orderTask(Task::I, s, k) || !orderTask(Task::W, s, k))
          return false;
    }
    for (int32_t k = flat.microbatches; k-- > 0;) {
      for (int32_t s = 0; s < flat.stages; ++s)
        if (!orderTask(Task::W, s, k) || !orderTask(Task::I, s, k))
          return false;
      for (int32_t s = flat.stages; s-- > 0;)
        if (!orderTask(Task::F, s, k))
          return false;
    }
    return true;
  }

  bool orderPairs(int32_t rank) {
    const auto &all = tasksOf[rank];
    for (size_t i = 0; i < all.size(); ++i)
      for (size_t j = i + 1; j < all.size(); ++j) {
        const size_t a = all[i], b = all[j];
        const bool mayA = earliestEnd(a) <= latestStart(b),
                   mayB = earliestEnd(b) <= latestStart(a);
        if (!mayA && (!mayB || !follows(b, a, 0)))
          return false;
        if (!mayB && mayA && !follows(a, b, 0))
          return false;
      }
    return true;
  }

  /// Edge finding for starts, then for ends with time reversed.
  bool edges(int32_t rank) {
    for (bool isTurned : {false, true}) {
      slots.clear();
      for (size_t t : tasksOf[rank])
        slots.push_back({nsOf(t), isTurned ? -ranges[t].end : ranges[t].start,
                         isTurned ? -ranges[t].start : ranges[t].end, t});
      if (!findEdges(slots, starts))
        return false;
      for (size_t i = 0; i < slots.size(); ++i)
        if (isTurned ? !lower(slots[i].task, -starts[i])
                     : !raise(slots[i].task, starts[i]))
          return false;
    }
    return true;
  }

  bool cap(int32_t rank) {
    for (int32_t s : flat.stagesOf[rank])
      for (int32_t k = 0; k < flat.microbatches; ++k)
        if (!capOf(rank, at(Task::F, s, k)))
          return false;
    return true;
  }

  bool capOf(int32_t rank, size_t forward) {
    if (flat.caps[rank] == noMemoryCap)
      return true;
    int64_t need = flat.takes[tasks[forward].stage] - flat.caps[rank];
    int64_t given = 0;
    releases.clear();
    for (int32_t s : flat.stagesOf[rank])
      for (int32_t k = 0; k < flat.microbatches; ++k) {
        const size_t other = at(Task::F, s, k);
        // Skips tasks that may run after this F.
        if (other == forward || earliestEnd(forward) <= latestStart(other))
          continue;
        need += flat.takes[s];
        for (Task task : {Task::I, Task::W}) {
          const size_t t = at(task, s, k);
          const int64_t bytes = flat.freedBy(task, s);
          if (bytes > 0 && earliestEnd(t) <= latestStart(forward)) {
            releases.push_back({bytes, earliestEnd(t), 0, t});
            given += bytes;
          }
        }
      }
    if (need <= 0)
      return true;
    if (given < need)
      return false;
    std::sort(releases.begin(), releases.end(),
              [](const Slot &a, const Slot &b) { return a.start < b.start; });
    int64_t sum = 0;
    for (const Slot &release : releases) {
      if (sum < need && sum + release.ns >= need &&
          !raise(forward, release.start))
        return false;
      sum += release.ns;
      if (given - release.ns < need &&
          !lower(release.task, latestStart(forward)))
        return false;
    }
    return true;
  }

  const FlatProblem &flat;
  const Propagation &propagation;
  int64_t &effort;
  /// [FlatProblem::at()].
  std::vector<StageTask> tasks;
  std::vector<std::vector<size_t>> tasksOf;
  std::vector<Range> ranges;
  bool hasChanged = false;
  std::vector<Slot> slots, releases;
  std::vector<int64_t> starts;
};

int64_t computeTimeWindows(const Problem &problem, int64_t ceiling,
                           int64_t effort) {
  std::optional<FlatProblem> flat =
      FlatProblem::of(problem, BackwardCosts::Least);
  if (!flat || !flat->offsetsAreExact)
    return 0;
  Propagation propagation(*flat, true);
  const int64_t known = propagation.estimate(PartialState(*flat)).bound;
  if (known >= never)
    return 0;
  // Takes a quarter of the effort, as bound LB8 does.
  effort /= 4;
  TimeWindows windows(*flat, propagation, effort);
  // No objective is below `low`. Steps grow while there are contradictions,
  // then halve.
  int64_t low = known, step = std::max<int64_t>(1, known / 256);
  bool isGrowing = true;
  while (step > 0 && low < ceiling && effort > 0) {
    const int64_t tried = std::min(low + step, ceiling) - 1;
    if (windows.refutes(tried)) {
      low = tried + 1;
      step = isGrowing ? 2 * step : step / 2;
    } else {
      isGrowing = false;
      step /= 2;
    }
  }
  return low;
}

} // namespace

BoundArgument rondo::timeWindows() {
  return {"L7", "time windows that an objective leaves no room in",
          computeTimeWindows, BoundCost::Labels, true};
}
