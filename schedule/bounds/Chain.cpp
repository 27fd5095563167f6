//===- Chain.cpp - A problem flattened for bounds and search --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/Chain.h"

#include <algorithm>

using namespace rondo;

namespace {

bool isChain(const Problem &problem) {
  const int32_t stages = problem.numStages();
  if (!problem.isChain())
    return false;
  for (int32_t s = 0; s < stages; ++s)
    for (ActionKind kind :
         {ActionKind::InputGrad, ActionKind::WeightGrad, ActionKind::Backward})
      if (problem.cost(s, kind).acquireBytes ||
          problem.cost(s, ActionKind::Forward).releaseBytes)
        return false;
  return true;
}

void setBackward(Chain &chain, const Problem &problem, int32_t s,
                 BackwardCosts costs) {
  const Cost &i = problem.cost(s, ActionKind::InputGrad);
  const Cost &w = problem.cost(s, ActionKind::WeightGrad);
  const Cost &b = problem.cost(s, ActionKind::Backward);
  int64_t inputGrad = i.ns, weightGrad = w.ns;
  int64_t inputFrees = i.releaseBytes, weightFrees = w.releaseBytes;
  if (costs == BackwardCosts::Fused) {
    inputGrad = b.ns;
    weightGrad = 0;
    inputFrees = b.releaseBytes;
    weightFrees = 0;
  } else if (costs == BackwardCosts::Least) {
    inputGrad = std::min(i.ns, b.ns);
    weightGrad = std::max<int64_t>(0, std::min(i.ns + w.ns, b.ns) - inputGrad);
    weightFrees =
        std::max(inputFrees + weightFrees, b.releaseBytes) - inputFrees;
  }
  chain.ns[1].push_back(inputGrad);
  chain.ns[2].push_back(weightGrad);
  chain.inputGradFrees.push_back(inputFrees);
  chain.weightGradFrees.push_back(weightFrees);
}

void setMessages(Chain &chain, const Problem &problem) {
  std::map<std::pair<int32_t, int32_t>, int32_t> numbers;
  auto message = [&](const Edge &edge) {
    Chain::Message result;
    int32_t from = chain.rankOf[edge.from], to = chain.rankOf[edge.to];
    if (from == to)
      return result;
    const Link &link = problem.linkBetween(from, to);
    auto number = numbers.insert({{from, to}, int32_t(numbers.size())});
    result.link = number.first->second;
    result.occupancyNs = link.occupancyNs(edge.bytes);
    result.latencyNs = link.latencyNs;
    chain.hasSerialLinks |= result.occupancyNs > 0;
    return result;
  };
  for (int direction : {0, 1})
    chain.messages[direction].resize(chain.stages);
  for (const Edge &edge : problem.edges)
    chain.messages[edge.producer == ActionKind::Forward ? 0 : 1][edge.from] =
        message(edge);
  chain.links = int32_t(numbers.size());
  chain.producersOf.resize(chain.links);
  for (int letter : {0, 1})
    for (int32_t i = 0; i < chain.stages; ++i) {
      const int32_t s = letter == 0 ? i : chain.stages - 1 - i;
      if (int32_t link = chain.messages[letter][s].link; link >= 0)
        chain.producersOf[link].push_back({letter, s});
    }
  for (const auto &producers : chain.producersOf) {
    bool isSerial = false;
    for (auto [letter, s] : producers)
      isSerial |= chain.messages[letter][s].occupancyNs > 0;
    for (auto [letter, s] : producers)
      chain.messages[letter][s].isContended = isSerial && producers.size() > 1;
    chain.hasContendedLinks |= isSerial && producers.size() > 1;
  }
}

/// The first start of a rank is the same in all schedules where nothing that
/// leads to its first stage can wait behind another task.
void setOffsets(Chain &chain) {
  int64_t start = 0;
  std::vector<bool> seen(chain.ranks, false);
  bool allFirst = true;
  for (int32_t s = 0; s < chain.stages; ++s) {
    int32_t rank = chain.rankOf[s];
    if (!seen[rank]) {
      chain.endOffset[rank] = -start;
      chain.offsetsAreExact &= allFirst;
    } else {
      allFirst = false;
    }
    seen[rank] = true;
    start += chain.ns[0][s] + chain.messages[0][s].transferNs();
  }
}

} // namespace

std::optional<Chain> Chain::of(const Problem &problem, BackwardCosts costs) {
  if (!isChain(problem))
    return std::nullopt;
  Chain chain;
  chain.ranks = problem.numRanks();
  chain.stages = problem.numStages();
  chain.microbatches = problem.microbatches;
  chain.stagesOf.resize(chain.ranks);
  chain.caps = problem.memoryCaps;
  std::vector<int64_t> all(chain.ranks);
  for (int32_t s = 0; s < chain.stages; ++s) {
    const Cost &forward = problem.cost(s, ActionKind::Forward);
    chain.rankOf.push_back(problem.homeOf(s).rank);
    chain.stagesOf[chain.rankOf[s]].push_back(s);
    chain.ns[0].push_back(forward.ns);
    chain.takes.push_back(forward.acquireBytes);
    all[chain.rankOf[s]] += forward.acquireBytes * chain.microbatches;
    setBackward(chain, problem, s, costs);
  }
  for (int32_t r = 0; r < chain.ranks; ++r)
    chain.hasTightMemory |= all[r] > chain.caps[r];
  setMessages(chain, problem);
  chain.endOffset.assign(chain.ranks, 0);
  if (problem.objective == Objective::Span)
    setOffsets(chain);
  return chain;
}
