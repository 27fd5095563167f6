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

int32_t Execution::linkOf(int32_t from, int32_t to) {
  if (from == to)
    return -1;
  auto [it, isNew] =
      linkIds.insert({{from, to}, static_cast<int32_t>(links.size())});
  if (isNew) {
    LinkState &link = links.emplace_back();
    link.sides = problem.nics.between(from, to);
    link.isPlain = !link.sides.any();
    link.number = int64_t(from) * problem.numRanks() + to;
  }
  return it->second;
}

void Execution::makeWorks() {
  outputOfEdge.resize(problem.edges.size());
  works.resize(problem.numReplicas() * numWorkKinds);
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
    for (const ActionTraits &traits : actionTable.rows) {
      if (!traits.hasCost())
        continue;
      Work &work = works[replica * numWorkKinds + workNumber(traits.kind)];
      const Cost &cost = problem.cost(replica, traits.kind);
      work = {cost.ns, cost.acquireBytes, cost.releaseBytes, cost.lane};
      if (cost.lane != Lane::Compute)
        otherClocks.resize(schedule.numRanks());
      work.makes = traits.makes;
      work.needs =
          traits.needsOfAll ? allDone : problem.neededFor(replica, traits.kind);
      work.inputBegin = static_cast<int32_t>(inputs.size());
      for (int32_t e : edges.inputs(replica, traits.kind))
        inputs.push_back(e * microbatches);
      work.inputEnd = static_cast<int32_t>(inputs.size());
      work.outputBegin = static_cast<int32_t>(outputs.size());
      for (int32_t e : edges.outputs(replica, traits.kind)) {
        int32_t from = problem.rankOf(replica);
        int32_t to = problem.rankOf(problem.edges[e].to);
        const Link link = problem.linkBetween(from, to);
        outputOfEdge[e] = static_cast<int32_t>(outputs.size());
        outputs.push_back({e * microbatches,
                           link.occupancyNs(problem.edges[e].bytes),
                           link.latencyNs, linkOf(from, to), to});
      }
      work.outputEnd = static_cast<int32_t>(outputs.size());
    }
  }
}

void Execution::orderLinks() {
  for (const auto &[pair, actions] : schedule.linkOrders) {
    auto it = linkIds.find(pair);
    if (it == linkIds.end())
      continue; // no message: the order is empty
    LinkState &link = links[it->second];
    link.isOrdered = true;
    link.isPlain = false;
    for (Action action : actions)
      for (int32_t e : edges.outputs(action.subject, action.kind()))
        if (problem.rankOf(problem.edges[e].to) == pair.second &&
            problem.carries(problem.edges[e], action.index))
          link.order.push_back(e * microbatches + action.index);
  }
}

inline void Execution::carry(LinkState &link, const Output &output,
                             int64_t message, int64_t readyNs) {
  link.freeNs =
      std::max(readyNs, link.freeNs) + (counts.empty() || counts[message] == 1
                                            ? output.occupancyNs
                                            : occupancyOf(output, message));
  arrival[message] = link.freeNs + output.latencyNs;
  wake(output.toRank, message);
  for (int64_t i = 1; !counts.empty() && i < counts[message]; ++i) {
    arrival[message + i] = arrival[message];
    wake(output.toRank, message + i);
  }
}

/// Occupancy in ns of a message that serves several micro-batches.
int64_t Execution::occupancyOf(const Output &output, int64_t message) const {
  if (problem.countsOnce)
    return output.occupancyNs;
  const Edge &edge = problem.edges[message / microbatches];
  return problem.linkBetween(problem.rankOf(edge.from), problem.rankOf(edge.to))
      .occupancyNs(edge.bytes * counts[message]);
}

/// Requests the NICs that a link's next message crosses.
void Execution::ask(LinkState &link, int64_t message, int64_t readyNs) {
  link.turnNs = std::max(link.turnNs, readyNs);
  nics.ask({link.turnNs, link.number, link.asked++, message});
}

/// Sends the first message that has requested NICs; false if there is none.
bool Execution::carryNext() {
  if (nics.isEmpty())
    return false;
  const NicQueue::Request request = nics.next();
  const Output &output = outputs[outputOfEdge[request.what / microbatches]];
  LinkState &link = links[output.link];
  carry(link, output, request.what, nics.freeNs(link.sides, request.readyNs));
  nics.hold(link.sides, link.freeNs);
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
    return;
  }
  LinkState &link = links[output.link];
  if (link.isPlain) {
    carry(link, output, message, readyNs);
    return;
  }
  arrival[message] = -2 - readyNs;
  if (!link.isOrdered) {
    ask(link, message, readyNs);
    return;
  }
  for (; link.next < link.order.size(); ++link.next) {
    int64_t head = link.order[link.next];
    if (arrival[head] == notMade)
      return;
    if (link.sides.any())
      ask(link, head, -2 - arrival[head]);
    else
      carry(link, outputs[outputOfEdge[head / microbatches]], head,
            -2 - arrival[head]);
  }
}

