//===- EdgeTable.cpp - A problem's edges by replica -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/model/EdgeTable.h"

using namespace rondo;

EdgeTable::EdgeTable(const Problem &problem)
    : numReplicas(problem.numReplicas()) {
  auto fill = [&](Lists &lists, int32_t Edge::*replica) {
    auto rowOf = [&](const Edge &edge) {
      return row(edge.*replica, edge.message());
    };
    lists.begin.assign(numMessageKinds * numReplicas + 2, 0);
    for (const Edge &edge : problem.edges)
      ++lists.begin[rowOf(edge) + 1];
    for (size_t i = 1; i < lists.begin.size(); ++i)
      lists.begin[i] += lists.begin[i - 1];
    lists.edges.resize(problem.edges.size());
    std::vector<int32_t> next = lists.begin;
    for (size_t e = 0; e < problem.edges.size(); ++e)
      lists.edges[next[rowOf(problem.edges[e])]++] = static_cast<int32_t>(e);
  };
  fill(in, &Edge::to);
  fill(out, &Edge::from);
}
