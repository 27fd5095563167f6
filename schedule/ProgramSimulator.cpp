//===- ProgramSimulator.cpp - How a program runs ----------------*- C++ -*-===//
//
// As in Simulator.cpp, every rank runs its list until an action has to wait.
// An event wakes the ranks that wait for it: a message that arrives, a send
// that ends, a collective that the last rank enters. Channels are in order and
// each rank's times never decrease, so the order of ranks on the worklist does
// not change any time.
//
//===----------------------------------------------------------------------===//

#include "schedule/EdgeTable.h"
#include "schedule/Program.h"
#include "schedule/Slots.h"

#include <algorithm>

using namespace rondo;

namespace {

constexpr int64_t notYet = -1;

/// A directed rank pair. The vectors are by place in the channel's queue.
struct Channel {
  int32_t from = 0, to = 0;
  Link link;
  int64_t freeNs = 0;
  /// Positions of actions in the program's array, as they are issued.
  std::vector<int64_t> sends, receives;
  std::vector<int64_t> sentNs, postedNs;
  /// Ends of the tasks that consumed messages, in time order.
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
  /// A collective.
  Collective,
};

struct RankState {
  int64_t position = 0, end = 0, clock = 0;
  WaitFor waitFor = WaitFor::Nothing;
  int64_t id = 0;
  /// OwnTask: what is needed.
  Action needed;
};

struct CollectiveState {
  std::vector<int32_t> ranks;
  std::vector<bool> entered;
  size_t numEntered = 0;
  int64_t endNs = 0;
};

enum Done : uint8_t { ForwardDone = 1, InputGradDone = 2 };

class Execution {
public:
  Execution(const Problem &problem, const Program &program,
            ProgramSimulation &result);

  void run();
  void summarize();

private:
  bool crossesRanks(const Edge &edge) const {
    return problem.rankOf(edge.from) != problem.rankOf(edge.to);
  }
  int64_t messageOf(Action action) const {
    return action.stage * microbatches + action.index;
  }
  Channel &channelOf(Action action) {
    return channels[channelIds[action.stage]];
  }

  /// Each issues the action at the rank's position; false where it must wait.
  bool issue(int32_t r, RankState &rank);
  bool task(RankState &rank, Action action);
  bool send(RankState &rank, Action action);
  bool receive(RankState &rank, Action action);
  bool allReduce(int32_t r, RankState &rank, Action action);

  bool needOwn(RankState &rank, Action needed);
  bool take(RankState &rank, int32_t stage, BufferKind kind, int64_t index,
            int64_t &start);
  void wake(int32_t rank, WaitFor waitFor, int64_t id);
  void carry(Channel &channel);

  std::vector<Wait> findCycle() const;
  Wait waitOf(int32_t r) const;
  Action consumerOf(Action receive) const;
  Action nextConsumer(const Channel &channel) const;
  void needHead(const Channel &channel, Wait &wait) const;

  const Problem &problem;
  const Schedule &order;
  ProgramSimulation &result;
  const Action *const actions;
  const int64_t microbatches;
  const bool isEager;
  const size_t receiveSlots;
  EdgeTable edges;
  Slots slots;

