//===- ProgramSimulator.cpp - Simulation of programs ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As in Simulator.cpp, every rank runs its order until an action has to wait.
// The arrival of a message, the end of a send or the end of a collective wakes
// the ranks that wait for it. Channels are in order and each rank's times never
// decrease, so the order of ranks on the worklist does not affect any time.
// Requests for NICs are served when all ranks wait (ProgramNics.cpp). With one
// queue per rank, ProgramQueues.cpp matches the heads of queues.
//
//===----------------------------------------------------------------------===//

#include "schedule/program/ProgramExecution.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::program_execution;

Execution::Execution(const Problem &problem, const Program &program,
                     int32_t resident, bool keepTimes,
                     ProgramSimulation &result)
    : problem(problem), program(program), order(program.order), result(result),
      actions(order.rank(0).begin()), microbatches(problem.microbatches),
      launches(problem, order, resident),
      isEager(problem.channels.protocol == Protocol::Eager &&
              !launches.areLimited()),
      isOneQueue(problem.channels.queues == Queues::PerRank),
      areRoundRobin(problem.replicas.areRoundRobin()),
      keepsTimes(keepTimes || launches.areLimited() || isOneQueue ||
                 program.order.hasCopies()),
      receiveSlots(problem.channels.receiveSlots), edges(problem),
      links(problem), buffers(problem), slots(program),
      groups(problem, program), worklist(order.numRanks()),
      done(problem.nothingDoneYet()),
      messages(problem.edges.size() * microbatches),
      meetsSends(slots.sharedWith(buffers.allSent())), lastSend(slots.count()) {
  if (keepsTimes) {
    result.startNs.assign(order.numActions(), 0);
    // A send or receive that never ends keeps notYet.
    result.endNs.assign(order.numActions(), notYet);
  }
  if (order.hasCopies())
    copies = CopyLanes(problem, order, laneWaitsOf(problem, program));
  ranks.resize(order.numRanks());
  queues.resize(isOneQueue ? order.numRanks() : 0);
  lanes.resize(order.numRanks());
  for (int32_t r = 0; r < order.numRanks(); ++r) {
    ranks[r].position = order.rankBegin(r);
    ranks[r].end = order.rankBegin(r + 1);
  }
  channels.resize(links.count());
  for (int32_t number = 0; number < links.count(); ++number) {
    Channel &channel = channels[number];
    channel.number = number;
    channel.from = links[number].from;
    channel.to = links[number].to;
    channel.link = links[number].link;
  }
  for (const Collective &collective : program.collectives) {
    CollectiveState state;
    for (int32_t replica : collective.replicas)
      state.ranks.push_back(problem.rankOf(replica));
    std::sort(state.ranks.begin(), state.ranks.end());
    state.ranks.erase(std::unique(state.ranks.begin(), state.ranks.end()),
                      state.ranks.end());
    if (collective.ns > 0)
      state.nics = nicsBetween(problem, state.ranks);
    collectives.push_back(std::move(state));
  }
  int64_t most = problem.iterations;
  for (Action action : order.all())
    if (action.traits().movesState())
      most = std::max(most, int64_t(action.index) + 1);
  for (int64_t t = 1; t < most; ++t)
    for (size_t c = 0; c < program.collectives.size(); ++c)
      collectives.push_back(collectives[c]);
}

void Execution::wake(int32_t r, WaitFor waitFor, int64_t id) {
  RankState &rank = ranks[r];
  if (rank.waitFor != waitFor || rank.id != id)
    return;
  rank.waitFor = WaitFor::Nothing;
  worklist.push(r);
}

/// Sends every message that is ready for the link, or requests its NICs.
void Execution::carry(Channel &channel) {
  const bool hasNics = network.crossesNics(channel.number);
  for (size_t n = hasNics ? network.asked(channel.number) : channel.carried;
       n < channel.sends.size(); ++n) {
    const IssuedEnds::End &send = channel.sends[n];
    int64_t readyNs = send.ns;
    if (!isEager) {
      if (n >= channel.receives.size())
        return;
      const IssuedEnds::End &receive = channel.receives[n];
      readyNs = std::max(readyNs, receive.ns);
      if (!mayMeet(send.position, receive.position, readyNs))
        return;
    } else if (receiveSlots > 0 && n >= receiveSlots) {
      if (n - receiveSlots >= channel.consumedNs.size())
        return;
      readyNs = std::max(readyNs, channel.consumedNs[n - receiveSlots]);
    }
    if (hasNics)
      network.ask(channel.number, readyNs, channel.number);
    else
      deliver(channel, readyNs);
  }
  if (receiveSlots == 0 && channel.carried == channel.sends.size() &&
      channel.carried == channel.receives.size()) {
    channel.sends.forget();
    channel.receives.forget();
  }
}

