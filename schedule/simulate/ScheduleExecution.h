//===- ScheduleExecution.h - The state of a simulated schedule --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by Simulator.cpp, which runs the schedule, and ScheduleWaits.cpp,
// which finds the wait cycle if it deadlocks.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_SIMULATE_SCHEDULEEXECUTION_H
#define RONDO_SCHEDULE_SIMULATE_SCHEDULEEXECUTION_H

#include "schedule/model/CollectiveTime.h"
#include "schedule/model/EdgeTable.h"
#include "schedule/model/Waits.h"
#include "schedule/order/CopyWaits.h"
#include "schedule/order/Shards.h"
#include "schedule/simulate/CopyLanes.h"
#include "schedule/simulate/IssueQueue.h"
#include "schedule/simulate/Network.h"
#include "schedule/simulate/Simulator.h"

#include <vector>

namespace rondo::schedule_execution {

/// A work kind (task, step or move of state) of a replica, with the data for
/// running it.
struct Work {
  int64_t ns = 0, acquireBytes = 0, releaseBytes = 0;
  Lane lane = Lane::Compute;
  /// Ranges of Execution::inputs and Execution::outputs.
  int32_t inputBegin = 0, inputEnd = 0, outputBegin = 0, outputEnd = 0;
  Done needs = nothingDone, makes = nothingDone;
};

struct Output {
  /// Index of the message of micro-batch 0.
  int64_t message = 0;
  int64_t occupancyNs = 0, latencyNs = 0;
  /// -1: both ends are on one rank.
  int32_t link = -1;
  int32_t toRank = 0;
};

/// The order of a link's messages. If the schedule does not state one
/// (`isGiven`), messages are sent as they become ready.
struct LinkOrder {
  bool isGiven = false;
  std::vector<int64_t> messages;
  size_t next = 0;
};

/// Bit of Execution::done: everything that an action needs from all
/// micro-batches is done.
constexpr Done allDone = 0x80;

/// Negative values of RankState::blocked, which are not messages.
constexpr int64_t notBlocked = -1, blockedByOwnTask = -2, blockedByState = -3,
                  blockedByCopy = -4;
/// Values of `arrival` below 0: not made, or made at -2 - value and held back
/// by a link order.
constexpr int64_t notMade = -1;

struct RankState {
  int64_t position = 0, end = 0;
  /// `clock`: when the compute lane is free.
  int64_t clock = 0, firstStart = 0, work = 0;
  int64_t held = 0, peak = 0;
  /// The message that the action at `position` waits for.
  int64_t blocked = notBlocked;

  /// Counts the memory of an action, which acquires bytes at its start and
  /// releases bytes at its end.
  void use(int64_t acquireBytes, int64_t releaseBytes) {
    held += acquireBytes;
    peak = std::max(peak, held);
    held -= releaseBytes;
  }
};

/// A gather or reduction that a rank has issued together with the ranks that
/// share the state.
struct IssuedMove {
  Action action;
  int64_t position, readyNs;
};

class Execution {
public:
  Execution(const Problem &problem, const Schedule &schedule)
      : problem(problem), schedule(schedule), edges(problem), links(problem),
        microbatches(problem.microbatches),
        isRoundRobin(problem.replicas.areRoundRobin()),
        isSharded(problem.replicas.areSharded()), isUneven(problem.isUneven()),
        hasCopies(schedule.hasCopies()) {
    if (isSharded) {
      moveLanes.resize(schedule.numRanks());
      gatheredNs.assign(problem.numReplicas(), 0);
      reducedNs.assign(problem.numReplicas(), 0);
      findSums();
    }
    makeRanks();
    makeWorks();
    orderLinks();
    done = problem.nothingDoneYet();
    if (hasCopies)
      makeCopies();
    arrival.assign(problem.edges.size() * microbatches, notMade);
    if (schedule.hasCounts())
      counts.assign(arrival.size(), 1);
    for (size_t e = 0; isRoundRobin && e < problem.edges.size(); ++e)
      for (int64_t i = 0; i < microbatches; ++i)
        if (!problem.carries(problem.edges[e], i))
          arrival[e * microbatches + i] = 0;
  }

  void run(Simulation &result, bool keepTimes);
  /// Keeps the times of actions if `keepTimes` is set.
  void summarize(Simulation &result, bool keepTimes) const;
  std::vector<Wait> findCycle() const;

private:
  void makeRanks();
  void makeWorks();
  void orderLinks();

