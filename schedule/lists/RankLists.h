//===- RankLists.h - Lists of tasks and copies, legal and timed -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_LISTS_RANKLISTS_H
#define RONDO_SCHEDULE_LISTS_RANKLISTS_H

#include "schedule/lists/TaskGraph.h"

#include <vector>

namespace rondo {

/// The order of micro-batches, and the actions of every rank in their order.
/// The list of rank r begins at tasks[begin[r]] and has length[r] entries.
struct RankLists {
  /// The order that `OrderClass` refers to, and the place of each micro-batch
  /// in it.
  std::vector<int32_t> order, place;
  std::vector<TaskId> tasks;
  std::vector<int32_t> begin, length;

  void setOrder(std::vector<int32_t> given);
  TaskId *rank(int32_t r) { return tasks.data() + begin[r]; }
  const TaskId *rank(int32_t r) const { return tasks.data() + begin[r]; }
  const TaskId *rankEnd(int32_t r) const { return rank(r) + length[r]; }
  void append(int32_t r, TaskId t) { rank(r)[length[r]++] = t; }
  int32_t total() const;
};

/// Empty lists with space for all actions, in the order of the indices.
RankLists makeLists(const TaskGraph &graph);
/// The lists of a schedule. False if it has other tasks than the graph.
bool readLists(const TaskGraph &graph, const Schedule &schedule,
               RankLists &lists);
/// The schedule of lists, without an order of accumulation.
Schedule toSchedule(const TaskGraph &graph, const RankLists &lists);

/// Action for a task that does not fit its rank's cap yet.
enum class Overflow : uint8_t {
  /// It comes after the actions that free enough.
  Defer,
  /// Actions that free bytes come before it, if they can.
  Pull,
  /// Micro-batches that are needed last are copied, if they can be.
  Copy,
};

/// Makes lists legal: actions follow those on the same rank that they need,
/// tasks of a class's ordered kinds follow `order`, and no cap of the rank or
/// its host is exceeded. Allocates only in the constructor.
class Legalizer {
public:
  Legalizer(const TaskGraph &graph, OrderClass orders);

  /// Rewrites the list of a rank, which has each of its tasks once, and SAVE
  /// and LOAD both or neither. The k-th task of an ordered kind of a replica
  /// becomes that of the k-th micro-batch. `lead`: a LOAD that Overflow::Copy
  /// adds comes that many entries before the task that needs it, if it fits
  /// there. `atBegin` first and `atEnd` last entries are those of a legal list,
  /// which has the same tasks. False if the list cannot be made legal: then it
  /// is unchanged. O(length), with few deferred actions.
  bool legalize(RankLists &lists, int32_t rank, Overflow overflow,
                int32_t lead = 1, int32_t atBegin = 0, int32_t atEnd = 0);

private:
  TaskId meantBy(TaskId t) const;
  bool isAvailable(TaskId t) const;
  bool fits(TaskId t) const {
    return graph.tasks[t].takes <= cap - held &&
           (!hasCopies || graph.hostTakes(t) <= hostCap - hostHeld);
  }
  bool isReady(TaskId t) const { return fits(t) && isAvailable(t); }
  void place(TaskId t);
  void retryDeferred();
  void readList(const TaskId *end, Overflow overflow);
  void placePending(int32_t position);
  void pullFor(TaskId t, const TaskId *rest, const TaskId *end);
  void copyFor(TaskId t, int32_t rank);
  void makeSpace(TaskId t, int32_t rank, const TaskId *rest, const TaskId *end,
                 Overflow overflow);

  const TaskGraph &graph;
  /// [row].
  std::vector<uint8_t> isOrdered;
  const RankLists *lists = nullptr;
  const TaskId *begin = nullptr;
  int64_t held = 0, cap = 0, hostHeld = 0, hostCap = 0;
  bool hasCopies = false;
  std::vector<TaskId> made, deferred, pending;
  /// [task].
  std::vector<uint8_t> isPlaced, isListed;
  std::vector<int32_t> at;
  /// [row]: places of RankLists::order that have been passed.
  std::vector<int32_t> passed;
  int32_t lead = 0, number = 0;
};

/// The times of lists, as simulate() computes them. Messages cross links in the
/// order in which they are made, shared host links carry copies as they become
/// ready, and NICs take no time.
class ListTimer {
public:
  explicit ListTimer(const TaskGraph &graph);

