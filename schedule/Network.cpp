//===- Network.cpp - When links and network cards are free ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/Network.h"

#include <map>

using namespace rondo;

LinkTable::LinkTable(const Problem &problem)
    : numRanks(problem.numRanks()), numCards(problem.cards.count()) {
  std::map<std::pair<int32_t, int32_t>, int32_t> numbers;
  for (const Edge &edge : problem.edges) {
    const int32_t from = problem.rankOf(edge.from),
                  to = problem.rankOf(edge.to);
    if (from == to) {
      byEdge.push_back(-1);
      continue;
    }
    const auto [number, isNew] = numbers.insert({{from, to}, count()});
    byEdge.push_back(number->second);
    if (isNew)
      rows.push_back({from, to, problem.linkBetween(from, to),
                      problem.cards.between(from, to)});
  }
}

void LinkTable::reverse() {
  for (Row &row : rows) {
    std::swap(row.from, row.to);
    std::swap(row.sides.out, row.sides.in);
  }
}

Network::Network(const LinkTable &table, bool withCards)
    : links(table.count()), numPairs(int64_t(table.numRanks) * table.numRanks),
      outFreeNs(table.numCards), inFreeNs(table.numCards) {
  for (int32_t link = 0; link < table.count(); ++link) {
    const LinkTable::Row &row = table[link];
    links[link].number = int64_t(row.from) * table.numRanks + row.to;
    if (withCards)
      links[link].sides = row.sides;
  }
}

void Network::reset() {
  for (LinkState &link : links)
    link.freeNs = link.asked = link.turnNs = 0;
  std::fill(outFreeNs.begin(), outFreeNs.end(), 0);
  std::fill(inFreeNs.begin(), inFreeNs.end(), 0);
  requests = {};
}

int64_t Network::carryOverCards(const std::vector<int32_t> &cards,
                                int64_t readyNs, int64_t ns) {
  for (const int32_t card : cards)
    readyNs = freeNs({card, card}, readyNs);
  for (const int32_t card : cards)
    hold({card, card}, readyNs, ns);
  return readyNs + ns;
}