  /// `isPlain`, the common case: all tasks are on the compute lane and serve
  /// one micro-batch each, all micro-batches are alike, no stage is sharded or
  /// round-robin, and none copies.
  template <bool keepTimes, bool isPlain> void runLanes(Simulation &);
  template <bool keepTimes, bool isPlain>
  void runRank(int32_t r, Simulation &result);
  // Inlined, so that the state of the rank stays in registers.
  template <bool isPlain>
  [[gnu::always_inline]] inline int64_t startOf(int32_t r, RankState &rank,
                                                Action action, const Work &work,
                                                const Simulation &result) const;
  template <bool isPlain>
  [[gnu::always_inline]] inline int64_t finish(int32_t r, RankState &rank,
                                               Action action, const Work &work,
                                               int64_t start);
  template <bool isPlain>
  inline void send(const Output &output, Action action, int64_t readyNs);
  template <bool isPlain>
  inline void carry(const Output &output, int64_t message, int64_t readyNs);
  void sendInOrder(LinkOrder &order);
  int64_t occupancyOf(const Output &output, int64_t message,
                      int64_t count) const;
  bool carryNext(Simulation &result);
  const Output &outputOf(int64_t message) const {
    return outputs[outputOfEdge[message / microbatches]];
  }
  void wake(int32_t rank, int64_t message) {
    if (ranks[rank].blocked != message)
      return;
    ranks[rank].blocked = notBlocked;
    worklist.push_back(rank);
  }
  int64_t firstBlocking(Action action) const {
    return rondo::firstBlocking(action, &done[action.subject * microbatches],
                                problem.microbatchesEach());
  }
  // ScheduleMoves.cpp: sharded state.
  void findSums();
  void issueSums(int32_t r, RankState &rank);
  /// The replicas that run a gather, reduction or sum of `moveLanes` together.
  ReplicaSteps membersOf(Action action) const;
  int64_t nsOf(Action action) const;
  void move(int32_t r, RankState &rank, Action action, Simulation &result);
  /// When the sharded state that an action needs is ready; notMade: not yet.
  int64_t stateNs(Action action) const {
    return action.kind() == ActionKind::Step ? reducedNs[action.subject]
                                             : gatheredNs[action.subject];
  }
  void runMoves(int32_t rank, Simulation &result);
  bool isHead(int32_t replica, Action action) const;
  Action ofReplica(int32_t replica, Action action) const {
    return Action(action.kind(), replica, action.index);
  }
  /// Why the head of a rank's queue in `moveLanes` cannot begin: the rank that
  /// has not reached it, and the action that this rank must issue.
  Wait waitOfLane(int32_t rank) const;

  // ScheduleCopies.cpp: copies to and from hosts.
  void makeCopies();
  void runCopies(int32_t rank, Simulation &result);
  /// Grants a shared host link to the first copy that has asked.
  void grantHostLink(Simulation &result);
  void wakeAfterCopies();
  int64_t heldWithoutCap(int32_t rank, const Simulation &result) const;
  std::vector<Wait> findCopyCycle(const Simulation &result) const;
  void summarizeCopies(Simulation &result) const;

  Wait waitOf(int32_t rank) const;
  Action producerOf(int64_t message) const;

  const Problem &problem;
  const Schedule &schedule;
  EdgeTable edges;
  const LinkTable links;
  Network network{links};
  const int64_t microbatches;
  /// Whether some edges have messages for some micro-batches only. The missing
  /// ones count as arrived at 0.
  const bool isRoundRobin;
  /// Whether any stage has sharded state.
  const bool isSharded;
  /// Whether micro-batches differ in costs or messages.
  const bool isUneven;
  const bool hasCopies;
  /// [replica * numWorkKinds + workNumber(kind)].
  std::vector<Work> works;
  std::vector<int64_t> inputs;
  std::vector<Output> outputs;
  /// [edge]: index into `outputs`, for messages that a link order or NICs hold
  /// back.
  std::vector<int32_t> outputOfEdge;
  /// Indexed by link; empty if the schedule orders none.
  std::vector<LinkOrder> linkOrders;

  std::vector<RankState> ranks;
  /// [rank][lane]: when the lane is free, for lanes other than compute. Empty
  /// if all tasks are on the compute lane, the common case.
  std::vector<std::array<int64_t, numLanes>> otherClocks;
  std::vector<int32_t> worklist;
  /// moveLanes is [rank]. The others are [replica]: the end of its last gather
  /// or reduction; notMade before it has begun. All are empty without sharded
  /// state.
  std::vector<IssueQueue<IssuedMove>> moveLanes;
  std::vector<int64_t> gatheredNs, reducedNs;
  UnreducedBytes unreduced{problem};
  /// For stages with several groups, which add their shards of gradients over
  /// the groups after the last reduction. [replica]: the time of this sum (-1
  /// if there is one group), and the number of reductions not yet issued.
  std::vector<int64_t> sumNs, reductionsLeft;
  /// [rank]: its replicas with such sums, in the order in which programs issue
  /// them, and the number of sums issued.
  struct Sums {
    std::vector<int32_t> replicas;
    size_t issued = 0;
  };
  std::vector<Sums> sums;
  /// Without copies it is empty; with them the run keeps all times.
  CopyLanes copies;
  /// [rank]: peaks of the count along the list.
  std::vector<int64_t> countedBytes, countedHostBytes;
  /// Ranks of which a copy has ended; kept for its memory.
  std::vector<int32_t> afterCopies;
  std::vector<Done> done;
  /// [edge * microbatches + microbatch].
  std::vector<int64_t> arrival;
  /// [message]: number of micro-batches that it serves, from the one in its
  /// index on. Empty if each serves one.
  std::vector<uint8_t> counts;
};

} // namespace rondo::schedule_execution

#endif // RONDO_SCHEDULE_SIMULATE_SCHEDULEEXECUTION_H