  std::vector<RankState> ranks;
  std::vector<int32_t> worklist;
  std::vector<Channel> channels;
  /// By edge.
  std::vector<int32_t> channelIds;
  std::vector<CollectiveState> collectives;
  /// [stage * microbatches + microbatch].
  std::vector<uint8_t> done;
  /// By message: arrival, and the position of its receive.
  std::vector<int64_t> arrivalNs, receivedAt;
  /// By slot: the position of the send that used it last.
  std::vector<int64_t> lastSend;
};

Execution::Execution(const Problem &problem, const Program &program,
                     ProgramSimulation &result)
    : problem(problem), order(program.order), result(result),
      actions(order.rank(0).begin()), microbatches(problem.microbatches),
      isEager(problem.channels.protocol == Protocol::Eager),
      receiveSlots(problem.channels.receiveSlots), edges(problem),
      slots(program), done(problem.numStages() * microbatches),
      arrivalNs(problem.edges.size() * microbatches, notYet),
      receivedAt(problem.edges.size() * microbatches, notYet),
      lastSend(slots.count(), notYet) {
  result.startNs.assign(order.numActions(), 0);
  // A send or receive that never ends keeps notYet.
  result.endNs.assign(order.numActions(), notYet);
  ranks.resize(order.numRanks());
  for (int32_t r = 0; r < order.numRanks(); ++r) {
    ranks[r].position = order.rankBegin(r);
    ranks[r].end = order.rankBegin(r + 1);
  }
  std::map<std::pair<int32_t, int32_t>, int32_t> ids;
  for (const Edge &edge : problem.edges) {
    int32_t from = problem.rankOf(edge.from), to = problem.rankOf(edge.to);
    if (from == to) {
      channelIds.push_back(-1);
      continue;
    }
    auto [it, isNew] =
        ids.insert({{from, to}, static_cast<int32_t>(channels.size())});
    if (isNew) {
      channels.emplace_back();
      channels.back().from = from;
      channels.back().to = to;
      channels.back().link = problem.linkBetween(from, to);
    }
    channelIds.push_back(it->second);
  }
  for (const Collective &collective : program.collectives) {
    CollectiveState state;
    for (int32_t stage : collective.stages)
      state.ranks.push_back(problem.rankOf(stage));
    std::sort(state.ranks.begin(), state.ranks.end());
    state.ranks.erase(std::unique(state.ranks.begin(), state.ranks.end()),
                      state.ranks.end());
    state.entered.resize(state.ranks.size());
    collectives.push_back(std::move(state));
  }
}

void Execution::wake(int32_t r, WaitFor waitFor, int64_t id) {
  RankState &rank = ranks[r];
  if (rank.waitFor != waitFor || rank.id != id)
    return;
  rank.waitFor = WaitFor::Nothing;
  worklist.push_back(r);
}

/// Gives the link to every message that is ready for it.
void Execution::carry(Channel &channel) {
  while (channel.carried < channel.sends.size()) {
    size_t n = channel.carried;
    int64_t begin = std::max(channel.sentNs[n], channel.freeNs);
    if (!isEager) {
      if (n >= channel.receives.size())
        return;
      begin = std::max(begin, channel.postedNs[n]);
    } else if (receiveSlots > 0 && n >= receiveSlots) {
      if (n - receiveSlots >= channel.consumedNs.size())
        return;
      begin = std::max(begin, channel.consumedNs[n - receiveSlots]);
    }
    ++channel.carried;
    Action sent = actions[channel.sends[n]];
    int64_t message = messageOf(sent);
    channel.freeNs =
        begin + channel.link.occupancyNs(problem.edges[sent.stage].bytes);
    int64_t arrival = channel.freeNs + channel.link.latencyNs;
    arrivalNs[message] = arrival;
    result.endNs[channel.sends[n]] = arrival;
    if (receivedAt[message] >= 0)
      result.endNs[receivedAt[message]] =
          std::max(arrival, result.startNs[receivedAt[message]]);
    wake(channel.from, WaitFor::SendEnd, channel.sends[n]);
    wake(channel.to, WaitFor::Message, message);
  }
}

bool Execution::needOwn(RankState &rank, Action needed) {
  rank.waitFor = WaitFor::OwnTask;
  rank.needed = needed;
  return false;
}

/// Waits where a send still reads the slot that a buffer takes.
bool Execution::take(RankState &rank, int32_t stage, BufferKind kind,
                     int64_t index, int64_t &start) {
  int64_t slot = slots.of(stage, kind, index);
  if (slot < 0 || lastSend[slot] == notYet)
    return true;
  int64_t end = result.endNs[lastSend[slot]];
  if (end == notYet) {
    rank.waitFor = WaitFor::SendEnd;
    rank.id = lastSend[slot];
    return false;
  }
  start = std::max(start, end);
  return true;
}

bool Execution::task(RankState &rank, Action action) {
  const int32_t stage = action.stage;
  const ActionKind kind = action.kind();
  uint8_t &own = done[stage * microbatches + action.index];
  int64_t start = rank.clock;
  if (kind == ActionKind::WeightGrad) {
    if (!(own & InputGradDone))
      return needOwn(rank, Action(ActionKind::InputGrad, stage, action.index));
  } else if (kind != ActionKind::Forward) {
    if (!(own & ForwardDone))
      return needOwn(rank, Action(ActionKind::Forward, stage, action.index));
  }
  for (int32_t e : edges.inputs(stage, kind)) {
    const Edge &edge = problem.edges[e];
    if (!crossesRanks(edge)) {
      uint8_t bit =
          edge.producer == ActionKind::Forward ? ForwardDone : InputGradDone;
      if (!(done[edge.from * microbatches + action.index] & bit))
        return needOwn(rank, Action(edge.producer, edge.from, action.index));
      continue;
    }
    int64_t message = e * microbatches + action.index;
    if (receivedAt[message] == notYet)
      return needOwn(rank, Action(ActionKind::Recv, e, action.index));
    if (arrivalNs[message] == notYet) {
      rank.waitFor = WaitFor::Message;
      rank.id = message;
      return false;
    }
    start = std::max(start, arrivalNs[message]);
  }
  for (BufferKind buffer : takenBy(kind))
    if (!take(rank, stage, buffer, action.index, start))
      return false;

  rank.clock = start + problem.cost(stage, kind).ns;
  result.startNs[rank.position] = start;
  result.endNs[rank.position] = rank.clock;
  if (kind == ActionKind::WeightGrad)
    return true;
  own |= kind == ActionKind::Forward ? ForwardDone : InputGradDone;
  for (int32_t e : edges.inputs(stage, kind))
    if (crossesRanks(problem.edges[e])) {
      Channel &channel = channels[channelIds[e]];
      channel.consumedNs.push_back(rank.clock);
      carry(channel);
    }
  return true;
}

bool Execution::send(RankState &rank, Action action) {
  const Edge &edge = problem.edges[action.stage];
  uint8_t bit =
      edge.producer == ActionKind::Forward ? ForwardDone : InputGradDone;
  if (!(done[edge.from * microbatches + action.index] & bit))
    return needOwn(rank, Action(edge.producer, edge.from, action.index));
  result.startNs[rank.position] = rank.clock;
  int64_t slot = slots.of(edge.from, sentBuffer(edge), action.index);
  if (slot >= 0)
    lastSend[slot] = rank.position;
  Channel &channel = channelOf(action);
  channel.sends.push_back(rank.position);
  channel.sentNs.push_back(rank.clock);
  carry(channel);
  return true;
}

bool Execution::receive(RankState &rank, Action action) {
  const Edge &edge = problem.edges[action.stage];
  Channel &channel = channelOf(action);
  if (receiveSlots > 0 &&
      channel.receives.size() - channel.consumedNs.size() >= receiveSlots) {
    rank.waitFor = WaitFor::ReceiveSlot;
    rank.id = channelIds[action.stage];
    return false;
  }
  int64_t start = rank.clock;
  if (!take(rank, edge.to, receivedBuffer(edge), action.index, start))
    return false;
  rank.clock = start;
  int64_t message = messageOf(action);
  receivedAt[message] = rank.position;
  result.startNs[rank.position] = start;
  if (arrivalNs[message] != notYet)
    result.endNs[rank.position] = std::max(start, arrivalNs[message]);
  channel.receives.push_back(rank.position);
  channel.postedNs.push_back(start);
  carry(channel);
  return true;
}

bool Execution::allReduce(int32_t r, RankState &rank, Action action) {
  CollectiveState &state = collectives[action.stage];
  size_t member = std::lower_bound(state.ranks.begin(), state.ranks.end(), r) -
                  state.ranks.begin();
  if (!state.entered[member]) {
    state.entered[member] = true;
    state.endNs = std::max(state.endNs, rank.clock);
    result.startNs[rank.position] = rank.clock;
    if (++state.numEntered == state.ranks.size())
      for (int32_t other : state.ranks)
        wake(other, WaitFor::Collective, action.stage);
  }
  if (state.numEntered < state.ranks.size()) {
    rank.waitFor = WaitFor::Collective;
    rank.id = action.stage;
    return false;
  }
  rank.clock = std::max(rank.clock, state.endNs);
  result.endNs[rank.position] = rank.clock;
  return true;
}

bool Execution::issue(int32_t r, RankState &rank) {
  Action action = actions[rank.position];
  switch (action.kind()) {
  case ActionKind::Send:
    return send(rank, action);
  case ActionKind::Recv:
    return receive(rank, action);
  case ActionKind::AllReduce:
    return allReduce(r, rank, action);
  case ActionKind::Step:
    result.startNs[rank.position] = result.endNs[rank.position] = rank.clock;
    return true;
  default:
    return task(rank, action);
  }
}

void Execution::run() {
  for (int32_t r = order.numRanks(); r-- > 0;)
    worklist.push_back(r);
  while (!worklist.empty()) {
    int32_t r = worklist.back();
    worklist.pop_back();
    RankState &rank = ranks[r];
    while (rank.position < rank.end && issue(r, rank))
      ++rank.position;
  }
}

void Execution::summarize() {
  result.complete =
      std::all_of(
          ranks.begin(), ranks.end(),
          [](const RankState &rank) { return rank.position == rank.end; }) &&
      std::all_of(channels.begin(), channels.end(), [](const Channel &channel) {
        return channel.carried == channel.sends.size() &&
               channel.carried == channel.receives.size();
      });
  if (!result.complete) {
    result.startNs.clear();
    result.endNs.clear();
    result.cycle = findCycle();
    return;
  }
  for (const RankState &rank : ranks)
    result.makespanNs = std::max(result.makespanNs, rank.clock);
}

/// The task of the receiver that reads a message, as its order lists it.
Action Execution::consumerOf(Action receive) const {
  const Edge &edge = problem.edges[receive.stage];
  Action consumer(edge.producer, edge.to, receive.index);
  if (edge.producer == ActionKind::Forward)
    return consumer;
  Action fused(ActionKind::Backward, edge.to, receive.index);
  ActionRange list = order.rank(problem.rankOf(edge.to));
  return std::find(list.begin(), list.end(), fused) == list.end() ? consumer
                                                                  : fused;
}

/// The task that will consume the first of a channel's posted receives that
/// has not been consumed; a default action where there is none.
Action Execution::nextConsumer(const Channel &channel) const {
  for (int64_t position : channel.receives) {
    Action receive = actions[position];
    const Edge &edge = problem.edges[receive.stage];
    uint8_t bit =
        edge.producer == ActionKind::Forward ? ForwardDone : InputGradDone;
    if (!(done[edge.to * microbatches + receive.index] & bit))
      return consumerOf(receive);
  }
  return Action();
}

/// What keeps the first message that a channel has not carried from going.
void Execution::needHead(const Channel &channel, Wait &wait) const {
  if (channel.carried >= channel.sends.size()) {
    wait.onRank = channel.from;
    wait.needs = wait.at;
    if (channel.carried >= channel.receives.size())
      return; // the ends of the channel name different messages
    // The n-th receive names what the n-th send will be.
    Action head = actions[channel.receives[channel.carried]];
    wait.needs = Action(ActionKind::Send, head.stage, head.index);
    return;
  }
  Action head = actions[channel.sends[channel.carried]];
  wait.onRank = channel.to;
  wait.needs = isEager && channel.receives.size() > channel.consumedNs.size()
                   ? nextConsumer(channel)
                   : Action(ActionKind::Recv, head.stage, head.index);
}

Wait Execution::waitOf(int32_t r) const {
  const RankState &rank = ranks[r];
  Wait wait;
  wait.rank = wait.onRank = r;
  wait.at = actions[rank.position];
  switch (rank.waitFor) {
  case WaitFor::Nothing:
    break;
  case WaitFor::OwnTask:
    wait.needs = rank.needed;
    break;
  case WaitFor::Message:
    needHead(channels[channelIds[rank.id / microbatches]], wait);
    break;
  case WaitFor::SendEnd:
    needHead(channels[channelIds[actions[rank.id].stage]], wait);
    break;
  case WaitFor::ReceiveSlot:
    wait.needs = nextConsumer(channels[rank.id]);
    break;
  case WaitFor::Collective: {
    const CollectiveState &state = collectives[rank.id];
    size_t absent =
        std::find(state.entered.begin(), state.entered.end(), false) -
        state.entered.begin();
    wait.needs = wait.at;
    wait.onRank = state.ranks[absent];
    break;
  }
  }
  return wait;
}

std::vector<Wait> Execution::findCycle() const {
  const int32_t numRanks = static_cast<int32_t>(ranks.size());
  auto isStuck = [&](int32_t r) { return ranks[r].position < ranks[r].end; };
  std::vector<int32_t> next(numRanks, -1);
  int32_t r = -1;
  for (int32_t k = numRanks; k-- > 0;) {
    if (!isStuck(k))
      continue;
    next[k] = waitOf(k).onRank;
    r = next[k] == k || r < 0 || next[r] != r ? k : r;
  }
  if (r < 0)
    return {};
  if (next[r] == r)
    return {waitOf(r)};
  // A rank that waits for one that is done ends the walk: then a message has
  // only one end, and the walk itself is the explanation.
  std::vector<int32_t> chain;
  std::vector<int32_t> placeInChain(numRanks, -1);
  while (isStuck(r) && placeInChain[r] < 0) {
    placeInChain[r] = static_cast<int32_t>(chain.size());
    chain.push_back(r);
    r = next[r];
  }
  std::vector<Wait> cycle;
  for (size_t i = std::max(placeInChain[r], 0); i < chain.size(); ++i)
    cycle.push_back(waitOf(chain[i]));
  return cycle;
}

} // namespace

ProgramSimulation rondo::simulateProgram(const Problem &problem,
                                         const Program &program) {
  ProgramSimulation result;
  if (program.order.numRanks() == 0)
    return result;
  Execution execution(problem, program, result);
  execution.run();
  execution.summarize();
  return result;
}