void Execution::run(Simulation &result, bool keepTimes) {
  if (keepTimes) {
    result.startNs.resize(schedule.numActions());
    result.endNs.resize(schedule.numActions());
  }
  const bool isPlain = otherClocks.empty() && !isRoundRobin && !isSharded &&
                       !schedule.hasCounts();
  if (!isPlain)
    otherClocks.resize(schedule.numRanks());
  if (isPlain)
    keepTimes ? runLanes<true, true>(result) : runLanes<false, true>(result);
  else
    keepTimes ? runLanes<true, false>(result) : runLanes<false, false>(result);
  if (keepTimes)
    result.arrivalNs = arrival;
}

template <bool keepTimes, bool isPlain>
void Execution::runLanes(Simulation &result) {
  // A stack: the last rank is pushed first, so that rank 0 starts.
  for (int32_t r = schedule.numRanks(); r-- > 0;)
    worklist.push_back(r);
  const Action *actions = schedule.rank(0).begin();
  while (!worklist.empty() || carryNext()) {
    if (worklist.empty())
      continue;
    int32_t r = worklist.back();
    worklist.pop_back();
    RankState rank = ranks[r];
    const int64_t first = schedule.rankBegin(r);
    for (; rank.position < rank.end; ++rank.position) {
      Action action = actions[rank.position];
      if (!isPlain && action.traits().movesState()) {
        if (rank.position == first)
          rank.firstStart = rank.clock;
        move(r, rank, action, result);
        continue;
      }
      const Work &work =
          works[action.subject * numWorkKinds + workNumber(action.kind())];
      const int64_t key = action.subject * microbatches + action.index;
      const int64_t count = isPlain ? 1 : int64_t(action.count);
      for (int64_t i = 0; i < count; ++i)
        if ((done[key + i] & work.needs) != work.needs)
          rank.blocked = blockedByOwnTask;
      if (!isPlain && isSharded && stateNs(action) == notMade)
        rank.blocked = blockedByState;
      if (rank.blocked != notBlocked)
        break;
      const bool isCompute = isPlain || work.lane == Lane::Compute;
      const int lane = static_cast<int>(work.lane);
      int64_t start = rank.clock;
      if (!isCompute)
        start = std::max(start, otherClocks[r][lane]);
      if (!isPlain && isSharded)
        start = std::max(start, stateNs(action));
      for (int32_t i = work.inputBegin; i < work.inputEnd; ++i) {
        const int64_t message = inputs[i] + action.index;
        for (int64_t each = message; each < message + count; ++each) {
          if (arrival[each] < 0) {
            rank.blocked = each;
            break;
          }
          start = std::max(start, arrival[each]);
        }
        if (rank.blocked != notBlocked)
          break;
      }
      if (rank.blocked != notBlocked)
        break;
      if (rank.position == first)
        rank.firstStart = start;
      const int64_t ns =
          isPlain || problem.countsOnce ? work.ns : work.ns * count;
      const int64_t end = start + ns;
      if (isCompute)
        rank.clock = end;
      else
        otherClocks[r][lane] = end;
      rank.work += ns;
      rank.held += work.acquireBytes * count;
      if (!isPlain && isSharded)
        rank.held += unreduced.takenBy(action);
      rank.peak = std::max(rank.peak, rank.held);
      rank.held -= work.releaseBytes * count;
      for (int64_t i = 0; i < count; ++i)
        done[key + i] |= work.makes;
      if (keepTimes) {
        result.startNs[rank.position] = start;
        result.endNs[rank.position] = end;
      }
      for (int32_t i = work.outputBegin; i < work.outputEnd; ++i)
        send<isPlain>(outputs[i], action, end);
    }
    // Outside the loop, where the call would slow it down.
    if (rank.blocked == blockedByOwnTask &&
        firstBlocking(actions[rank.position]) < 0) {
      const Action action = actions[rank.position];
      done[action.subject * microbatches + action.index] |= allDone;
      rank.blocked = notBlocked;
      worklist.push_back(r);
    }
    ranks[r] = rank;
  }
}

void Execution::summarize(Simulation &result) const {
  result.complete =
      std::all_of(ranks.begin(), ranks.end(), [](const RankState &rank) {
        return rank.position == rank.end;
      });
  if (!result.complete) {
    result.startNs.clear();
    result.endNs.clear();
    result.cycle = findCycle();
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
}

Simulation rondo::simulate(const Problem &problem, const Schedule &schedule,
                           bool keepTimes) {
  Simulation result;
  if (schedule.numRanks() == 0)
    return result;
  Execution execution(problem, schedule);
  execution.run(result, keepTimes);
  execution.summarize(result);
  return result;
}
