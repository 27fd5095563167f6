//===- Idle.cpp - How long a rank must wait at both ends ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/Idle.h"

#include <algorithm>

using namespace rondo;

namespace {

/// Bytes of one activation of stage s that limit how many times `task` can run
/// on this side; 0 if memory does not limit it. At the beginning
/// only F is limited. Seen from the end, an activation whose I or W is still to
/// run is held, unless its F is still to run as well.
int64_t bytesOf(const FlatProblem &flat, Side side, Task task, int32_t s) {
  if (side == Side::Begin)
    return task == Task::F ? flat.takes[s] : 0;
  return task == Task::F   ? 0
         : task == Task::I ? flat.takes[s]
                           : std::min(flat.weightGradFrees[s],
                                      flat.takes[s] - flat.inputGradFrees[s]);
}

/// At `time`, the work of each task that can have run grows by `work`, and the
/// bytes that limit it grow by `bytes`.
struct Event {
  int64_t time;
  PerTask<int64_t> work, bytes;
};

std::vector<Event> eventsOf(const FlatProblem &flat,
                            const Propagation &propagation, int32_t rank,
                            Side side, const CopySupply &copies) {
  std::vector<Event> events;
  for (int64_t before = 0; before < copies.most; before += copies.bytes) {
    Event copy = {};
    copy.time = copies.timeOf(before + 1);
    const int64_t bytes = std::min(copies.bytes, copies.most - before);
    for (Task task : allTasks)
      if ((task == Task::F) == (side == Side::Begin))
        copy.bytes[task] = bytes;
    events.push_back(copy);
  }
  for (int32_t s : flat.stagesOf[rank])
    for (Task task : allTasks) {
      const int64_t ns = flat.ns[task][s];
      Event run = {}, back = {};
      run.work[task] = ns;
      if (side == Side::Begin && task != Task::F)
        back.bytes[Task::F] = flat.freedBy(task, s);
      if (side == Side::End && task == Task::F)
        for (Task other : {Task::I, Task::W})
          back.bytes[other] = bytesOf(flat, side, other, s);
      const bool givesBack =
          std::any_of(back.bytes.begin(), back.bytes.end(),
                      [](int64_t bytes) { return bytes != 0; });
      const auto &times = side == Side::Begin ? propagation.heads(task)
                                              : propagation.tails(task);
      for (int32_t k = 0; k < flat.microbatches; ++k) {
        run.time = times[flat.at(s, k)];
        events.push_back(run);
        back.time = run.time + ns;
        if (givesBack)
          events.push_back(back);
      }
    }
  std::sort(events.begin(), events.end(),
            [](const Event &a, const Event &b) { return a.time < b.time; });
  return events;
}

/// Limits the time for which one of the tasks F, I and W can run within a
/// number of bytes.
class Allowance {
public:
  Allowance(const FlatProblem &flat, int32_t rank, Side side, Task task) {
    for (int32_t s : flat.stagesOf[rank]) {
      const int64_t bytes = bytesOf(flat, side, task, s);
      const int64_t ns = flat.ns[task][s];
      leastBytes = std::min(leastBytes, bytes);
      maxNs = std::max(maxNs, ns);
      if (bytes > 0)
        maxNsOfByte = std::max(maxNsOfByte, double(ns) / double(bytes));
    }
  }

  /// The most time in ns, at most `work`, for which tasks can run within
  /// `bytes`, rounded up. The minimum of two bounds: the number of tasks that
  /// fit times the longest duration, and the bytes times the longest duration
  /// per byte, which is tighter if stages differ.
  int64_t limit(int64_t work, int64_t bytes) const {
    if (leastBytes == 0 || work == 0)
      return work;
    const int64_t count = bytes / leastBytes;
    if (count < work / maxNs)
      work = count * maxNs;
    const double most = maxNsOfByte * double(bytes) * (1 + 1e-9) + 1;
    return most < double(work) ? int64_t(most) : work;
  }

private:
  int64_t leastBytes = never, maxNs = 0;
  double maxNsOfByte = 0;
};

} // namespace

std::vector<IdlePoint> rondo::idleOf(const FlatProblem &flat,
                                     const Propagation &propagation,
                                     int32_t rank, Side side, int64_t latest,
                                     const CopySupply &copies) {
  const PerTask<Allowance> allowances = {{{flat, rank, side, Task::F},
                                          {flat, rank, side, Task::I},
                                          {flat, rank, side, Task::W}}};
  const int64_t cap = std::min(flat.caps[rank], never / 2);
  PerTask<int64_t> work = {}, bytes = {cap, cap, cap};
  std::vector<IdlePoint> points = {
      {0, side == Side::Begin ? 0 : flat.endOffset[rank]}};
  const std::vector<Event> events =
      eventsOf(flat, propagation, rank, side, copies);
  for (size_t i = 0; i < events.size() && events[i].time <= latest;) {
    // Events at `time` count from the next point on: tasks released at `time`,
    // and those that need bytes freed by them, cannot run before it.
    const int64_t time = events[i].time;
    int64_t most = 0;
    for (Task task : allTasks)
      most += allowances[task].limit(work[task], bytes[task]);
    if (time - most > points.back().idle)
      points.push_back({most, time - most});
    for (; i < events.size() && events[i].time == time; ++i)
      for (Task task : allTasks) {
        work[task] += events[i].work[task];
        bytes[task] += events[i].bytes[task];
      }
  }
  return points;
}

int64_t rondo::idleBeside(const std::vector<IdlePoint> &points, int64_t work) {
  auto next = std::partition_point(
      points.begin() + 1, points.end(),
      [&](const IdlePoint &point) { return point.work < work; });
  return std::prev(next)->idle;
}

/// The time until which no micro-batch can run that the flat problem leaves
/// out.
static int64_t latestOf(const FlatProblem &flat, const Propagation &propagation,
                        int32_t rank, Side side) {
  int64_t latest = never;
  for (int32_t s : flat.stagesOf[rank])
    for (Task task : allTasks)
      latest = std::min(
          latest,
          side == Side::Begin
              ? propagation.heads(task)[flat.at(s, flat.microbatches - 1)]
              : propagation.tails(task)[flat.at(s, 0)]);
  return latest;
}

int64_t rondo::idleBound(const FlatProblem &flat,
                         const Propagation &propagation, int64_t microbatches,
                         const Problem *copying) {
  int64_t best = 0;
  for (int32_t rank = 0; rank < flat.ranks; ++rank) {
    if (flat.stagesOf[rank].empty())
      continue;
    int64_t all = 0;
    for (int32_t s : flat.stagesOf[rank])
      all += flat.workOf(s) * microbatches;
    auto pointsOf = [&](Side side) {
      const ActionKind kind =
          side == Side::Begin ? ActionKind::Save : ActionKind::Load;
      return idleOf(
          flat, propagation, rank, side,
          microbatches == flat.microbatches
              ? never
              : latestOf(flat, propagation, rank, side),
          copying ? CopySupply::of(*copying, flat, propagation, rank, kind)
                  : CopySupply());
    };
    const std::vector<IdlePoint> end = pointsOf(Side::End);
    // Some work runs after the first period and before the last one, so they do
    // not overlap and both idle times count.
    for (const IdlePoint &point : pointsOf(Side::Begin))
      if (point.work < all)
        best = std::max(best,
                        all + point.idle + idleBeside(end, all - point.work));
  }
  return best;
}
