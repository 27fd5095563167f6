//===- Tails.cpp - Least time from each task to the end -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/partial/Tails.h"

#include <algorithm>

using namespace rondo;

Tails::Tails(const FlatProblem &flat, const std::vector<CapOrder> &capOrders) {
  const int32_t last = flat.microbatches;
  std::vector<int32_t> place(flat.stages);
  for (const auto &stages : flat.stagesOf)
    for (size_t i = 0; i < stages.size(); ++i)
      place[stages[i]] = int32_t(i);
  for (auto &column : ns)
    column.assign(size_t(flat.stages) * last, 0);
  message.assign(flat.messages.size() * last, 0);
  auto of = [&](int letter, int32_t s, int32_t k) -> int64_t & {
    return ns[letter][flat.at(s, k)];
  };
  auto cost = [&](int letter, int32_t s) { return flat.ns[letter][s]; };
  // Tail through one of the messages of task k, from the end of the task. After
  // a message, its link still has to carry later ones of the same edge, and
  // those of edges that it leads to.
  auto throughMessage = [&](int32_t edge, int32_t k) {
    const FlatProblem::Message &hop = flat.messages[edge];
    const int64_t direct =
        hop.latencyNs + cost(hop.letter, hop.to) + of(hop.letter, hop.to, k);
    if (hop.link < 0 || hop.occupancyNs == 0)
      return hop.transferNs() - hop.latencyNs + direct;
    auto tailOf = [&](int32_t e, int32_t k) -> int64_t & {
      return message[flat.messageAt(e, k)];
    };
    int64_t &tail = tailOf(edge, k) = direct;
    if (k + 1 < last)
      tail = std::max(tail, hop.occupancyNs + tailOf(edge, k + 1));
    if (const int32_t next = hop.nextInBurst;
        next >= 0 && flat.messages[next].occupancyNs > 0)
      tail = std::max(tail, flat.messages[next].occupancyNs + tailOf(next, k));
    if (hop.isContended) {
      const auto &edges = flat.edgesOf[hop.link];
      int64_t behind = (last - 1 - k) * hop.occupancyNs;
      int64_t least = tailOf(edge, last - 1);
      for (size_t i = edges.size(); i-- > 0;) {
        if (edges[i] == edge)
          break;
        if (!flat.goesBefore(edge, edges[i]))
          continue;
        const int64_t ns = flat.messages[edges[i]].occupancyNs;
        behind += (last - k) * ns;
        if (ns > 0)
          least = std::min(least, tailOf(edges[i], last - 1));
      }
      tail = std::max(tail, behind + least);
    }
    return hop.occupancyNs + tail;
  };
  // In reverse: a message's tail needs the tails of the later messages of its
  // burst.
  auto throughMessages = [&](int letter, int32_t s, int32_t k) {
    int64_t tail = -never;
    const EdgeRange edges = flat.outputs(letter, s);
    for (const int32_t *e = edges.end(); e != edges.begin();)
      tail = std::max(tail, throughMessage(*--e, k));
    return tail;
  };
  // The larger of the work that edges and cap put after a task on its rank, and
  // the tail through the first F that the cap puts after it.
  auto throughRank = [&](int letter, int32_t s, int32_t k) {
    const int32_t rank = flat.rankOf[s];
    const auto &stages = flat.stagesOf[rank];
    int64_t work = 0, tail = -never;
    int32_t first = last;
    for (int32_t i = 0; i < int32_t(stages.size()); ++i) {
      const int32_t k2 =
          capOrders.empty()
              ? last
              : capOrders[rank].firstBehind(letter, place[s], k, i);
      if (k2 < last)
        tail = std::max(tail, cost(0, stages[i]) + of(0, stages[i], k2));
      first = std::min(first, k2);
      int32_t forward = first;
      if (letter == 0 && i == place[s])
        forward = k + 1;
      else if (letter == 0 && flat.leadsTo(0, s, 0, stages[i]))
        forward = k;
      work += (last - std::min(first, forward)) * cost(0, stages[i]);
    }
    for (int32_t i = 0; i < int32_t(stages.size()); ++i) {
      int32_t inputGrad = first, weightGrad = first;
      if (letter == 0 ? flat.leadsTo(0, s, 1, stages[i])
                      : letter == 1 && flat.leadsTo(1, s, 1, stages[i]))
        inputGrad = weightGrad = k;
      else if (i == place[s] && letter == 1) {
        inputGrad = k + 1;
        weightGrad = k;
      } else if (i == place[s]) {
        weightGrad = k + 1;
      }
      work += (last - std::min(first, inputGrad)) * cost(1, stages[i]) +
              (last - std::min(first, weightGrad)) * cost(2, stages[i]);
    }
    return std::max(tail, work + flat.endOffset[rank]);
  };
  for (int32_t k = last; k-- > 0;) {
    const bool isLast = k == last - 1;
    for (int32_t s = 0; s < flat.stages; ++s) {
      int64_t tail = throughRank(2, s, k);
      if (!isLast)
        tail = std::max(tail, cost(2, s) + of(2, s, k + 1));
      of(2, s, k) = tail;
      tail = std::max(throughRank(1, s, k), cost(2, s) + of(2, s, k));
      if (!isLast)
        tail = std::max(tail, cost(1, s) + of(1, s, k + 1));
      of(1, s, k) = std::max(tail, throughMessages(1, s, k));
    }
    for (int32_t s = flat.stages; s-- > 0;) {
      int64_t tail = std::max(throughRank(0, s, k), cost(1, s) + of(1, s, k));
      if (!isLast)
        tail = std::max(tail, cost(0, s) + of(0, s, k + 1));
      of(0, s, k) = std::max(tail, throughMessages(0, s, k));
    }
  }
}
