//===- Problem.cpp - What is to be scheduled --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/Problem.h"

#include <algorithm>

using namespace rondo;

int64_t Link::occupancyNs(int64_t bytes) const {
  if (bytesPerUs == 0)
    return 0;
  int64_t scaled = 1000 * bytes;
  return scaled / bytesPerUs + (scaled % bytesPerUs != 0);
}

const Link &Problem::linkBetween(int32_t from, int32_t to) const {
  auto it = links.find({from, to});
  return it == links.end() ? link : it->second;
}

void Problem::makeChain(const std::vector<int64_t> &outputBytes) {
  edges.clear();
  for (int32_t s = 0; s + 1 < numStages(); ++s)
    edges.push_back({s, s + 1, ActionKind::Forward, outputBytes[s]});
  for (int32_t s = 1; s < numStages(); ++s)
    edges.push_back({s, s - 1, ActionKind::InputGrad, outputBytes[s - 1]});
}

void Problem::makeGraph(const std::vector<std::vector<int32_t>> &inputs,
                        const std::vector<int64_t> &outputBytes) {
  edges.clear();
  for (ActionKind producer : {ActionKind::Forward, ActionKind::InputGrad})
    for (int32_t s = 0; s < numStages(); ++s)
      for (int32_t input : inputs[s]) {
        const bool isForward = producer == ActionKind::Forward;
        edges.push_back({isForward ? input : s, isForward ? s : input, producer,
                         outputBytes[input]});
      }
}