  /// Derives what the actions of a rank await on other lanes: see CopyWaits.h.
  /// To be called before run() if the rank's list has changed.
  void derive(const RankLists &lists, int32_t rank);
  /// Undoes the last derive() of a rank.
  void undo(int32_t rank) { std::swap(waits[rank], previous[rank]); }

  /// The objective, or `infinite` if actions wait for each other or a makespan
  /// exceeds `limit`. O(actions); does not allocate.
  int64_t run(const RankLists &lists, int64_t limit = infinite);

  // Times of the last run that did not return `infinite`.
  int64_t startNs(TaskId t) const { return end[t] - graph.tasks[t].ns; }
  int64_t endNs(TaskId t) const { return end[t]; }
  /// Sum of the ends of all ranks: of two lists with the same objective, the
  /// one with the smaller sum is closer to a better objective.
  int64_t sumOfEnds() const { return endsOfRanks; }
  /// The actions of a longest path, from the last one back: each is delayed the
  /// most by the next one, of its lane, of its rank, or the sender of its
  /// message.
  const std::vector<TaskId> &criticalPath();

private:
  struct RankWaits {
    /// [position]: begin of its awaited positions. Empty if the rank has one
    /// lane.
    std::vector<int32_t> begin, awaited;
  };
  struct Release {
    int32_t position = 0, lane = 0;
    int64_t bytes = 0;
  };
  /// A count of one memory along a list, by lane.
  struct Count {
    int64_t cap = 0, taken = 0;
    int64_t known[TaskGraph::numLanes] = {};
    size_t next[TaskGraph::numLanes] = {};
    std::vector<Release> releases;

    void reset(int64_t newCap);
    void free(int32_t position, int32_t lane, int64_t bytes);
  };
  struct Lane {
    int64_t freeNs = 0;
    TaskId last = -1;
  };
  struct Request {
    int64_t readyNs = 0;
    int32_t rank = 0, lane = 0;
  };

  void take(Count &count, int32_t lane, int64_t bytes, RankWaits &out);
  bool startAction(int32_t rank, int32_t position, TaskId t);
  void awaitOthers(int32_t rank, int32_t position, int64_t &start,
                   TaskId &by) const;
  void send(const TaskFigures &task, int32_t rank, TaskId t);
  void wake(int32_t rank) {
    if (isQueued[rank])
      return;
    isQueued[rank] = true;
    worklist.push_back(rank);
  }
  bool isAwaitedDone(int32_t rank, int32_t position) const;
  void runInListOrder(const RankLists &lists);
  void runLanes(const RankLists &lists);
  bool advance(const RankLists &lists, int32_t rank, int32_t lane);
  bool grant(const RankLists &lists);

  const TaskGraph &graph;
  std::vector<RankWaits> waits, previous;
  std::vector<uint8_t> knownBy;
  std::vector<int32_t> positionInRank;
  Count device, host;
  const TaskId *list = nullptr;
  /// The lists that run in their order; null if lanes run by themselves.
  const RankLists *inOrder = nullptr;

  std::vector<int64_t> end, ready, linkFreeNs, firstNs;
  /// [rank]: time of its tasks, in all and of those that have not started.
  std::vector<int64_t> workNs, leftNs;
  std::vector<TaskId> cause, readyBy, path;
  std::vector<int32_t> missing, next, worklist;
  std::vector<Lane> lanes;
  std::vector<uint8_t> isQueued, hasAsked;
  std::vector<Request> requests;
  std::vector<Lane> sharedLanes;
  int64_t done = 0, endsOfRanks = 0, limit = infinite;
  bool isBeyond = false;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_LISTS_RANKLISTS_H