/// Carries a channel's next message as soon as its link and NICs are free,
/// `readyNs` at the earliest. Returns when it arrives.
int64_t Execution::deliver(Channel &channel, int64_t readyNs) {
  const size_t n = channel.carried++;
  const IssuedEnds::End &send = channel.sends[n];
  const int64_t occupancyNs =
      channel.link.occupancyNs(problem.edges[send.action.subject].bytes);
  const int64_t arrival = network.carry(channel.number, readyNs, occupancyNs) +
                          channel.link.latencyNs;
  const int64_t message = messageOf(send.action);
  messages[message].arrivalNs = arrival;
  setEnd(send.position, arrival);
  wake(channel.from, WaitFor::SendEnd, message);
  if (launches.areLimited())
    endLaunch(channel.from, send.position);
  if (n < channel.receives.size()) {
    const IssuedEnds::End &receive = channel.receives[n];
    setEnd(receive.position, std::max(arrival, receive.ns));
    if (launches.areLimited())
      endLaunch(channel.to, receive.position);
  }
  wake(channel.to, WaitFor::Message, message);
  return arrival;
}

bool Execution::needOwn(RankState &rank, Action needed) {
  rank.waitFor = WaitFor::OwnTask;
  rank.needed = needed;
  return false;
}

/// Takes a buffer's slot. False if a send that reads the slot has not ended;
/// otherwise raises `start` to the end of such sends.
bool Execution::take(RankState &rank, int32_t buffer, int64_t index,
                     int64_t &start) {
  if (meetsSends.empty() || !meetsSends[buffer])
    return true;
  int64_t slot = slots.of(buffer, index);
  if (slot < 0)
    return true;
  for (Action send = lastSend[slot]; send.kind() == ActionKind::Send;) {
    const int64_t message = messageOf(send);
    // A send ends when its message arrives.
    const int64_t end = messages[message].arrivalNs;
    if (end == notYet) {
      rank.waitFor = WaitFor::SendEnd;
      rank.id = message;
      return false;
    }
    start = std::max(start, end);
    if (sendBefore.empty())
      break;
    auto before = sendBefore.find(message);
    send = before == sendBefore.end() ? Action() : before->second;
  }
  return true;
}

bool Execution::task(RankState &rank, Action action) {
  const int32_t replica = action.subject;
  const ActionKind kind = action.kind();
  const ActionTraits &traits = action.traits();
  Done &own = done[replica * microbatches + action.index];
  int64_t start = rank.clock;
  if (const Done absent = problem.neededFor(replica, kind) & ~own)
    return needOwn(rank, Action(kindThatMakes(absent), replica, action.index));
  for (int32_t e : edges.inputs(replica, kind)) {
    if (!carries(e, action.index))
      continue;
    if (!crossesRanks(e)) {
      const Edge &edge = problem.edges[e];
      if (!(done[edge.from * microbatches + action.index] &
            traitsOf(edge.message()).made))
        return needOwn(rank, Action(edge.producer, edge.from, action.index));
      continue;
    }
    int64_t message = e * microbatches + action.index;
    const MessageState &state = messages[message];
    if (!state.isReceived)
      return needOwn(rank, Action(ActionKind::Recv, e, action.index));
    if (state.arrivalNs == notYet) {
      rank.waitFor = WaitFor::Message;
      rank.id = message;
      return false;
    }
    start = std::max<int64_t>(start, state.arrivalNs);
  }
  if (!copies.isEmpty() && !awaitLanes(rank, start))
    return false;
  auto takeOne = [&](int32_t buffer) {
    return take(rank, buffer, action.index, start);
  };
  if (!meetsSends.empty() &&
      !buffers.forEachTaken(edges, replica, action, takeOne))
    return false;

  rank.clock = start + problem.cost(replica, kind).ns;
  setStart(rank.position, start);
  setEnd(rank.position, rank.clock);
  own |= traits.makes;
  if (receiveSlots == 0)
    return true;
  for (int32_t e : edges.inputs(replica, kind))
    if (crossesRanks(e) && carries(e, action.index)) {
      Channel &channel = channels[links.ofEdge(e)];
      channel.consumedNs.push_back(rank.clock);
      advance(channel);
    }
  return true;
}

bool Execution::awaitLanes(RankState &rank, int64_t &start) {
  const int64_t ns = copies.awaitedNs(rank.position, result.endNs);
  if (ns == CopyLanes::notEnded) {
    rank.waitFor = WaitFor::Copy;
    rank.id = 0;
    rank.needed = actions[copies.findAwaited(rank.position, result.endNs)];
    return false;
  }
  start = std::max(start, ns);
  return true;
}

/// Runs the copies of a rank that can begin. The host does not issue copies at
/// their places: each lane has its list from the start.
void Execution::runCopies(int32_t r) {
  copies.run(r, result.startNs, result.endNs, afterCopies);
  wakeAfterCopies();
}

void Execution::wakeAfterCopies() {
  for (int32_t rank : afterCopies)
    wake(rank, WaitFor::Copy, 0);
  afterCopies.clear();
}

