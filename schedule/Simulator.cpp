//===- Simulator.cpp - The one oracle of time and memory --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every rank runs its list until an action needs a message that has not
// arrived. A message that arrives wakes the rank that waits for it. All
// messages of a directed link come from one rank, which ends its actions in
// list order, so the order of ranks on the worklist does not change any time.
//
//===----------------------------------------------------------------------===//

#include "schedule/Simulator.h"

#include "schedule/EdgeTable.h"
#include "schedule/Waits.h"

#include <algorithm>
#include <array>

using namespace rondo;

namespace {

/// A kind of task or the step of a home, with all that running it needs.
struct Work {
  int64_t ns = 0, acquireBytes = 0, releaseBytes = 0;
  Lane lane = Lane::Compute;
  /// Into Execution::inputs and Execution::outputs.
  int32_t inputBegin = 0, inputEnd = 0, outputBegin = 0, outputEnd = 0;
  Done needs = nothingDone, makes = nothingDone;
};

struct Output {
  /// Index of the message of micro-batch 0.
  int64_t message = 0;
  int64_t occupancyNs = 0, latencyNs = 0;
  /// -1: hand-over on the same rank.
  int32_t link = -1;
  int32_t toRank = 0;
};

struct LinkState {
  int64_t freeNs = 0;
  /// Messages by the schedule's order; empty where they go as they get ready.
  std::vector<int64_t> order;
  size_t next = 0;
  bool isOrdered = false;
};

/// Set once what an action needs of all micro-batches is done.
constexpr Done allDone = 0x80;

/// Values of RankState::blocked that are no message.
constexpr int64_t notBlocked = -1, blockedByOwnTask = -2;
/// Values of `arrival` below 0: not made, or made at -2 - value and held back
/// by a link order.
constexpr int64_t notMade = -1;

struct RankState {
  int64_t position = 0, end = 0;
  /// `clock`: when the compute lane is free again.
  int64_t clock = 0, firstStart = 0, work = 0;
  int64_t held = 0, peak = 0;
  /// The message that the action at `position` waits for.
  int64_t blocked = notBlocked;
};

class Execution {
public:
  Execution(const Problem &problem, const Schedule &schedule)
      : problem(problem), schedule(schedule), edges(problem),
        microbatches(problem.microbatches), isDealt(problem.homes.areDealt()) {
    makeRanks();
    makeWorks();
    orderLinks();
    done = problem.nothingDoneYet();
    arrival.assign(problem.edges.size() * microbatches, notMade);
    for (size_t e = 0; isDealt && e < problem.edges.size(); ++e)
      for (int64_t i = 0; i < microbatches; ++i)
        if (!problem.carries(problem.edges[e], i))
          arrival[e * microbatches + i] = 0;
  }

  void run(Simulation &result, bool keepTimes);
  void summarize(Simulation &result) const;
  std::vector<Wait> findCycle() const;

private:
  void makeRanks();
  void makeWorks();
  void orderLinks();
  int32_t linkOf(int32_t from, int32_t to);

  template <bool keepTimes, bool hasOtherLanes> void runLanes(Simulation &);
  void send(const Output &output, int64_t microbatch, int64_t readyNs);
  void carry(LinkState &link, const Output &output, int64_t message,
             int64_t readyNs);
  void wake(int32_t rank, int64_t message) {
    if (ranks[rank].blocked != message)
      return;
    ranks[rank].blocked = notBlocked;
    worklist.push_back(rank);
  }
  int64_t firstBlocking(Action action) const {
    return rondo::firstBlocking(action, &done[action.subject * microbatches],
                                microbatches);
  }
  Wait waitOf(int32_t rank) const;
  Action producerOf(int64_t message) const;

  const Problem &problem;
  const Schedule &schedule;
  EdgeTable edges;
  const int64_t microbatches;
  /// Some edges have messages of some micro-batches only. The others count as
  /// arrived at 0.
  const bool isDealt;
  /// [home * numWorkKinds + workNumber(kind)].
  std::vector<Work> works;
  std::vector<int64_t> inputs;
  std::vector<Output> outputs;
  /// By edge, for messages that a link order holds back.
  std::vector<int32_t> outputOfEdge;
  std::vector<LinkState> links;
  std::map<std::pair<int32_t, int32_t>, int32_t> linkIds;

