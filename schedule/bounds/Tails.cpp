//===- Tails.cpp - What must follow each task -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/Tails.h"

#include <algorithm>

using namespace rondo;

Tails::Tails(const Chain &chain, const std::vector<CapOrder> &capOrders) {
  const int32_t last = chain.microbatches;
  std::vector<int32_t> place(chain.stages);
  for (const auto &stages : chain.stagesOf)
    for (size_t i = 0; i < stages.size(); ++i)
      place[stages[i]] = int32_t(i);
  for (auto &column : ns)
    column.assign(size_t(chain.stages) * last, 0);
  for (auto &column : message)
    column.assign(size_t(chain.stages) * last, 0);
  auto of = [&](int letter, int32_t s, int32_t k) -> int64_t & {
    return ns[letter][chain.at(s, k)];
  };
  auto cost = [&](int letter, int32_t s) { return chain.ns[letter][s]; };
  // From the end of task k on, through its message. Behind a message its link
  // still carries those of the same producer, and of later ones.
  auto throughMessage = [&](int letter, int32_t s, int32_t k) {
    const int32_t to = letter == 0 ? s + 1 : s - 1;
    const Chain::Message &hop = chain.messages[letter][s];
    const int64_t direct = hop.latencyNs + cost(letter, to) + of(letter, to, k);
    if (hop.link < 0 || hop.occupancyNs == 0)
      return hop.transferNs() - hop.latencyNs + direct;
    auto &tails = message[letter];
    int64_t &tail = tails[chain.at(s, k)] = direct;
    if (k + 1 < last)
      tail = std::max(tail, hop.occupancyNs + tails[chain.at(s, k + 1)]);
    if (hop.isContended) {
      const auto &producers = chain.producersOf[hop.link];
      int64_t behind = (last - 1 - k) * hop.occupancyNs;
      int64_t least = tails[chain.at(s, last - 1)];
      for (size_t i = producers.size(); i-- > 0;) {
        auto [otherLetter, other] = producers[i];
        if (otherLetter == letter && other == s)
          break;
        const int64_t ns = chain.messages[otherLetter][other].occupancyNs;
        behind += (last - k) * ns;
        if (ns > 0)
          least =
              std::min(least, message[otherLetter][chain.at(other, last - 1)]);
      }
      tail = std::max(tail, behind + least);
    }
    return hop.occupancyNs + tail;
  };
  // What the rank must still run behind a task, by the chain and by the cap,
  // and the way on from the first F that the cap puts behind it.
  auto throughRank = [&](int letter, int32_t s, int32_t k) {
    const int32_t rank = chain.rankOf[s];
    const auto &stages = chain.stagesOf[rank];
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
      const int32_t forward = letter > 0 || i < place[s] ? first
                              : i == place[s]            ? k + 1
                                                         : k;
      work += (last - std::min(first, forward)) * cost(0, stages[i]);
    }
    for (int32_t i = 0; i < int32_t(stages.size()); ++i) {
      int32_t inputGrad = first, weightGrad = first;
      if (letter == 0 || (letter == 1 && i < place[s]))
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
    return std::max(tail, work + chain.endOffset[rank]);
  };
  for (int32_t k = last; k-- > 0;) {
    const bool isLast = k == last - 1;
    for (int32_t s = 0; s < chain.stages; ++s) {
      int64_t tail = throughRank(2, s, k);
      if (!isLast)
        tail = std::max(tail, cost(2, s) + of(2, s, k + 1));
      of(2, s, k) = tail;
      tail = std::max(throughRank(1, s, k), cost(2, s) + of(2, s, k));
      if (!isLast)
        tail = std::max(tail, cost(1, s) + of(1, s, k + 1));
      if (s > 0)
        tail = std::max(tail, throughMessage(1, s, k));
      of(1, s, k) = tail;
    }
    for (int32_t s = chain.stages; s-- > 0;) {
      int64_t tail = std::max(throughRank(0, s, k), cost(1, s) + of(1, s, k));
      if (!isLast)
        tail = std::max(tail, cost(0, s) + of(0, s, k + 1));
      if (s + 1 < chain.stages)
        tail = std::max(tail, throughMessage(0, s, k));
      of(0, s, k) = tail;
    }
  }
}
