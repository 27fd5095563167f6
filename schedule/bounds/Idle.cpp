//===- Idle.cpp - How long a rank must wait at both ends ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/Idle.h"

#include <algorithm>

using namespace rondo;

namespace {

/// Bytes of one activation of stage s that limit how many tasks `letter` can
/// run on this side; 0 if memory does not limit the letter. At the beginning
/// only F is limited. Seen from the end, an activation whose I or W is still to
/// run is held, unless its F is still to run as well.
int64_t bytesOf(const FlatProblem &flat, Side side, int letter, int32_t s) {
  if (side == Side::Begin)
    return letter == 0 ? flat.takes[s] : 0;
  return letter == 0   ? 0
         : letter == 1 ? flat.takes[s]
                       : std::min(flat.weightGradFrees[s],
                                  flat.takes[s] - flat.inputGradFrees[s]);
}

/// At `time`, the work that can have run grows by `work`, and the bytes that
/// limit a letter grow by `bytes`. Both are [letter].
struct Event {
  int64_t time;
  std::array<int64_t, 3> work, bytes;
};

std::vector<Event> eventsOf(const FlatProblem &flat,
                            const Propagation &propagation, int32_t rank,
                            Side side) {
  std::vector<Event> events;
  for (int32_t s : flat.stagesOf[rank])
    for (int letter : {0, 1, 2}) {
      const int64_t ns = flat.ns[letter][s];
      Event run = {}, back = {};
      run.work[letter] = ns;
      if (side == Side::Begin && letter > 0)
        back.bytes[0] = flat.freedBy(letter, s);
      if (side == Side::End && letter == 0)
        for (int other : {1, 2})
          back.bytes[other] = bytesOf(flat, side, other, s);
      const bool givesBack = back.bytes != Event().bytes;
      const auto &times = side == Side::Begin ? propagation.heads(letter)
                                              : propagation.tails(letter);
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

/// Limits the time for which tasks of one letter can run within a number of
/// bytes.
class Allowance {
public:
  Allowance(const FlatProblem &flat, int32_t rank, Side side, int letter) {
    for (int32_t s : flat.stagesOf[rank]) {
      const int64_t bytes = bytesOf(flat, side, letter, s);
      const int64_t ns = flat.ns[letter][s];
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
                                     int32_t rank, Side side, int64_t latest) {
  const Allowance allowances[] = {
      {flat, rank, side, 0}, {flat, rank, side, 1}, {flat, rank, side, 2}};
  const int64_t cap = std::min(flat.caps[rank], never / 2);
  std::array<int64_t, 3> work = {}, bytes = {cap, cap, cap};
  std::vector<IdlePoint> points = {
      {0, side == Side::Begin ? 0 : flat.endOffset[rank]}};
  const std::vector<Event> events = eventsOf(flat, propagation, rank, side);
  for (size_t i = 0; i < events.size() && events[i].time <= latest;) {
    // Events at `time` count from the next point on: tasks released at `time`,
    // and those that need bytes freed by them, cannot run before it.
    const int64_t time = events[i].time;
    int64_t most = 0;
    for (int letter : {0, 1, 2})
      most += allowances[letter].limit(work[letter], bytes[letter]);
    if (time - most > points.back().idle)
      points.push_back({most, time - most});
    for (; i < events.size() && events[i].time == time; ++i)
      for (int letter : {0, 1, 2}) {
        work[letter] += events[i].work[letter];
        bytes[letter] += events[i].bytes[letter];
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
    for (int letter : {0, 1, 2})
      latest = std::min(
          latest,
          side == Side::Begin
              ? propagation.heads(letter)[flat.at(s, flat.microbatches - 1)]
              : propagation.tails(letter)[flat.at(s, 0)]);
  return latest;
}

int64_t rondo::idleBound(const FlatProblem &flat,
                         const Propagation &propagation, int64_t microbatches) {
  int64_t best = 0;
  for (int32_t rank = 0; rank < flat.ranks; ++rank) {
    if (flat.stagesOf[rank].empty())
      continue;
    int64_t all = 0;
    for (int32_t s : flat.stagesOf[rank])
      for (int letter : {0, 1, 2})
        all += flat.ns[letter][s] * microbatches;
    auto pointsOf = [&](Side side) {
      return idleOf(flat, propagation, rank, side,
                    microbatches == flat.microbatches
                        ? never
                        : latestOf(flat, propagation, rank, side));
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
