//===- ProgramExecution.h - The state of a simulated program ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by ProgramSimulator.cpp, ProgramQueues.cpp, ProgramCollectives.cpp,
// ProgramNics.cpp and ProgramLaunches.cpp, which run it, and ProgramWaits.cpp,
// which finds the wait cycle if it deadlocks.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_PROGRAM_PROGRAMEXECUTION_H
#define RONDO_SCHEDULE_PROGRAM_PROGRAMEXECUTION_H

#include "schedule/model/Waits.h"
#include "schedule/order/RankWorklist.h"
#include "schedule/order/Residency.h"
#include "schedule/program/GroupCollectives.h"
#include "schedule/program/ProgramLaneWaits.h"
#include "schedule/program/ProgramSimulator.h"
#include "schedule/program/Slots.h"
#include "schedule/simulate/IssueQueue.h"
#include "schedule/simulate/Network.h"

#include <unordered_map>

namespace rondo::program_execution {

constexpr int64_t notYet = -1;

/// Sends or receives issued at one end of a channel, indexed by place in the
/// channel's queue.
class IssuedEnds {
public:
  struct End {
    /// Position in the program's array.
    int64_t position = 0;
    Action action;
    /// When it was issued, which is when it starts.
    int64_t ns = 0;
  };

  size_t size() const { return numForgotten + ends.size(); }
  /// The first place that is still stored.
  size_t firstKept() const { return numForgotten; }
  const End &operator[](size_t place) const {
    return ends[place - numForgotten];
  }
  void push(End end) { ends.push_back(end); }
  /// Drops all entries so far; later entries keep their places. Few entries are
  /// needed at once, and these then stay in the cache.
  void forget() {
    numForgotten += ends.size();
    ends.clear();
  }

private:
  std::vector<End> ends;
  size_t numForgotten = 0;
};

/// The sends and receives that ranks have issued on a link.
struct Channel {
  int32_t number = 0, from = 0, to = 0;
  Link link;
  IssuedEnds sends, receives;
  /// Ends of the tasks that consumed messages, in time order; only filled if
  /// receiveSlots limits receives.
  std::vector<int64_t> consumedNs;
  /// Number of messages that have occupied the link.
  size_t carried = 0;
};

enum class WaitFor : uint8_t {
  Nothing,
  /// A later task of the same rank; `id` is not used.
  OwnTask,
  /// A message, [edge * microbatches + microbatch].
  Message,
  /// The end of the send of a message, which still reads a slot; `id` as for
  /// Message.
  SendEnd,
  /// A receive slot of a channel.
  ReceiveSlot,
  /// The end of a collective.
  Collective,
  /// The end of an action on another lane: `needed`. `id` is 0.
  Copy,
};

/// A message. Packed, because the simulation touches each message several times
/// and there are millions.
struct MessageState {
  int64_t arrivalNs : 63;
  /// Whether its receive has been issued.
  uint64_t isReceived : 1;

  MessageState() : arrivalNs(notYet), isReceived(0) {}
};
static_assert(sizeof(MessageState) == 8, "a message is 64 bits");

struct RankState {
  int64_t position = 0, end = 0, clock = 0;
  WaitFor waitFor = WaitFor::Nothing;
  int64_t id = 0;
  /// For OwnTask and Copy: the needed action.
  Action needed;
};

struct CollectiveState {
  /// Ascending.
  std::vector<int32_t> ranks;
  int64_t endNs = notYet;
  /// The NICs that messages between its ranks would cross.
  std::vector<int32_t> nics;
  bool hasAsked = false;
};

struct IssuedCollective {
  int32_t collective;
  int64_t position;
  int64_t issuedNs;
};
/// The collectives of a rank.
using CollectiveLane = IssueQueue<IssuedCollective>;

/// The limit of launches in flight on each rank. Positions are those of the
/// program's array. Empty if no rank is limited.
struct Launches {
  Launches(const Problem &problem, const Schedule &order, int32_t resident);