bool Execution::send(RankState &rank, Action action) {
  const Edge &edge = problem.edges[action.subject];
  if (!(done[edge.from * microbatches + action.index] &
        traitsOf(edge.message()).made))
    return needOwn(rank, Action(edge.producer, edge.from, action.index));
  setStart(rank.position, rank.clock);
  int64_t slot = slots.of(buffers.sent(action.subject), action.index);
  if (slot >= 0) {
    // Another edge can send the same output.
    if (const Action before = lastSend[slot];
        before.kind() == ActionKind::Send && before.index == action.index &&
        buffers.sent(before.subject) == buffers.sent(action.subject))
      sendBefore[messageOf(action)] = before;
    lastSend[slot] = action;
  }
  Channel &channel = channelOf(action);
  launch(channel.from, rank.position);
  channel.sends.push({rank.position, action, rank.clock});
  if (isOneQueue)
    queues[channel.from].issued.push_back(rank.position);
  advance(channel);
  return true;
}

bool Execution::receive(RankState &rank, Action action) {
  Channel &channel = channelOf(action);
  if (receiveSlots > 0 &&
      channel.receives.size() - channel.consumedNs.size() >= receiveSlots) {
    rank.waitFor = WaitFor::ReceiveSlot;
    rank.id = channel.number;
    return false;
  }
  // Without places, no receive waits for its buffer to be freed, so the queue
  // runs ahead of the tasks.
  const bool runsAhead = isOneQueue && slots.count() == 0;
  int64_t start = runsAhead ? 0 : rank.clock;
  if (!take(rank, buffers.received(action.subject), action.index, start))
    return false;
  rank.clock = std::max(rank.clock, start);
  int64_t message = messageOf(action);
  MessageState &state = messages[message];
  state.isReceived = 1;
  setStart(rank.position, start);
  if (state.arrivalNs != notYet)
    setEnd(rank.position, std::max<int64_t>(start, state.arrivalNs));
  launch(channel.to, rank.position);
  channel.receives.push({rank.position, action, start});
  if (isOneQueue)
    queues[channel.to].issued.push_back(rank.position);
  advance(channel);
  return true;
}

bool Execution::step(RankState &rank, Action action) {
  setStart(rank.position, rank.clock);
  rank.clock += problem.cost(action.subject, ActionKind::Step).ns;
  setEnd(rank.position, rank.clock);
  return true;
}

bool Execution::issue(int32_t r, RankState &rank) {
  Action action = actions[rank.position];
  if (!copies.isEmpty() && action.traits().movesState() &&
      !awaitLanes(rank, rank.clock))
    return false;
  switch (action.kind()) {
  case ActionKind::Send:
    return send(rank, action);
  case ActionKind::Recv:
    return receive(rank, action);
  case ActionKind::Unshard:
  case ActionKind::ReduceGrad:
    if (problem.isGroupLocal(action.subject))
      return atOnce(rank);
    return collective(r, rank, action);
  case ActionKind::Reshard:
    return atOnce(rank);
  case ActionKind::AllReduce:
    return collective(r, rank, action);
  case ActionKind::Await:
    return await(r, rank, action);
  case ActionKind::Step:
    return step(rank, action);
  case ActionKind::Save:
  case ActionKind::Load:
    return true; // on a lane of its own
  default:
    return task(rank, action);
  }
}

void Execution::run() {
  for (int32_t r = order.numRanks(); r-- > 0;)
    worklist.push(r);
  while (!worklist.isEmpty() || beginFreed() || grantNext()) {
    if (worklist.isEmpty())
      continue;
    const int32_t r = worklist.pop();
    RankState &rank = ranks[r];
    while (rank.position < rank.end && issue(r, rank))
      ++rank.position;
    if (!copies.isEmpty())
      runCopies(r);
  }
}

void Execution::summarize() {
  result.complete =
      std::all_of(
          ranks.begin(), ranks.end(),
          [](const RankState &rank) { return rank.position == rank.end; }) &&
      std::all_of(lanes.begin(), lanes.end(),
                  [](const CollectiveLane &lane) { return lane.isEmpty(); }) &&
      copies.areDone() &&
      std::all_of(channels.begin(), channels.end(), [](const Channel &channel) {
        return channel.carried == channel.sends.size() &&
               channel.carried == channel.receives.size();
      });
  if (!result.complete) {
    result.cycle = launches.areLimited() ? findCycleOfLaunches() : findCycle();
    result.startNs.clear();
    result.endNs.clear();
    return;
  }
  for (const RankState &rank : ranks)
    result.makespanNs = std::max(result.makespanNs, rank.clock);
  for (const CollectiveLane &lane : lanes)
    result.makespanNs = std::max(result.makespanNs, lane.freeNs);
  for (int32_t r = 0; !copies.isEmpty() && r < order.numRanks(); ++r)
    for (int lane = 0; lane < CopyLanes::numLanes; ++lane)
      result.makespanNs = std::max(result.makespanNs, copies.freeNs(r, lane));
}

ProgramSimulation rondo::simulateProgram(const Problem &problem,
                                         const Program &program) {
  return simulateProgram(problem, program, program.resident);
}

ProgramSimulation rondo::simulateProgram(const Problem &problem,
                                         const Program &program,
                                         int32_t resident, bool keepTimes) {
  ProgramSimulation result;
  if (program.order.numRanks() == 0)
    return result;
  Execution execution(problem, program, resident, keepTimes, result);
  execution.run();
  execution.summarize();
  return result;
}
