//===- ProblemHost.cpp - What the host adds to tasks ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/EdgeTable.h"
#include "schedule/Problem.h"

using namespace rondo;

int64_t Problem::hostNs(const EdgeTable &table, int32_t home,
                        ActionKind kind) const {
  if (hosts.empty() || !traitsOf(kind).isTask() ||
      (kind == ActionKind::Recompute && !recomputes(home)))
    return 0;
  const HostCosts &host = hosts[rankOf(home)];
  int64_t ns = host.actionNs;
  for (int32_t e : table.inputs(home, kind))
    if (rankOf(edges[e].from) != rankOf(home))
      ns += host.receiveNs + host.waitNs;
  for (int32_t e : table.outputs(home, kind))
    if (rankOf(edges[e].to) != rankOf(home))
      ns += host.sendNs;
  return ns;
}

void Problem::addHostCosts() {
  if (hosts.empty())
    return;
  const EdgeTable table(*this);
  for (int32_t home = 0; home < numHomes(); ++home)
    for (const ActionTraits &traits : actionTable.rows)
      if (traits.isTask())
        cost(home, traits.kind).ns += hostNs(table, home, traits.kind);
}
