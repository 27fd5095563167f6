//===- Simulator.cpp - Time and memory of schedules -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every rank runs its order until an action needs a message that has not
// arrived. An arriving message wakes the rank that waits for it. All messages
// of a directed link come from one rank, which ends its actions in order, so
// the order of ranks on the worklist does not affect any time. Links of several
// ranks share NICs: a message that needs NICs waits until all ranks are
// blocked, and is then sent if no other message was ready before it.
//===----------------------------------------------------------------------===//

#include "schedule/simulate/Simulator.h"

#include "schedule/simulate/ScheduleExecution.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::schedule_execution;

void Execution::makeRanks() {
  ranks.resize(schedule.numRanks());
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    ranks[r].position = schedule.rankBegin(r);
    ranks[r].end = schedule.rankBegin(r + 1);
  }
}

void Execution::makeWorks() {
  outputOfEdge.resize(problem.edges.size());
  works.resize(problem.numReplicas() * numWorkKinds);
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
    for (int kind = 0; kind < numActionKinds; ++kind) {
      const ActionTraits &traits = traitsOf(static_cast<ActionKind>(kind));
      if (!traits.hasCost() || traits.isCopy())
        continue;
      Work &work = works[replica * numWorkKinds + workNumber(traits.kind)];
      const Cost &cost = problem.cost(replica, traits.kind);
      work = {cost.ns, cost.acquireBytes, cost.releaseBytes, cost.lane};
      if (cost.lane != Lane::Compute)
        otherClocks.resize(schedule.numRanks());
      work.makes = traits.makes;
      work.needs =
          traits.needsOfAll ? allDone : problem.neededFor(replica, traits.kind);
      // Consumers await their LOAD: CopyLanes.
      work.needs &= static_cast<Done>(~loadDone);
      work.inputBegin = static_cast<int32_t>(inputs.size());
      for (int32_t e : edges.inputs(replica, traits.kind))
        inputs.push_back(e * microbatches);
      work.inputEnd = static_cast<int32_t>(inputs.size());
      work.outputBegin = static_cast<int32_t>(outputs.size());
      for (int32_t e : edges.outputs(replica, traits.kind)) {
        const Edge &edge = problem.edges[e];
        const int32_t number = links.ofEdge(e);
        const Link link = number < 0 ? Link() : links[number].link;
        outputOfEdge[e] = static_cast<int32_t>(outputs.size());
        outputs.push_back({e * microbatches, link.occupancyNs(edge.bytes),
                           link.latencyNs, number, problem.rankOf(edge.to)});
      }
      work.outputEnd = static_cast<int32_t>(outputs.size());
    }
  }
}

void Execution::orderLinks() {
  if (schedule.linkOrders.empty())
    return;
  linkOrders.resize(links.count());
  for (int32_t number = 0; number < links.count(); ++number) {
    const LinkTable::Row &link = links[number];
    const auto given = schedule.linkOrders.find({link.from, link.to});
    if (given == schedule.linkOrders.end())
      continue;
    LinkOrder &order = linkOrders[number];
    order.isGiven = true;
    for (Action action : given->second)
      for (int32_t e : edges.outputs(action.subject, action.kind()))
        if (links.ofEdge(e) == number &&
            problem.carries(problem.edges[e], action.index))
          order.messages.push_back(e * microbatches + action.index);
  }
}

template <bool isPlain>
void Execution::carry(const Output &output, int64_t message, int64_t readyNs) {
  const int64_t count = isPlain || counts.empty() ? 1 : counts[message];
  const int64_t sentNs =
      network.carry(output.link, readyNs,
                    isPlain || (count == 1 && !isUneven)
                        ? output.occupancyNs
                        : occupancyOf(output, message, count));
  for (int64_t i = message; i < message + count; ++i) {
    arrival[i] = sentNs + output.latencyNs;
    wake(output.toRank, i);
  }
}

/// Occupancy in ns of a message that serves `count` micro-batches, or that has
/// bytes of its own.
int64_t Execution::occupancyOf(const Output &output, int64_t message,
                               int64_t count) const {
  if (problem.countsOnce)
    return output.occupancyNs;
  return links[output.link].link.occupancyNs(
      problem.bytesOf(message / microbatches, message % microbatches, count));
}

/// Sends the first message that has requested NICs, or begins the copy that has
/// requested a shared host link, whichever was ready first; false if there is
/// none.
bool Execution::carryNext(Simulation &result) {
  if (copies.hasRequests() &&
      (!network.hasRequests() ||
       copies.firstRequestNs() <= network.first().readyNs)) {
    grantHostLink(result);
    return true;
  }
  if (!network.hasRequests())
    return false;
  const Network::Request request = network.next();
  carry<false>(outputOf(request.what), request.what, request.readyNs);
  return true;
}

