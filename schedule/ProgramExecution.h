//===- ProgramExecution.h - The state of a running program ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by ProgramSimulator.cpp, ProgramQueues.cpp, ProgramCollectives.cpp and
// ProgramLaunches.cpp, which run it, and ProgramWaits.cpp, which explains why
// it stands still.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_PROGRAMEXECUTION_H
#define RONDO_SCHEDULE_PROGRAMEXECUTION_H

#include "schedule/BufferNumbers.h"
#include "schedule/GroupCollectives.h"
#include "schedule/IssueQueue.h"
#include "schedule/Network.h"
#include "schedule/Program.h"
#include "schedule/RankWorklist.h"
#include "schedule/Residency.h"
#include "schedule/Slots.h"
#include "schedule/Waits.h"

#include <unordered_map>

namespace rondo::program_execution {

constexpr int64_t notYet = -1;

/// What one end of a channel has issued, by place in the channel's queue.
class IssuedEnds {
public:
  struct End {
    /// In the program's array.
    int64_t position = 0;
    Action action;
    /// When it was issued, which is when it starts.
    int64_t ns = 0;
  };

  size_t size() const { return numForgotten + ends.size(); }
  /// The first place that is not forgotten.
  size_t firstKept() const { return numForgotten; }
  const End &operator[](size_t place) const {
    return ends[place - numForgotten];
  }
  void push(End end) { ends.push_back(end); }
  /// All so far, whose places stay taken: few are wanted at once, and those
  /// are then in the cache.
  void forget() {
    numForgotten += ends.size();
    ends.clear();
  }

private:
  std::vector<End> ends;
  size_t numForgotten = 0;
};

/// What has been issued for a link.
struct Channel {
  int32_t number = 0, from = 0, to = 0;
  Link link;
  IssuedEnds sends, receives;
  /// Ends of the tasks that consumed messages, in time order; only where slots
  /// limit receives.
  std::vector<int64_t> consumedNs;
  /// Messages that have got the link.
  size_t carried = 0;
};

enum class WaitFor : uint8_t {
  Nothing,
  /// An own task that stands later in the order: `id` is not used.
  OwnTask,
  /// A message by [edge * microbatches + microbatch].
  Message,
  /// The send at a position, which still reads a slot.
  SendEnd,
  /// A receive slot of a channel.
  ReceiveSlot,
  /// The end of a collective.
  Collective,
};

/// When it arrives, and the position of its receive.
struct MessageState {
  int64_t arrivalNs = notYet, receivedAt = notYet;
};

struct RankState {
  int64_t position = 0, end = 0, clock = 0;
  WaitFor waitFor = WaitFor::Nothing;
  int64_t id = 0;
  /// OwnTask: what is needed.
  Action needed;
};

struct CollectiveState {
  /// Ascending.
  std::vector<int32_t> ranks;
  int64_t endNs = notYet;
  /// The cards that messages between its ranks would cross.
  std::vector<int32_t> cards;
  bool hasAsked = false;
};

struct IssuedCollective {
  int32_t collective;
  int64_t position;
  int64_t issuedNs;
};
/// The collectives of a rank.
using CollectiveLane = IssueQueue<IssuedCollective>;

/// What limits the launches of all ranks that are in flight; positions in the
/// program's array. Empty where nothing does.
struct Launches {
  Launches(const Problem &problem, const Schedule &order, int32_t resident);

  /// By rank: how many may be; 0: any number.
  std::vector<int32_t> most;
  /// By rank, in the order of their issue.
  std::vector<std::vector<int64_t>> issued;
  /// By position: the launch that must have ended before, and the one that
  /// waits for it; notYet: none.
  std::vector<int64_t> before, after;
  /// Those that may begin now: a rank and a position.
  std::vector<std::pair<int32_t, int64_t>> freed;

