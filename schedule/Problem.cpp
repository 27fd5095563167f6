//===- Problem.cpp - What is to be scheduled --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/Problem.h"

#include "kinds/Shares.h"
#include "schedule/Iterations.h"
#include "schedule/Recomputed.h"
#include "schedule/Shards.h"

#include <algorithm>

using namespace rondo;

int64_t Link::occupancyNs(int64_t bytes) const {
  if (bytesPerUs == 0)
    return 0;
  int64_t scaled = 1000 * bytes;
  return scaled / bytesPerUs + (scaled % bytesPerUs != 0);
}

Link Problem::linkBetween(int32_t from, int32_t to) const {
  auto it = links.find({from, to});
  Link own = it == links.end() ? link : it->second;
  const CardSides sides = cards.between(from, to);
  for (const int32_t card : {sides.out, sides.in})
    if (card >= 0 &&
        (own.bytesPerUs == 0 || cards.bytesPerUs[card] < own.bytesPerUs))
      own.bytesPerUs = cards.bytesPerUs[card];
  return own;
}

void Problem::makeMessagesFree() {
  link = {};
  links.clear();
  cards = {};
}

void Problem::makeChain(const std::vector<int64_t> &outputBytes) {
  std::vector<std::vector<int32_t>> inputs(numStages());
  for (int32_t s = 1; s < numStages(); ++s)
    inputs[s].push_back(s - 1);
  makeGraph(inputs, outputBytes);
}

void Problem::makeGraph(const std::vector<std::vector<int32_t>> &inputs,
                        const std::vector<int64_t> &outputBytes) {
  edges.clear();
  for (ActionKind producer : {ActionKind::Forward, ActionKind::InputGrad})
    for (int32_t s = 0; s < numStages(); ++s)
      for (int32_t input : inputs[s]) {
        const bool isForward = producer == ActionKind::Forward;
        addStageEdge(isForward ? input : s, isForward ? s : input, producer,
                     outputBytes[input]);
      }
}

void Problem::addStageEdge(int32_t from, int32_t to, ActionKind producer,
                           int64_t bytes) {
  const int32_t number = edges.empty() ? 0 : edges.back().stageEdge + 1;
  for (const Home &a : homes.of(from))
    for (const Home &b : homes.of(to))
      if (const int32_t common = commonSamples(a, b); common && meet(a, b)) {
        const int32_t first = std::max(a.firstSample, b.firstSample);
        edges.push_back({homes.numberOf(from, a.replica),
                         homes.numberOf(to, b.replica), producer,
                         partBetween(bytes, first, first + common, samples),
                         number});
      }
}

std::vector<Done> Problem::nothingDoneYet() const {
  std::vector<Done> done(size_t(numHomes()) * microbatches, nothingDone);
  for (int32_t home = 0; home < numHomes(); ++home)
    for (int64_t i = 0; homes[home].isDealt() && i < microbatches; ++i)
      if (!homes[home].takes(i))
        done[int64_t(home) * microbatches + i] = tasksDone;
  return done;
}

bool Problem::isChain() const {
  const int32_t stages = numStages();
  if (homes.hasReplicas() || edges.size() != size_t(2) * (stages - 1))
    return false;
  for (int32_t s = 0; s + 1 < stages; ++s) {
    const Edge &forward = edges[s], &backward = edges[stages - 1 + s];
    if (forward.from != s || forward.to != s + 1 ||
        forward.producer != ActionKind::Forward || backward.from != s + 1 ||
        backward.to != s || backward.producer != ActionKind::InputGrad)
      return false;
  }
  return true;
}

namespace {

/// A sum of non-negative products that stops at `most`.
class BoundedSum {
public:
  explicit BoundedSum(int64_t most) : most(most) {}