template <bool isPlain>
void Execution::send(const Output &output, Action action, int64_t readyNs) {
  int64_t message = output.message + int64_t(action.index);
  if (!isPlain && arrival[message] != notMade)
    return; // nothing to send
  if (!isPlain && !counts.empty())
    counts[message] = static_cast<uint8_t>(action.count);
  if (output.link < 0) {
    arrival[message] = readyNs;
    for (int64_t i = 1; !isPlain && i < int64_t(action.count); ++i)
      arrival[message + i] = readyNs;
  } else if (!linkOrders.empty() && linkOrders[output.link].isGiven) {
    arrival[message] = -2 - readyNs;
    sendInOrder(linkOrders[output.link]);
  } else if (network.crossesNics(output.link)) {
    network.ask(output.link, readyNs, message);
  } else {
    carry<isPlain>(output, message, readyNs);
  }
}

/// Sends the messages of a link order that have been produced, up to the first
/// one that has not.
void Execution::sendInOrder(LinkOrder &order) {
  for (; order.next < order.messages.size(); ++order.next) {
    const int64_t head = order.messages[order.next];
    if (arrival[head] == notMade)
      return;
    const Output &output = outputOf(head);
    const int64_t readyNs = -2 - arrival[head];
    if (network.crossesNics(output.link))
      network.ask(output.link, readyNs, head);
    else
      carry<false>(output, head, readyNs);
  }
}

void Execution::run(Simulation &result, bool keepTimes) {
  keepTimes |= hasCopies;
  if (keepTimes) {
    result.startNs.resize(schedule.numActions(), notMade);
    result.endNs.resize(schedule.numActions(), notMade);
  }
  const bool isPlain = otherClocks.empty() && !isRoundRobin && !isSharded &&
                       !isUneven && !hasCopies && !schedule.hasCounts();
  if (!isPlain)
    otherClocks.resize(schedule.numRanks());
  if (isPlain)
    keepTimes ? runLanes<true, true>(result) : runLanes<false, true>(result);
  else
    keepTimes ? runLanes<true, false>(result) : runLanes<false, false>(result);
  if (keepTimes)
    result.arrivalNs = arrival;
}

/// When the action at a rank's position can start. If it cannot, sets what
/// blocks it.
template <bool isPlain>
int64_t Execution::startOf(int32_t r, RankState &rank, Action action,
                           const Work &work, const Simulation &result) const {
  const int64_t key = action.subject * microbatches + action.index;
  const int64_t count = isPlain ? 1 : int64_t(action.count);
  for (int64_t i = 0; i < count; ++i)
    if ((done[key + i] & work.needs) != work.needs)
      rank.blocked = blockedByOwnTask;
  if (!isPlain && isSharded && stateNs(action) == notMade)
    rank.blocked = blockedByState;
  const int64_t awaited =
      !isPlain && hasCopies ? copies.awaitedNs(rank.position, result.endNs) : 0;
  if (awaited == notMade && rank.blocked == notBlocked)
    rank.blocked = blockedByCopy;
  if (rank.blocked != notBlocked)
    return 0;
  int64_t start = isPlain ? rank.clock : std::max(rank.clock, awaited);
  if (!isPlain && work.lane != Lane::Compute)
    start = std::max(start, otherClocks[r][static_cast<int>(work.lane)]);
  if (!isPlain && isSharded)
    start = std::max(start, stateNs(action));
  for (int32_t i = work.inputBegin; i < work.inputEnd; ++i) {
    const int64_t message = inputs[i] + action.index;
    for (int64_t each = message; each < message + count; ++each) {
      if (arrival[each] < 0) {
        rank.blocked = each;
        return 0;
      }
      start = std::max(start, arrival[each]);
    }
  }
  return start;
}

/// Runs an action that starts at `start` on its lane; returns its end.
template <bool isPlain>
int64_t Execution::finish(int32_t r, RankState &rank, Action action,
                          const Work &work, int64_t start) {
  const int64_t count = isPlain ? 1 : int64_t(action.count);
  const Cost cost =
      isPlain ? Cost{work.ns, work.acquireBytes, work.releaseBytes, work.lane}
              : problem.costOf(action);
  const int64_t ns = cost.ns;
  const int64_t end = start + ns;
  if (isPlain || work.lane == Lane::Compute)
    rank.clock = end;
  else
    otherClocks[r][static_cast<int>(work.lane)] = end;
  rank.work += ns;
  if (!isPlain && isSharded)
    rank.held += unreduced.takenBy(action);
  rank.use(cost.acquireBytes, cost.releaseBytes);
  Done *own = &done[action.subject * microbatches + action.index];
  for (int64_t i = 0; i < count; ++i)
    own[i] |= work.makes;
  return end;
}