  /// [rank]: the limit; 0: unlimited.
  std::vector<int32_t> most;
  /// [rank]: launches in the order of issue.
  std::vector<std::vector<int64_t>> issued;
  /// [position]: the launch that must end before it begins, and the launch that
  /// waits for its end; notYet: none.
  std::vector<int64_t> before, after;
  /// Launches that may begin, as pairs of rank and position.
  std::vector<std::pair<int32_t, int64_t>> freed;

  bool areLimited() const { return !most.empty(); }
  void add(int32_t rank, int64_t position);
};

/// The NICs that messages between these ranks would cross.
std::vector<int32_t> nicsBetween(const Problem &problem,
                                 const std::vector<int32_t> &ranks);

class Execution {
public:
  Execution(const Problem &problem, const Program &program, int32_t resident,
            bool keepTimes, ProgramSimulation &result);

  void run();
  void summarize();

private:
  bool crossesRanks(int32_t edge) const { return links.ofEdge(edge) >= 0; }
  bool carries(int32_t edge, int64_t microbatch) const {
    return !areRoundRobin || problem.carries(problem.edges[edge], microbatch);
  }
  int64_t messageOf(Action action) const {
    return action.subject * microbatches + action.index;
  }
  /// The run of a collective in a step or unit, as an index into `collectives`.
  int32_t collectiveOf(Action action) const {
    return static_cast<int32_t>(action.index * program.collectives.size() +
                                groups.numberOf(action));
  }
  /// The action with which a rank issues a collective.
  Action issueOf(int32_t collective, int32_t rank) const;
  bool isIssued(int32_t collective, int32_t rank) const;
  Action awaitOf(int32_t collective) const {
    const auto count = static_cast<int32_t>(program.collectives.size());
    return Action(ActionKind::Await, collective % count, collective / count);
  }
  Channel &channelOf(Action action) {
    return channels[links.ofEdge(action.subject)];
  }
  const Channel &channelOf(Action action) const {
    return channels[links.ofEdge(action.subject)];
  }
  const Channel &channelOfMessage(int64_t message) const {
    return channels[links.ofEdge(message / microbatches)];
  }

  /// These issue the action at the rank's position; false if it must wait.
  bool issue(int32_t r, RankState &rank);
  bool task(RankState &rank, Action action);
  bool send(RankState &rank, Action action);
  bool receive(RankState &rank, Action action);
  /// For all_reduce, unshard and reduce_grad.
  bool collective(int32_t r, RankState &rank, Action action);
  bool await(int32_t r, RankState &rank, Action action);
  bool step(RankState &rank, Action action);
  /// False if something on another lane has not ended; otherwise raises `start`
  /// to its end.
  bool awaitLanes(RankState &rank, int64_t &start);
  void runCopies(int32_t r);
  void wakeAfterCopies();
  /// Issues an action that takes no time.
  bool atOnce(RankState &rank) {
    setStart(rank.position, rank.clock);
    setEnd(rank.position, rank.clock);
    return true;
  }
  void setStart(int64_t position, int64_t ns) {
    if (keepsTimes)
      result.startNs[position] = ns;
  }
  void setEnd(int64_t position, int64_t ns) {
    if (keepsTimes)
      result.endNs[position] = ns;
  }

  bool needOwn(RankState &rank, Action needed);
  bool take(RankState &rank, int32_t buffer, int64_t index, int64_t &start);
  void wake(int32_t rank, WaitFor waitFor, int64_t id);
  /// Records that a rank issues the launch at `position`.
  void launch(int32_t rank, int64_t position) {
    if (launches.areLimited())
      launches.add(rank, position);
  }
  /// When the limit allows a launch to begin; notYet if it does not yet.
  int64_t mayBeginNs(int64_t position) const {
    return !launches.areLimited() || launches.before[position] == notYet
               ? 0
               : result.endNs[launches.before[position]];
  }
  /// Whether both ends of a message may begin; raises `readyNs` to when they
  /// may.
  bool mayMeet(int64_t send, int64_t receive, int64_t &readyNs) const;
  void endLaunch(int32_t rank, int64_t position);
  bool beginFreed();
  bool isReady(const CollectiveState &state, int32_t collective) const;
  void runCollectives(int32_t rank);
  void runCollective(CollectiveState &state, int32_t collective,
                     int64_t readyNs);
  bool grantNext();
  void carry(Channel &channel);
  int64_t deliver(Channel &channel, int64_t readyNs);
  void meet(int32_t rank);
  void deliverFromQueues(Channel &channel, int64_t readyNs);
  void advance(Channel &channel) {
    isOneQueue ? meet(channel.from) : carry(channel);
  }