  void add(int64_t value, int64_t times) {
    if (times != 0 && value > (most - sum) / times)
      sum = most;
    else
      sum += value * times;
  }
  bool tooLarge() const { return sum >= most; }

private:
  int64_t most, sum = 0;
};

using Found = std::optional<Fault>;

/// A fault of a figure, and the most or least that it may be.
template <FaultKind kind, typename... Parts>
Fault figureFault(int64_t found, int64_t allowed, const Parts &...parts) {
  return makeFault<kind>(parts...).withFigures(found, allowed);
}

Found checkSize(const char *what, int64_t found, int64_t most) {
  if (found >= 1 && found <= most)
    return std::nullopt;
  return figureFault<FaultKind::SizeOutOfRange>(found, most, what);
}

Found checkSizes(const Problem &problem) {
  if (Found fault = checkSize("ranks", problem.memoryCaps.size(), maxRanks))
    return fault;
  if (Found fault = checkSize("stages", problem.numStages(), maxStages))
    return fault;
  if (Found fault =
          checkSize("micro-batches", problem.microbatches, maxMicrobatches))
    return fault;
  if (Found fault = checkSize("homes", problem.numHomes(), maxHomes))
    return fault;
  const int64_t tasks = int64_t(problem.numHomes()) * problem.microbatches;
  if (tasks > maxTasksOfKind)
    return figureFault<FaultKind::TooManyTasks>(
        tasks, maxTasksOfKind, problem.numHomes(), problem.microbatches);
  const int64_t edges = static_cast<int64_t>(problem.edges.size());
  if (edges > maxEdges)
    return figureFault<FaultKind::TooManyEdges>(edges, maxEdges);
  if (edges * problem.microbatches > maxMessages)
    return figureFault<FaultKind::TooManyMessages>(
        edges * problem.microbatches, maxMessages, edges, problem.microbatches);
  return std::nullopt;
}

Found checkPlaces(const Problem &problem) {
  for (int32_t r = 0; r < problem.numRanks(); ++r)
    if (problem.memoryCaps[r] < 0)
      return figureFault<FaultKind::MemoryBelowZero>(problem.memoryCaps[r], 0)
          .withRank(r);
  for (const Home &home : problem.homes)
    if (home.rank < 0 || home.rank >= problem.numRanks())
      return makeFault<FaultKind::HomeOnNoRank>(home.stage, home.rank,
                                                problem.numRanks() - 1);
  std::vector<int32_t> homeOnRank(problem.numRanks(), -1);
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    const HomeRange homes = problem.homes.of(s);
    if (homes.size() == 0)
      return makeFault<FaultKind::NoHome>(s);
    if (homes.begin()->isDealt() && homes.size() > problem.microbatches)
      return makeFault<FaultKind::DealtToNone>(s, homes.size(),
                                               problem.microbatches);
    int64_t samples = 0;
    for (const Home &home : homes) {
      const int32_t number = problem.homes.numberOf(s, home.replica);
      int32_t &there = homeOnRank[home.rank];
      if (there >= 0 && problem.homes[there].stage == s)
        return makeFault<FaultKind::RankTwice>(s, home.rank);
      there = number;
      if (home.samples < 1)
        return makeFault<FaultKind::NoSamples>(s, home.rank, home.samples);
      samples = home.isDealt() ? home.samples : samples + home.samples;
    }
    if (samples != problem.samples)
      return makeFault<FaultKind::SharesSum>(s, samples, problem.samples);
  }
  return std::nullopt;
}

/// A fault of what a task costs.
template <FaultKind kind>
Fault costFault(int32_t home, ActionKind task, int64_t found,
                int64_t allowed = 0) {
  return figureFault<kind>(found, allowed).withAction(Action(task, home, 0));
}

/// What a micro-batch holds after each of a home's tasks may not fall below 0.
Found checkReleases(const Problem &problem, int32_t home,
                    std::initializer_list<ActionKind> kinds) {
  BoundedSum taken(maxSum);
  int64_t held = 0;
  for (ActionKind kind : kinds) {
    const Cost &cost = problem.cost(home, kind);
    taken.add(cost.acquireBytes, 1);
    if (taken.tooLarge())
      return makeFault<FaultKind::TakesTooMuch>(problem.homes[home].stage);
    held += cost.acquireBytes;
    if (cost.releaseBytes < 0)
      return costFault<FaultKind::ReleaseBelowZero>(home, kind,
                                                    cost.releaseBytes);
    if (cost.releaseBytes > held)
      return costFault<FaultKind::ReleasesMore>(home, kind, cost.releaseBytes,
                                                held);
    held -= cost.releaseBytes;
  }
  return std::nullopt;
}