/// Runs a rank up to the first action that has to wait.
template <bool keepTimes, bool isPlain>
void Execution::runRank(int32_t r, Simulation &result) {
  RankState rank = ranks[r];
  const Action *actions = schedule.all().begin();
  const int64_t first = schedule.rankBegin(r);
  for (; rank.position < rank.end; ++rank.position) {
    const Action action = actions[rank.position];
    if (!isPlain && isCopy(action.kind()))
      continue; // on a lane of its own
    if (!isPlain && action.traits().movesState()) {
      const int64_t awaited =
          hasCopies ? copies.awaitedNs(rank.position, result.endNs) : 0;
      if (awaited == notMade) {
        rank.blocked = blockedByCopy;
        break;
      }
      rank.clock = std::max(rank.clock, awaited);
      if (rank.position == first)
        rank.firstStart = rank.clock;
      move(r, rank, action, result);
      continue;
    }
    const Work &work =
        works[action.subject * numWorkKinds + workNumber(action.kind())];
    const int64_t start = startOf<isPlain>(r, rank, action, work, result);
    if (rank.blocked != notBlocked)
      break;
    if (rank.position == first)
      rank.firstStart = start;
    const int64_t end = finish<isPlain>(r, rank, action, work, start);
    if (keepTimes) {
      result.startNs[rank.position] = start;
      result.endNs[rank.position] = end;
    }
    for (int32_t i = work.outputBegin; i < work.outputEnd; ++i)
      send<isPlain>(outputs[i], action, end);
  }
  // A call in the loop would slow it down.
  if (rank.blocked == blockedByOwnTask &&
      firstBlocking(actions[rank.position]) < 0) {
    const Action action = actions[rank.position];
    done[action.subject * microbatches + action.index] |= allDone;
    rank.blocked = notBlocked;
    worklist.push_back(r);
  }
  ranks[r] = rank;
  if (!isPlain && hasCopies)
    runCopies(r, result);
}

template <bool keepTimes, bool isPlain>
void Execution::runLanes(Simulation &result) {
  // A stack: the last rank is pushed first, so that rank 0 starts.
  for (int32_t r = schedule.numRanks(); r-- > 0;)
    worklist.push_back(r);
  while (!worklist.empty() || carryNext(result)) {
    if (worklist.empty())
      continue;
    const int32_t r = worklist.back();
    worklist.pop_back();
    runRank<keepTimes, isPlain>(r, result);
  }
}

void Execution::summarize(Simulation &result, bool keepTimes) const {
  result.complete =
      std::all_of(ranks.begin(), ranks.end(), [](const RankState &rank) {
        return rank.position == rank.end;
      });
  result.complete = result.complete && copies.areDone();
  if (!result.complete) {
    result.cycle = hasCopies ? findCopyCycle(result) : findCycle();
    result.startNs.clear();
    result.endNs.clear();
    return;
  }
  int64_t busiest = 0;
  for (size_t r = 0; r < ranks.size(); ++r) {
    const RankState &rank = ranks[r];
    int64_t end = rank.clock;
    if (!otherClocks.empty())
      for (int64_t clock : otherClocks[r])
        end = std::max(end, clock);
    result.makespanNs = std::max(result.makespanNs, end);
    result.spanNs = std::max(result.spanNs, end - rank.firstStart);
    busiest = std::max(busiest, rank.work);
    result.rankStartNs.push_back(rank.firstStart);
    result.rankEndNs.push_back(end);
    result.rankWorkNs.push_back(rank.work);
    result.peakBytes.push_back(rank.peak);
  }
  if (result.makespanNs > 0)
    result.bubble = 1 - double(busiest) / double(result.makespanNs);
  if (hasCopies)
    summarizeCopies(result);
  if (!keepTimes) {
    result.startNs.clear();
    result.endNs.clear();
  }
}

Simulation rondo::simulate(const Problem &problem, const Schedule &schedule,
                           bool keepTimes) {
  Simulation result;
  if (schedule.numRanks() == 0)
    return result;
  Execution execution(problem, schedule);
  execution.run(result, keepTimes);
  execution.summarize(result, keepTimes);
  return result;
}