  std::vector<Wait> findCycle() const;
  Wait waitOf(int32_t r) const;
  Action consumerOf(Action receive) const;
  Action nextConsumer(const Channel &channel) const;
  void needHead(const Channel &channel, Wait &wait) const;
  Wait waitOfQueue(int32_t r) const;
  Wait waitOfLane(int32_t r) const;
  void needCollective(int32_t r, Wait &wait) const;
  int32_t partyThatExplains(const Wait &wait) const;
  bool isStuck(int32_t r) const;

  /// A waiting party, if launches are limited: a launch or the host of a rank.
  struct Place {
    int32_t rank = -1;
    /// Position of the launch; notYet: the host of the rank.
    int64_t launch = notYet;
    /// The action of this party that another one needs.
    Action needed;
  };
  std::vector<Wait> findCycleOfLaunches() const;
  Place stuckPlace() const;
  Place waitsFor(const Place &place) const;
  Place waitOfHost(int32_t r) const;
  Place headOf(const Channel &channel, bool isSender) const;
  Place waitOfMessage(const Place &place) const;
  Place waitOfCollective(const Place &place) const;
  Place placeOf(int32_t rank, int64_t launch) const {
    return {rank, launch, actions[launch]};
  }

  const Problem &problem;
  const Program &program;
  const Schedule &order;
  ProgramSimulation &result;
  const Action *const actions;
  const int64_t microbatches;
  Launches launches;
  const bool isEager, isOneQueue;
  /// Whether any stage assigns micro-batches to its replicas round-robin.
  const bool areRoundRobin;
  /// Whether `result` gets the times of all actions. If not, the simulation
  /// needs none of them: without a limit of launches and without one queue per
  /// rank.
  const bool keepsTimes;
  const size_t receiveSlots;
  EdgeTable edges;
  const LinkTable links;
  Network network{links};
  BufferNumbers buffers;
  Slots slots;
  const GroupCollectives groups;

  /// Empty without copies, with which the run keeps all times.
  CopyLanes copies;
  /// Ranks of which a copy has ended; kept for its memory.
  std::vector<int32_t> afterCopies;

  std::vector<RankState> ranks;
  RankWorklist worklist;
  /// Indexed by link.
  std::vector<Channel> channels;
  /// [rank], if each rank sends and receives in one queue: positions in the
  /// program's array. A message leaves when it arrives.
  std::vector<IssueQueue<int64_t>> queues;
  /// Ranks whose heads may have met; kept for its memory.
  std::vector<int32_t> toMeet;
  /// [step or unit * number of collectives + collective].
  std::vector<CollectiveState> collectives;
  /// Indexed by rank.
  std::vector<CollectiveLane> lanes;
  /// [replica * microbatches + microbatch].
  std::vector<Done> done;
  /// [edge * microbatches + microbatch].
  std::vector<MessageState> messages;
  /// [buffer]: whether it shares a slot with a buffer that messages are sent
  /// from. An action that takes it may then wait for a send.
  std::vector<bool> meetsSends;
  /// [slot]: the send that used it last; an action of another kind: none.
  std::vector<Action> lastSend;
  /// [message of a send]: the previous send with the same content.
  std::unordered_map<int64_t, Action> sendBefore;
};

} // namespace rondo::program_execution

#endif // RONDO_SCHEDULE_PROGRAM_PROGRAMEXECUTION_H