Found checkCosts(const Problem &problem) {
  if (!problem.recomputation.empty() &&
      problem.recomputation.size() != size_t(problem.numHomes()))
    return makeFault<FaultKind::RecomputationCount>(
        problem.recomputation.size(), problem.numHomes());
  if (problem.costs.size() != size_t(problem.numHomes()) * numCostColumns)
    return makeFault<FaultKind::CostTableSize>(
        problem.costs.size(), problem.numHomes(),
        problem.numHomes() * numCostColumns);
  for (int32_t h = 0; h < problem.numHomes(); ++h) {
    for (const ActionTraits &traits : actionTable.rows) {
      if (!traits.hasCost())
        continue;
      const ActionKind kind = traits.kind;
      const Cost &cost = problem.cost(h, kind);
      if (cost.ns < 0)
        return costFault<FaultKind::TimeBelowZero>(h, kind, cost.ns);
      if (cost.acquireBytes < 0)
        return costFault<FaultKind::BytesBelowZero>(h, kind, cost.acquireBytes);
      const bool isUnused =
          traits.movesState() && !problem.homes[h].isSharded();
      if (!isUnused && cost.lane != traits.lane)
        return costFault<FaultKind::NotOnItsLane>(
            h, kind, static_cast<int64_t>(cost.lane),
            static_cast<int64_t>(traits.lane));
    }
    if (Found fault =
            checkReleases(problem, h,
                          {ActionKind::Forward, ActionKind::Recompute,
                           ActionKind::InputGrad, ActionKind::WeightGrad}))
      return fault;
    if (Found fault = checkReleases(
            problem, h,
            {ActionKind::Forward, ActionKind::Recompute, ActionKind::Backward}))
      return fault;
    const Cost &again = problem.cost(h, ActionKind::Recompute);
    if (!problem.recomputes(h) &&
        (again.ns | again.acquireBytes | again.releaseBytes) != 0)
      return makeFault<FaultKind::CostOfNoRecompute>(problem.homes[h].stage);
  }
  return std::nullopt;
}

Found checkLink(const Link &link) {
  if (link.latencyNs < 0)
    return figureFault<FaultKind::LatencyBelowZero>(link.latencyNs, 0);
  if (link.bytesPerUs < 0)
    return figureFault<FaultKind::BandwidthBelowZero>(link.bytesPerUs, 0);
  return std::nullopt;
}

Found checkLinks(const Problem &problem) {
  if (Found fault = checkLink(problem.link))
    return fault;
  for (const auto &[ranks, link] : problem.links) {
    const auto [from, to] = ranks;
    Found fault;
    if (from == to || std::min(from, to) < 0 ||
        std::max(from, to) >= problem.numRanks())
      fault = makeFault<FaultKind::LinkOfNoRanks>(problem.numRanks());
    else
      fault = checkLink(link);
    if (fault)
      return std::move(*fault).withLink(from, to);
  }
  if (problem.channels.receiveSlots < 0)
    return figureFault<FaultKind::ReceiveSlotsBelowZero>(
        problem.channels.receiveSlots, 0);
  return std::nullopt;
}

/// Of an edge whose ends are stages.
template <FaultKind kind> Fault edgeFault(const Problem &problem, size_t e) {
  const Edge &edge = problem.edges[e];
  return makeFault<kind>(e, problem.homes[edge.from].stage,
                         problem.homes[edge.to].stage);
}