  bool areLimited() const { return !most.empty(); }
  void add(int32_t rank, int64_t position);
};

/// The cards that messages between these ranks would cross.
std::vector<int32_t> cardsBetween(const Problem &problem,
                                  const std::vector<int32_t> &ranks);

class Execution {
public:
  Execution(const Problem &problem, const Program &program, int32_t resident,
            ProgramSimulation &result);

  void run();
  void summarize();

private:
  bool crossesRanks(int32_t edge) const { return links.ofEdge(edge) >= 0; }
  bool carries(int32_t edge, int64_t microbatch) const {
    return !areDealt || problem.carries(problem.edges[edge], microbatch);
  }
  int64_t messageOf(Action action) const {
    return action.subject * microbatches + action.index;
  }
  /// The collective of a step or unit, by its place in `collectives`.
  int32_t collectiveOf(Action action) const {
    return static_cast<int32_t>(action.index * program.collectives.size() +
                                groups.numberOf(action));
  }
  /// What a rank does to issue a collective.
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

  /// Each issues the action at the rank's position; false where it must wait.
  bool issue(int32_t r, RankState &rank);
  bool task(RankState &rank, Action action);
  bool send(RankState &rank, Action action);
  bool receive(RankState &rank, Action action);
  /// Of an all_reduce, an unshard or a reduce_grad.
  bool collective(int32_t r, RankState &rank, Action action);
  bool await(int32_t r, RankState &rank, Action action);
  bool step(RankState &rank, Action action);
  /// Of what takes no time.
  bool atOnce(RankState &rank) {
    result.startNs[rank.position] = result.endNs[rank.position] = rank.clock;
    return true;
  }

  bool needOwn(RankState &rank, Action needed);
  bool take(RankState &rank, int32_t buffer, int64_t index, int64_t &start);
  void wake(int32_t rank, WaitFor waitFor, int64_t id);
  /// A rank issues the launch at `position`.
  void launch(int32_t rank, int64_t position) {
    if (launches.areLimited())
      launches.add(rank, position);
  }
  /// When the limit lets a launch begin; notYet where it does not.
  int64_t mayBeginNs(int64_t position) const {
    return !launches.areLimited() || launches.before[position] == notYet
               ? 0
               : result.endNs[launches.before[position]];
  }
  /// Whether both ends of a message may begin, and no earlier than when.
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

  /// Something that waits, where launches are limited.
  struct Place {
    int32_t rank = -1;
    /// A launch by its position; notYet: what the rank's host is at.
    int64_t launch = notYet;
    /// What another place needs of it.
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
  /// Whether homes of a stage share its micro-batches out.
  const bool areDealt;
  const size_t receiveSlots;
  EdgeTable edges;
  const LinkTable links;
  Network network{links};
  BufferNumbers buffers;
  Slots slots;
  const GroupCollectives groups;

  std::vector<RankState> ranks;
  RankWorklist worklist;
  /// By link.
  std::vector<Channel> channels;
  /// By rank, where each sends and receives in one queue: positions in the
  /// program's array. A message leaves as it arrives.
  std::vector<IssueQueue<int64_t>> queues;
  /// Ranks whose heads may have met; kept for its memory.
  std::vector<int32_t> toMeet;
  /// [step or unit * number of collectives + collective].
  std::vector<CollectiveState> collectives;
  /// By rank.
  std::vector<CollectiveLane> lanes;
  /// [home * microbatches + microbatch].
  std::vector<Done> done;
  /// [edge * microbatches + microbatch].
  std::vector<MessageState> messages;
  /// By buffer: whether messages leave from one of its slots, so that whoever
  /// takes it may have to wait.
  std::vector<bool> meetsSends;
  /// By slot: the position of the send that used it last.
  std::vector<int64_t> lastSend;
  /// By a send's position: the one before it that reads the same content.
  std::unordered_map<int64_t, int64_t> sendBefore;
};

} // namespace rondo::program_execution

#endif // RONDO_SCHEDULE_PROGRAMEXECUTION_H
