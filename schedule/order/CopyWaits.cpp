//===- CopyWaits.cpp - Waits between the lanes of a rank ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/order/CopyWaits.h"

#include "schedule/order/Shards.h"

#include <algorithm>
#include <array>

using namespace rondo;

namespace {

constexpr int64_t notListed = -1;

/// One kind of memory of a rank, counted along its list.
class Count {
public:
  Count(int64_t cap) : cap(cap) {}

  struct Release {
    int64_t position = 0, bytes = 0;
    Lane lane = Lane::Compute;
  };

  void release(const Release &one) {
    releases.push_back(one);
    released += one.bytes;
    knownTo(one.lane) += one.bytes;
  }
  /// Counts a release of another lane as ended for `lane`.
  void know(Lane lane, int64_t bytes) { knownTo(lane) += bytes; }

  /// Takes bytes on a lane. `isKnown(release)` says whether the lane has
  /// awaited it already; `await(release)` is called for those that it has to
  /// await in addition. Returns the bytes held then.
  template <typename IsKnown, typename Await>
  int64_t take(Lane lane, int64_t bytes, IsKnown isKnown, Await await) {
    taken += bytes;
    if (cap == noMemoryCap)
      return taken - released;
    int64_t &known = knownTo(lane);
    size_t &next = nexts[static_cast<int>(lane)];
    for (; taken - known > cap && next < releases.size(); ++next) {
      const Release &one = releases[next];
      if (one.lane == lane || isKnown(one))
        continue;
      await(one);
      known += one.bytes;
    }
    return taken - known;
  }

private:
  int64_t &knownTo(Lane lane) { return known[static_cast<int>(lane)]; }

  const int64_t cap;
  int64_t taken = 0, released = 0;
  std::vector<Release> releases;
  /// [lane]: bytes of releases that the lane has awaited, and the first release
  /// that it may still have to await.
  std::array<int64_t, numLanes> known = {};
  std::array<size_t, numLanes> nexts = {};
};

class Derivation {
public:
  Derivation(const Problem &problem, const Schedule &schedule)
      : problem(problem), schedule(schedule),
        microbatches(problem.microbatches),
        forwards(size_t(problem.numReplicas()) * microbatches, notListed),
        saves(forwards), loads(forwards), unreduced(problem) {}

  CopyWaits run() {
    waits.begin.reserve(schedule.numActions() + 1);
    for (int32_t r = 0; r < schedule.numRanks(); ++r)
      addRank(r);
    waits.begin.push_back(static_cast<int64_t>(waits.awaited.size()));
    return std::move(waits);
  }

private:
  void addRank(int32_t r) {
    const ActionRange order = schedule.rank(r);
    Count device(problem.memoryCaps[r]), host(problem.hostMemory.cap(r));
    int64_t peak = 0, hostPeak = 0;
    first = schedule.rankBegin(r);
    knownBy.assign(order.size(), 0);
    for (int64_t i = 0; i < order.size(); ++i) {
      const Action action = order[i];
      const ActionKind kind = action.kind();
      const Cost cost = problem.costOf(action);
      const int64_t taken = cost.acquireBytes + unreduced.takenBy(action);
      const Lane lane = problem.hostMemory.laneOf(r, kind);
      waits.begin.push_back(static_cast<int64_t>(waits.awaited.size()));
      const auto count = static_cast<int64_t>(action.count);
      for (int64_t m = action.index, end = m + count; m < end; ++m)
        if (const int64_t needed = neededBy(action, m); needed != notListed)
          need(r, lane, needed, device, host);
      const auto isKnown = [&](const Count::Release &one) {
        return knows(lane, one.position);
      };
      const auto await = [&](const Count::Release &one) {
        waits.awaited.push_back(one.position);
        learn(lane, one.position);
      };
      if (taken > 0) {
        const int64_t held = device.take(lane, taken, isKnown, await);
        peak = std::max(peak, held);
        if (held > problem.memoryCaps[r] && !waits.excess)
          waits.excess = {r, i, held};
      }
      if (kind == ActionKind::Save) {
        const int64_t held = host.take(lane, cost.releaseBytes, isKnown, await);
        hostPeak = std::max(hostPeak, held);
        if (held > problem.hostMemory.cap(r) && !waits.hostExcess)
          waits.hostExcess = {r, i, held};
      }
      if (cost.releaseBytes > 0)
        device.release({first + i, cost.releaseBytes, lane});
      if (kind == ActionKind::Load)
        host.release({first + i, cost.acquireBytes, lane});
      remember(action, first + i);
    }
    waits.peakBytes.push_back(peak);
    waits.peakHostBytes.push_back(hostPeak);
  }

  /// The F, SAVE or LOAD of a micro-batch that an action needs, if the list has
  /// it before.
  int64_t neededBy(Action action, int64_t microbatch) const {
    const auto replica = static_cast<int32_t>(action.subject);
    if (!problem.hostMemory.mayCopy(replica))
      return notListed;
    const int64_t place = replica * microbatches + microbatch;
    if (action.kind() == ActionKind::Save)
      return forwards[place];
    if (action.kind() == ActionKind::Load)
      return saves[place];
    if (action.isTask() &&
        (problem.neededFor(replica, action.kind()) & loadDone))
      return loads[place];
    return notListed;
  }

  void remember(Action action, int64_t position) {
    const int64_t place =
        int64_t(action.subject) * microbatches + int64_t(action.index);
    if (action.kind() == ActionKind::Forward)
      forwards[place] = position;
    else if (action.kind() == ActionKind::Save)
      saves[place] = position;
    else if (action.kind() == ActionKind::Load)
      loads[place] = position;
  }

  /// An action on `lane` needs the one at `position`.
  void need(int32_t r, Lane lane, int64_t position, Count &device,
            Count &host) {
    const Action action = schedule.all()[position];
    if (problem.hostMemory.laneOf(r, action.kind()) == lane)
      return;
    if (knows(lane, position))
      return;
    waits.awaited.push_back(position);
    learn(lane, position);
    const Cost cost = problem.costOf(action);
    device.know(lane, cost.releaseBytes);
    if (action.kind() == ActionKind::Load)
      host.know(lane, cost.acquireBytes);
  }

  bool knows(Lane lane, int64_t position) const {
    return knownBy[position - first] >> static_cast<int>(lane) & 1;
  }
  void learn(Lane lane, int64_t position) {
    knownBy[position - first] |=
        static_cast<uint8_t>(1u << static_cast<int>(lane));
  }

  const Problem &problem;
  const Schedule &schedule;
  const int64_t microbatches;
  /// [replica * microbatches + microbatch]: the position so far.
  std::vector<int64_t> forwards, saves, loads;
  UnreducedBytes unreduced;
  CopyWaits waits;
  /// Position of the rank's first action.
  int64_t first = 0;
  /// [position in the rank]: bit of each lane that has awaited the action.
  std::vector<uint8_t> knownBy;
};

} // namespace

CopyWaits rondo::deriveCopyWaits(const Problem &problem,
                                 const Schedule &schedule) {
  return Derivation(problem, schedule).run();
}

std::vector<Done> rondo::progressAtStart(const Problem &problem,
                                         const Schedule &schedule) {
  std::vector<Done> done = problem.nothingDoneYet();
  if (!schedule.hasCopies())
    return done;
  for (Action action : schedule.all())
    if (action.traits().isCopy())
      done[int64_t(action.subject) * problem.microbatches +
           int64_t(action.index)] &= static_cast<Done>(~copiesDone);
  return done;
}
