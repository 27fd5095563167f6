//===- Network.cpp - When links and NICs are free ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/simulate/Network.h"

#include <map>

using namespace rondo;

LinkTable::LinkTable(const Problem &problem)
    : numRanks(problem.numRanks()), numNics(problem.nics.count()) {
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
                      problem.nics.between(from, to)});
  }
}

void LinkTable::reverse() {
  for (Row &row : rows) {
    std::swap(row.from, row.to);
    std::swap(row.sides.out, row.sides.in);
  }
}

Network::Network(const LinkTable &table, bool withNics)
    : links(table.count()), numPairs(int64_t(table.numRanks) * table.numRanks),
      outFreeNs(table.numNics), inFreeNs(table.numNics) {
  for (int32_t link = 0; link < table.count(); ++link) {
    const LinkTable::Row &row = table[link];
    links[link].number = int64_t(row.from) * table.numRanks + row.to;
    if (withNics)
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

int64_t Network::carryOverNics(const std::vector<int32_t> &nics,
                               int64_t readyNs, int64_t ns) {
  for (const int32_t nic : nics)
    readyNs = freeNs({nic, nic}, readyNs);
  for (const int32_t nic : nics)
    hold({nic, nic}, readyNs, ns);
  return readyNs + ns;
}