bool Problem::isChain() const {
  const int32_t stages = numStages();
  if (edges.size() != size_t(2) * (stages - 1))
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

void Problem::setStageCost(int32_t stage, int64_t forwardNs,
                           int64_t inputGradNs, int64_t weightGradNs,
                           int64_t activationBytes,
                           int64_t inputGradFreesBytes) {
  costs.resize(std::max<size_t>(costs.size(), numStages() * numCostColumns));
  // check() refuses figures below 0 and near the limit of 64 bits; no sum may
  // overflow before it is asked.
  auto within = [](int64_t figure) {
    return std::clamp<int64_t>(figure, 0, maxSum - 1);
  };
  cost(stage, ActionKind::Forward) = {forwardNs, activationBytes, 0};
  cost(stage, ActionKind::InputGrad) = {inputGradNs, 0, inputGradFreesBytes};
  cost(stage, ActionKind::WeightGrad) = {
      weightGradNs, 0, within(activationBytes) - within(inputGradFreesBytes)};
  cost(stage, ActionKind::Backward) = {
      within(inputGradNs) + within(weightGradNs), 0, activationBytes};
}

namespace {

std::string count(int64_t n, const char *noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

std::string taskOf(int32_t stage, ActionKind kind) {
  const ActionTraits &traits = traitsOf(kind);
  return (traits.isTask() ? std::string(1, traits.letter) : traits.keyword) +
         " of stage " + std::to_string(stage);
}

std::string nameOf(std::pair<int32_t, int32_t> ranks) {
  return std::to_string(ranks.first) + ">" + std::to_string(ranks.second);
}

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

using Fault = std::optional<ProblemFault>;

Fault checkSizes(const Problem &problem) {
  auto limits = [](const char *what, int64_t found, int64_t most) -> Fault {
    if (found >= 1 && found <= most)
      return std::nullopt;
    return ProblemFault{"the problem has " + std::to_string(found) + " " +
                        what + "; there must be 1 to " + std::to_string(most)};
  };
  if (Fault fault = limits("ranks", problem.memoryCaps.size(), maxRanks))
    return fault;
  if (Fault fault = limits("stages", problem.numStages(), maxStages))
    return fault;
  if (Fault fault =
          limits("micro-batches", problem.microbatches, maxMicrobatches))
    return fault;
  if (int64_t(problem.numStages()) * problem.microbatches >
      maxStageMicrobatches)
    return ProblemFault{
        std::to_string(problem.numStages()) + " stages times " +
        std::to_string(problem.microbatches) + " micro-batches are more than " +
        std::to_string(maxStageMicrobatches) + " tasks of one kind"};
  if (static_cast<int64_t>(problem.edges.size()) > maxEdges)
    return ProblemFault{"the problem has " +
                        std::to_string(problem.edges.size()) +
                        " edges; there may be " + std::to_string(maxEdges)};
  if (problem.costs.size() != size_t(problem.numStages()) * numCostColumns)
    return ProblemFault{"the cost table has " +
                        std::to_string(problem.costs.size()) + " entries; " +
                        count(problem.numStages(), "stage") + " need " +
                        std::to_string(problem.numStages() * numCostColumns)};
  return std::nullopt;
}

Fault checkPlaces(const Problem &problem) {
  for (int32_t r = 0; r < problem.numRanks(); ++r)
    if (problem.memoryCaps[r] < 0)
      return ProblemFault{"the memory of rank " + std::to_string(r) + " is " +
                          std::to_string(problem.memoryCaps[r]) +
                          " bytes; it must be 0 or more"};
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    const HomeRange homes = problem.homes.of(s);
    if (homes.size() != 1)
      return ProblemFault{"stage " + std::to_string(s) + " is on " +
                          count(homes.size(), "rank") +
                          "; a stage is on exactly one rank"};
    const int32_t rank = homes.begin()->rank;
    if (rank < 0 || rank >= problem.numRanks())
      return ProblemFault{"stage " + std::to_string(s) + " is on rank " +
                          std::to_string(rank) + "; the ranks are 0 to " +
                          std::to_string(problem.numRanks() - 1)};
  }
  return std::nullopt;
}

/// What a micro-batch holds after each of a stage's tasks may not fall below 0.
Fault checkReleases(const Problem &problem, int32_t stage,
                    std::initializer_list<ActionKind> kinds) {
  BoundedSum taken(maxSum);
  int64_t held = 0;
  for (ActionKind kind : kinds) {
    const Cost &cost = problem.cost(stage, kind);
    taken.add(cost.acquireBytes, 1);
    if (taken.tooLarge())
      return ProblemFault{"stage " + std::to_string(stage) +
                          " takes 2^62 bytes or more for a micro-batch"};
    held += cost.acquireBytes;
    if (cost.releaseBytes < 0)
      return ProblemFault{taskOf(stage, kind) + " releases " +
                          std::to_string(cost.releaseBytes) +
                          " bytes; it must be 0 or more"};
    if (cost.releaseBytes > held)
      return ProblemFault{taskOf(stage, kind) + " releases " +
                          std::to_string(cost.releaseBytes) +
                          " bytes, but only " + std::to_string(held) +
                          " bytes of its micro-batch are held"};
    held -= cost.releaseBytes;
  }
  return std::nullopt;
}

Fault checkCosts(const Problem &problem) {
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    for (const ActionTraits &traits : actionTable.rows) {
      if (!traits.hasCost())
        continue;
      const ActionKind kind = traits.kind;
      const Cost &cost = problem.cost(s, kind);
      if (cost.ns < 0)
        return ProblemFault{taskOf(s, kind) + " takes " +
                            std::to_string(cost.ns) +
                            " ns; it must be 0 or more"};
      if (cost.acquireBytes < 0)
        return ProblemFault{taskOf(s, kind) + " takes " +
                            std::to_string(cost.acquireBytes) +
                            " bytes; it must be 0 or more"};
      if (cost.lane != traits.lane)
        return ProblemFault{taskOf(s, kind) +
                            " is not on the compute lane, where tasks run"};
    }
    if (Fault fault = checkReleases(problem, s,
                                    {ActionKind::Forward, ActionKind::InputGrad,
                                     ActionKind::WeightGrad}))
      return fault;
    if (Fault fault = checkReleases(
            problem, s, {ActionKind::Forward, ActionKind::Backward}))
      return fault;
  }
  return std::nullopt;
}

Fault checkLink(const Link &link, const std::string &name) {
  if (link.latencyNs < 0)
    return ProblemFault{name + " has a latency of " +
                        std::to_string(link.latencyNs) +
                        " ns; it must be 0 or more"};
  if (link.bytesPerUs < 0)
    return ProblemFault{name + " carries " + std::to_string(link.bytesPerUs) +
                        " bytes a microsecond; it must be 0 (no limit) or "
                        "more"};
  return std::nullopt;
}

Fault checkLinks(const Problem &problem) {
  if (Fault fault = checkLink(problem.link, "the default link"))
    return fault;
  for (const auto &[ranks, link] : problem.links) {
    auto [from, to] = ranks;
    std::string name = "link " + nameOf(ranks);
    if (from == to || std::min(from, to) < 0 ||
        std::max(from, to) >= problem.numRanks())
      return ProblemFault{name + " does not join two of " +
                          count(problem.numRanks(), "rank")};
    if (Fault fault = checkLink(link, name))
      return fault;
  }
  if (problem.channels.receiveSlots < 0)
    return ProblemFault{"channels have " +
                        std::to_string(problem.channels.receiveSlots) +
                        " receive slots; it must be 0 (no limit) or more"};
  return std::nullopt;
}

Fault checkEdges(const Problem &problem) {
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    const Edge &edge = problem.edges[e];
    std::string name = "edge " + std::to_string(e);
    if (edge.from == edge.to || std::min(edge.from, edge.to) < 0 ||
        std::max(edge.from, edge.to) >= problem.numStages())
      return ProblemFault{name + " goes from stage " +
                          std::to_string(edge.from) + " to stage " +
                          std::to_string(edge.to) +
                          "; it must join two different stages of " +
                          std::to_string(problem.numStages())};
    if (edge.producer != ActionKind::Forward &&
        edge.producer != ActionKind::InputGrad)
      return ProblemFault{name + " is made by neither F nor I"};
    const bool isForward = edge.producer == ActionKind::Forward;
    if ((edge.from < edge.to) != isForward)
      return ProblemFault{name + " goes from stage " +
                          std::to_string(edge.from) + " to stage " +
                          std::to_string(edge.to) + "; what " +
                          (isForward ? "F makes goes to a later stage"
                                     : "I makes goes to an earlier stage")};
    if (edge.bytes < 0 || edge.bytes > maxMessageBytes)
      return ProblemFault{
          name + " from stage " + std::to_string(edge.from) + " to stage " +
          std::to_string(edge.to) + " carries " + std::to_string(edge.bytes) +
          " bytes; it must be 0 to " + std::to_string(maxMessageBytes)};
  }
  return std::nullopt;
}

