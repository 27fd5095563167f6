//===- CopyLists.h - Lists of tasks and copies, legal and timed -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_COPYLISTS_H
#define RONDO_SCHEDULE_SEARCH_COPYLISTS_H

#include "schedule/search/CopyGraph.h"

#include <vector>

namespace rondo {

/// Action for a task that does not fit its rank's cap yet.
enum class CopyOverflow : uint8_t {
  /// It comes after the actions that free enough.
  Defer,
  /// Actions that free bytes come before it, if they can.
  Pull,
  /// Micro-batches that are needed last are copied, if they can be.
  Copy,
};

/// Makes lists legal: actions follow those on the same rank that they need, Ws
/// of a stage follow the order of their micro-batches, and no cap of the rank
/// or its host is exceeded. Allocates only in the constructor.
class CopyLegalizer {
public:
  explicit CopyLegalizer(const CopyGraph &graph);

  /// Rewrites the list of a rank, which has each of its tasks once, and SAVE
  /// and LOAD both or neither. `lead`: a LOAD that Overflow::Copy adds comes
  /// that many entries before the task that needs it, if it fits there. False
  /// if the list cannot be made legal: then it is unchanged.
  bool legalize(CopyLists &lists, int32_t rank, CopyOverflow overflow,
                int32_t lead);

private:
  CopyTaskId meantBy(CopyTaskId t) const;
  bool isAvailable(CopyTaskId t) const;
  bool fits(CopyTaskId t) const {
    const CopyRow &row = graph.row(t);
    return row.takes <= cap - held && row.hostTakes <= hostCap - hostHeld;
  }
  bool isReady(CopyTaskId t) const { return isAvailable(t) && fits(t); }
  void place(CopyTaskId t);
  void retryDeferred();
  void pullFor(CopyTaskId t, const CopyTaskId *rest, const CopyTaskId *end);
  void copyFor(CopyTaskId t, int32_t rank);
  void makeSpace(CopyTaskId t, int32_t rank, const CopyTaskId *rest,
                 const CopyTaskId *end, CopyOverflow overflow);

  const CopyGraph &graph;
  int64_t held = 0, cap = 0, hostHeld = 0, hostCap = 0;
  std::vector<CopyTaskId> made, deferred, pending;
  /// [task].
  std::vector<uint8_t> isPlaced, isListed;
  std::vector<int32_t> at;
  /// [row]: for ordered rows, the next micro-batch.
  std::vector<int32_t> next;
  int32_t lead = 0, number = 0;
};

/// The times of lists, as simulate() computes them. Messages cross links in the
/// order in which they are made, shared host links carry copies as they become
/// ready, and NICs take no time.
class CopyTimer {
public:
  explicit CopyTimer(const CopyGraph &graph);

  /// Derives what the actions of a rank await on other lanes: see CopyWaits.h.
  /// To be called before run() if the rank's list has changed.
  void derive(const CopyLists &lists, int32_t rank);
  /// Undoes the last derive() of a rank.
  void undo(int32_t rank) { std::swap(waits[rank], previous[rank]); }

  /// The objective, or `infinite` if actions wait for each other or a makespan
  /// exceeds `limit`. O(actions); does not allocate.
  int64_t run(const CopyLists &lists, int64_t limit = infinite);

  // Times of the last run that did not return `infinite`.
  int64_t startNs(CopyTaskId t) const { return end[t] - graph.row(t).ns; }
  int64_t endNs(CopyTaskId t) const { return end[t]; }
  /// Sum of the ends of all ranks: of two lists with the same objective, the
  /// one with the smaller sum is closer to a better objective.
  int64_t sumOfEnds() const { return endsOfRanks; }
  /// The action that delays another the most: of its lane, of its rank, or the
  /// sender of its message. -1: none.
  CopyTaskId causeOf(CopyTaskId t) const { return cause[t]; }
  /// The actions of a longest path, from the last one back.
  const std::vector<CopyTaskId> &criticalPath();

private:
  struct RankWaits {
    /// [position]: begin of its awaited positions.
    std::vector<int32_t> begin, awaited;
  };
  struct Release {
    int32_t position = 0, lane = 0;
    int64_t bytes = 0;
  };
  /// A count of one memory along a list, by lane.
  struct Count {
    int64_t cap = 0, taken = 0;
    int64_t known[CopyGraph::numLanes] = {};
    size_t next[CopyGraph::numLanes] = {};
    std::vector<Release> releases;

    void reset(int64_t newCap);
  };
  struct Lane {
    int64_t freeNs = 0;
    CopyTaskId last = -1;
  };
  struct Request {
    int64_t readyNs = 0;
    int32_t rank = 0, lane = 0;
  };

  void take(Count &count, int32_t lane, int64_t bytes, RankWaits &out);
  bool startAction(int32_t rank, int32_t position, CopyTaskId t);
  void finish(CopyTaskId t, int64_t startNs, CopyTaskId by);
  void send(const CopyRow &row, CopyTaskId t);
  void wake(int32_t rank);
  bool isAwaitedDone(int32_t rank, int32_t position) const;
  void runInListOrder(const CopyLists &lists);
  void runLanes(const CopyLists &lists);
  bool advance(const CopyLists &lists, int32_t rank, int32_t lane);
  bool grant(const CopyLists &lists);

  const CopyGraph &graph;
  std::vector<RankWaits> waits, previous;
  std::vector<uint8_t> knownBy;
  std::vector<int32_t> positionInRank;
  Count device, host;
  const CopyTaskId *list = nullptr;

  std::vector<int64_t> end, ready, linkFreeNs, firstNs;
  std::vector<CopyTaskId> cause, readyBy, path;
  std::vector<int32_t> missing, next, worklist;
  std::vector<Lane> lanes;
  std::vector<uint8_t> isQueued, hasAsked;
  std::vector<Request> requests;
  std::vector<Lane> sharedLanes;
  int64_t done = 0, endsOfRanks = 0, limit = infinite;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_COPYLISTS_H