  std::vector<RankState> ranks;
  /// By rank: when its other lanes are free again. Empty where all tasks are on
  /// the compute lane, as they mostly are.
  std::vector<std::array<int64_t, numLanes>> otherClocks;
  std::vector<int32_t> worklist;
  std::vector<Done> done;
  /// [edge * microbatches + microbatch].
  std::vector<int64_t> arrival;
};

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
  if (isNew)
    links.emplace_back();
  return it->second;
}

void Execution::makeWorks() {
  outputOfEdge.resize(problem.edges.size());
  works.resize(problem.numHomes() * numWorkKinds);
  for (int32_t home = 0; home < problem.numHomes(); ++home) {
    for (const ActionTraits &traits : actionTable.rows) {
      if (!traits.hasCost())
        continue;
      Work &work = works[home * numWorkKinds + workNumber(traits.kind)];
      const Cost &cost = problem.cost(home, traits.kind);
      work = {cost.ns, cost.acquireBytes, cost.releaseBytes, cost.lane};
      if (cost.lane != Lane::Compute)
        otherClocks.resize(schedule.numRanks());
      work.makes = traits.makes;
      work.needs =
          traits.needsOfAll ? allDone : problem.neededFor(home, traits.kind);
      work.inputBegin = static_cast<int32_t>(inputs.size());
      for (int32_t e : edges.inputs(home, traits.kind))
        inputs.push_back(e * microbatches);
      work.inputEnd = static_cast<int32_t>(inputs.size());
      work.outputBegin = static_cast<int32_t>(outputs.size());
      for (int32_t e : edges.outputs(home, traits.kind)) {
        int32_t from = problem.rankOf(home);
        int32_t to = problem.rankOf(problem.edges[e].to);
        const Link &link = problem.linkBetween(from, to);
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
    for (Action action : actions)
      for (int32_t e : edges.outputs(action.subject, action.kind()))
        if (problem.rankOf(problem.edges[e].to) == pair.second &&
            problem.carries(problem.edges[e], action.index))
          link.order.push_back(e * microbatches + action.index);
  }
}

void Execution::carry(LinkState &link, const Output &output, int64_t message,
                      int64_t readyNs) {
  link.freeNs = std::max(readyNs, link.freeNs) + output.occupancyNs;
  arrival[message] = link.freeNs + output.latencyNs;
  wake(output.toRank, message);
}

void Execution::send(const Output &output, int64_t microbatch,
                     int64_t readyNs) {
  int64_t message = output.message + microbatch;
  if (isDealt && arrival[message] != notMade)
    return; // nothing to send
  if (output.link < 0) {
    arrival[message] = readyNs;
    return;
  }
  LinkState &link = links[output.link];
  if (!link.isOrdered) {
    carry(link, output, message, readyNs);
    return;
  }
  arrival[message] = -2 - readyNs;
  for (; link.next < link.order.size(); ++link.next) {
    int64_t head = link.order[link.next];
    if (arrival[head] == notMade)
      return;
    carry(link, outputs[outputOfEdge[head / microbatches]], head,
          -2 - arrival[head]);
  }
}

void Execution::run(Simulation &result, bool keepTimes) {
  if (keepTimes) {
    result.startNs.resize(schedule.numActions());
    result.endNs.resize(schedule.numActions());
  }
  if (otherClocks.empty())
    keepTimes ? runLanes<true, false>(result) : runLanes<false, false>(result);
  else
    keepTimes ? runLanes<true, true>(result) : runLanes<false, true>(result);
}

template <bool keepTimes, bool hasOtherLanes>
void Execution::runLanes(Simulation &result) {
  // With the last rank first on the stack, rank 0 starts.
  for (int32_t r = schedule.numRanks(); r-- > 0;)
    worklist.push_back(r);
  const Action *actions = schedule.rank(0).begin();
  while (!worklist.empty()) {
    int32_t r = worklist.back();
    worklist.pop_back();
    RankState rank = ranks[r];
    const int64_t first = schedule.rankBegin(r);
    for (; rank.position < rank.end; ++rank.position) {
      Action action = actions[rank.position];
      const Work &work =
          works[action.subject * numWorkKinds + workNumber(action.kind())];
      const int64_t key = action.subject * microbatches + action.index;
      if ((done[key] & work.needs) != work.needs) {
        rank.blocked = blockedByOwnTask;
        break;
      }
      const bool isCompute = !hasOtherLanes || work.lane == Lane::Compute;
      const int lane = static_cast<int>(work.lane);
      int64_t start = rank.clock;
      if (!isCompute)
        start = std::max(start, otherClocks[r][lane]);
      for (int32_t i = work.inputBegin; i < work.inputEnd; ++i) {
        int64_t message = inputs[i] + action.index;
        if (arrival[message] < 0) {
          rank.blocked = message;
          break;
        }
        start = std::max(start, arrival[message]);
      }
      if (rank.blocked != notBlocked)
        break;
      if (rank.position == first)
        rank.firstStart = start;
      const int64_t end = start + work.ns;
      if (isCompute)
        rank.clock = end;
      else
        otherClocks[r][lane] = end;
      rank.work += work.ns;
      rank.held += work.acquireBytes;
      rank.peak = std::max(rank.peak, rank.held);
      rank.held -= work.releaseBytes;
      done[key] |= work.makes;
      if (keepTimes) {
        result.startNs[rank.position] = start;
        result.endNs[rank.position] = end;
      }
      for (int32_t i = work.outputBegin; i < work.outputEnd; ++i)
        send(outputs[i], action.index, end);
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

/// The action that makes a message: an input gradient comes from I or B,
/// whichever the producer's rank lists.
Action Execution::producerOf(int64_t message) const {
  const Edge &edge = problem.edges[message / microbatches];
  return asListed(schedule.rank(problem.rankOf(edge.from)),
                  Action(edge.producer, edge.from, message % microbatches));
}

Wait Execution::waitOf(int32_t r) const {
  const RankState &rank = ranks[r];
  Wait wait;
  wait.rank = wait.onRank = r;
  wait.at = schedule.rank(r)[rank.position - schedule.rankBegin(r)];
  if (rank.blocked == blockedByOwnTask) {
    const ActionTraits &traits = wait.at.traits();
    const int64_t index = firstBlocking(wait.at);
    const Done absent = (problem.neededFor(wait.at.subject, wait.at.kind()) |
                         traits.needsOfAll) &
                        ~done[wait.at.subject * microbatches + index];
    wait.needs = Action(kindThatMakes(absent), wait.at.subject, index);
    return wait;
  }
  wait.needs = producerOf(rank.blocked);
  wait.onRank = problem.rankOf(wait.needs.subject);
  if (arrival[rank.blocked] < notMade) {
    const Output &output = outputs[outputOfEdge[rank.blocked / microbatches]];
    const LinkState &link = links[output.link];
    if ((wait.isBehind = link.next < link.order.size()))
      wait.behind = producerOf(link.order[link.next]);
  }
  return wait;
}

std::vector<Wait> Execution::findCycle() const {
  auto isStuck = [&](int32_t r) { return ranks[r].position < ranks[r].end; };
  const int32_t numRanks = static_cast<int32_t>(ranks.size());
  std::vector<int32_t> next(numRanks, -1);
  for (int32_t r = 0; r < numRanks; ++r) {
    if (!isStuck(r))
      continue;
    int64_t blocked = ranks[r].blocked;
    next[r] = blocked == blockedByOwnTask
                  ? r
                  : problem.rankOf(problem.edges[blocked / microbatches].from);
    if (next[r] == r)
      return {waitOf(r)};
  }
  // Each stuck rank waits for one rank, so the walk from the lowest enters a
  // cycle; a complete schedule never waits for a rank that is done.
  int32_t r = 0;
  while (!isStuck(r))
    ++r;
  std::vector<Wait> cycle;
  for (int32_t member : walkToCircle(next, r))
    cycle.push_back(waitOf(member));
  return cycle;
}

} // namespace

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