Found checkCards(const Problem &problem) {
  const Cards &cards = problem.cards;
  if (!cards.empty() && cards.ofRank.size() != problem.memoryCaps.size())
    return figureFault<FaultKind::CardsOfRanks>(
        static_cast<int64_t>(cards.ofRank.size()), problem.numRanks());
  if (!cards.servers.empty() && cards.servers.size() != cards.bytesPerUs.size())
    return figureFault<FaultKind::ServersOfCards>(
        static_cast<int64_t>(cards.servers.size()), cards.count());
  for (int32_t card = 0; card < cards.count(); ++card)
    if (cards.bytesPerUs[card] < 1)
      return figureFault<FaultKind::CardBandwidth>(cards.bytesPerUs[card], 1,
                                                   card);
  for (int32_t r = 0; r < problem.numRanks() && !cards.empty(); ++r)
    if (cards.ofRank[r] < -1 || cards.ofRank[r] >= cards.count())
      return figureFault<FaultKind::RankOnNoCard>(cards.ofRank[r],
                                                  cards.count() - 1)
          .withRank(r);
  return std::nullopt;
}

Found checkEdges(const Problem &problem) {
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    const Edge &edge = problem.edges[e];
    if (edge.from == edge.to || std::min(edge.from, edge.to) < 0 ||
        std::max(edge.from, edge.to) >= problem.numHomes())
      return makeFault<FaultKind::EdgeOfNoStages>(e, edge.from, edge.to,
                                                  problem.numHomes());
    const Home &from = problem.homes[edge.from], &to = problem.homes[edge.to];
    if (edge.message() == MessageKind::None)
      return makeFault<FaultKind::EdgeOfNoProducer>(e);
    const bool isForward = edge.producer != ActionKind::InputGrad;
    if (isForward && from.stage >= to.stage)
      return edgeFault<FaultKind::ForwardEdgeBack>(problem, e);
    if (!isForward && from.stage <= to.stage)
      return edgeFault<FaultKind::GradientEdgeForward>(problem, e);
    if (edge.bytes < 0 || edge.bytes > maxMessageBytes)
      return edgeFault<FaultKind::EdgeBytes>(problem, e)
          .withFigures(edge.bytes, maxMessageBytes);
    if (from.rank != to.rank || takeTheSame(from, to))
      continue;
    if (from.turns != to.turns)
      return makeFault<FaultKind::DealToSelf>(from.stage, from.turns, from.rank,
                                              to.stage, to.turns);
    return makeFault<FaultKind::MessageToSelf>(from.stage, from.samples,
                                               from.rank, to.stage, to.samples);
  }
  return std::nullopt;
}

/// All tasks and messages one after the other: no makespan is longer, no rank
/// holds more.
Found checkSums(const Problem &problem) {
  BoundedSum ns(maxSum / 4), bytes(maxSum);
  for (int32_t h = 0; h < problem.numHomes(); ++h)
    for (const ActionTraits &traits : actionTable.rows) {
      if (!traits.hasCost())
        continue;
      const Cost &cost = problem.cost(h, traits.kind);
      // Weights are gathered for F and for the backward at most.
      const int64_t times = traits.index == IndexMeaning::Microbatch
                                ? problem.microbatches
                            : traits.movesState() ? 2 * problem.microbatches
                                                  : problem.iterations;
      ns.add(cost.ns, times);
      bytes.add(cost.acquireBytes, times);
    }
  for (const Edge &edge : problem.edges) {
    const Link link =
        problem.linkBetween(problem.rankOf(edge.from), problem.rankOf(edge.to));
    ns.add(link.occupancyNs(edge.bytes), problem.microbatches);
    ns.add(link.latencyNs, problem.microbatches);
  }
  if (ns.tooLarge())
    return makeFault<FaultKind::TimesOverflow>();
  if (bytes.tooLarge())
    return makeFault<FaultKind::BytesOverflow>();
  return std::nullopt;
}

} // namespace

std::optional<Fault> Problem::check() const {
  for (auto rule :
       {checkSizes, checkIterations, checkPlaces, checkShards, checkCosts,
        checkLinks, checkCards, checkEdges, checkRecomputation, checkSums})
    if (Found fault = rule(*this))
      return fault;
  return std::nullopt;
}