/// All tasks and messages one after the other: no makespan is longer, no rank
/// holds more.
Fault checkSums(const Problem &problem) {
  BoundedSum ns(maxSum / 4), bytes(maxSum);
  for (int32_t s = 0; s < problem.numStages(); ++s)
    for (const ActionTraits &traits : actionTable.rows) {
      if (!traits.hasCost())
        continue;
      const Cost &cost = problem.cost(s, traits.kind);
      const int64_t times =
          traits.index == IndexMeaning::Microbatch ? problem.microbatches : 1;
      ns.add(cost.ns, times);
      bytes.add(cost.acquireBytes, times);
    }
  for (const Edge &edge : problem.edges) {
    const Link &link = problem.linkBetween(problem.homeOf(edge.from).rank,
                                           problem.homeOf(edge.to).rank);
    ns.add(link.occupancyNs(edge.bytes), problem.microbatches);
    ns.add(link.latencyNs, problem.microbatches);
  }
  if (ns.tooLarge())
    return ProblemFault{"the times of all tasks and messages sum to 2^60 ns "
                        "(36 years) or more"};
  if (bytes.tooLarge())
    return ProblemFault{"the memory that all tasks take sums to 2^62 bytes "
                        "(4 exbibytes) or more"};
  return std::nullopt;
}

} // namespace

std::optional<ProblemFault> Problem::check() const {
  for (auto rule :
       {checkSizes, checkPlaces, checkCosts, checkLinks, checkEdges, checkSums})
    if (Fault fault = rule(*this))
      return fault;
  return std::nullopt;
}
