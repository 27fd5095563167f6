//===- CopyLanes.h - The copy lanes of all ranks in simulation --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For both simulators. Each copy lane of a rank runs its copies in the order of
// the list. Copies over shared host links ask for the link when they are ready;
// a link without a copy order is granted once all ranks are blocked, to the
// copy that was ready first.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_SIMULATE_COPYLANES_H
#define RONDO_SCHEDULE_SIMULATE_COPYLANES_H

#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <array>
#include <queue>
#include <tuple>
#include <vector>

namespace rondo {

/// Waits of the actions of an order for actions on other lanes of their rank.
/// Positions are those of the order's array: the action at `position` waits for
/// those from `awaited[begin[position]]` to `awaited[begin[position + 1]]`.
struct LaneWaits {
  std::vector<int64_t> begin, awaited;
};

/// The state of all copy lanes and shared host links. Without copies it is
/// empty.
class CopyLanes {
public:
  static constexpr int64_t notEnded = -1;
  /// Copies to the host, and all copies of a half-duplex link; the others.
  static constexpr int numLanes = 2;

  CopyLanes() = default;
  /// The problem must outlive this object. `order` may have other actions than
  /// tasks and copies.
  CopyLanes(const Problem &problem, const Schedule &order, LaneWaits waits);

  bool isEmpty() const { return lanes.empty(); }
  bool areDone() const;

  /// When an action may start, as far as other lanes matter: the latest end of
  /// what it awaits, at least 0; notEnded: something has not ended.
  int64_t awaitedNs(int64_t position, const std::vector<int64_t> &endNs) const;
  /// The first action that the one at a position still waits for; notEnded:
  /// none.
  int64_t findAwaited(int64_t position,
                      const std::vector<int64_t> &endNs) const;

  /// Runs the copies of a rank that can begin, and those of other ranks that
  /// follow them on ordered links. Appends the ranks of which a copy has ended
  /// to `woken`.
  void run(int32_t rank, std::vector<int64_t> &startNs,
           std::vector<int64_t> &endNs, std::vector<int32_t> &woken);

  /// Copies that ask for a shared host link, and when the first was ready.
  bool hasRequests() const { return !requests.empty(); }
  int64_t firstRequestNs() const { return requests.top().readyNs; }
  /// Grants a link to the first copy that has asked. Preconditions: all ranks
  /// are blocked, hasRequests().
  void grant(std::vector<int64_t> &startNs, std::vector<int64_t> &endNs,
             std::vector<int32_t> &woken);

  /// The end of the last copy of a rank's lane so far.
  int64_t freeNs(int32_t rank, int lane) const {
    return lanes[rank][lane].freeNs;
  }
  int laneOf(int32_t rank, ActionKind kind) const {
    return problem->hostMemory.laneOf(rank, kind) == Lane::CopyIn;
  }
  /// The position of a lane's next copy; notEnded: all have begun.
  int64_t nextOf(int32_t rank, int lane) const;
  /// The copy that an ordered link carries next, if the next copy of a lane
  /// uses such a link; null: it uses none.
  const Action *awaitedOnLink(int32_t rank, int lane) const;

private:
  struct CopyLane {
    std::vector<int64_t> positions;
    size_t next = 0;
    int64_t freeNs = 0;
    /// Whether the next copy waits for a shared link that it has asked for.
    bool hasAsked = false;

    bool isDone() const { return next == positions.size(); }
  };
  /// Index 0: copies to the host, and all copies of a half-duplex link; 1: the
  /// others.
  struct LinkState {
    int64_t freeNs[2] = {};
    /// The copy order, by direction, and the number of its copies that have
    /// begun.
    bool isOrdered = false;
    std::vector<Action> order[2];
    size_t next[2] = {};
  };
  struct Request {
    int64_t readyNs = 0;
    int32_t rank = 0, lane = 0;

    bool operator>(const Request &other) const {
      return std::tie(readyNs, rank, lane) >
             std::tie(other.readyNs, other.rank, other.lane);
    }
  };

  int directionOf(int32_t link, ActionKind kind) const {
    return kind == ActionKind::Load && !problem->hostMemory.shared[link].isHalf;
  }
  bool runNext(int32_t rank, int lane, std::vector<int64_t> &startNs,
               std::vector<int64_t> &endNs, std::vector<int32_t> &woken);
  void runCopy(int32_t rank, int lane, int64_t readyNs,
               std::vector<int64_t> &startNs, std::vector<int64_t> &endNs,
               std::vector<int32_t> &woken);

  const Problem *problem = nullptr;
  /// [position]: the copy; other actions are not used.
  std::vector<Action> actions;
  LaneWaits waits;
  /// [rank][lane].
  std::vector<std::array<CopyLane, numLanes>> lanes;
  /// [shared host link].
  std::vector<LinkState> links;
  std::priority_queue<Request, std::vector<Request>, std::greater<>> requests;
  /// Ranks whose lanes may continue.
  std::vector<int32_t> pending;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SIMULATE_COPYLANES_H
