//===- MinMaxProgram.cpp - Plans of the least workload --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/MinMaxProgram.h"

#include <algorithm>

using namespace rondo;

MinMaxProgram::MinMaxProgram(const ChainProblem &problem,
                             const OrderedGroups &groups, int32_t maxStages,
                             int64_t maxWorkload)
    : problem(problem), groups(groups), costs(problem), L(problem.numLayers()),
      U(groups.numUnits()), most(std::min({maxStages, L, U})),
      maxWorkload(maxWorkload) {
  const size_t states = at(most, L, U, U) + 1;
  least.assign(states, infinite);
  choices.resize(states);
  for (int32_t layers = 1; layers <= L; ++layers)
    for (int32_t count = 1; count <= U; ++count)
      if (const int64_t work = stageWork(0, layers, count, count);
          work <= maxWorkload)
        least[at(1, layers, count, count)] = work;
  for (int32_t stages = 2; stages <= most; ++stages)
    for (int32_t layers = stages; layers <= L; ++layers)
      for (int32_t used = stages; used <= U; ++used)
        for (int32_t count = 1; count <= used - (stages - 1); ++count)
          fill(stages, layers, count, used);
}

int64_t MinMaxProgram::stageWork(int32_t first, int32_t end, int32_t count,
                                 int32_t used) const {
  const int32_t devices = count * groups.devicesPerUnit();
  const int64_t speed = groups.weakest(used - count, used).speedPercent;
  return problem.microbatches * (costs.forwardNs(first, end, devices, speed) +
                                 costs.backwardNs(first, end, devices, speed)) +
         costs.allReduceNs(first, end, devices,
                           groups.within(used - count, used));
}

int64_t MinMaxProgram::channelWork(int32_t layer, int32_t other, int32_t count,
                                   int32_t used) const {
  const GroupLink &link =
      groups.across(used - count - other, used - count, used);
  const int64_t unit = groups.devicesPerUnit();
  return 2 * int64_t(problem.microbatches) *
         costs.messageNs(layer, unit * count, unit * other,
                         std::min(link.rate, link.rateBack), link.latencyNs,
                         link.inTurn);
}

void MinMaxProgram::fill(int32_t stages, int32_t layers, int32_t count,
                         int32_t used) {
  int64_t &best = least[at(stages, layers, count, used)];
  Choice &choice = choices[at(stages, layers, count, used)];
  for (int32_t before = layers - 1; before >= stages - 1; --before) {
    const int64_t work = stageWork(before, layers, count, used);
    // More layers take no less time.
    if (work > std::min(best, maxWorkload))
      return;
    for (int32_t other = 1; other <= used - count; ++other) {
      const int64_t rest = least[at(stages - 1, before, other, used - count)];
      if (rest > best || rest == infinite)
        continue;
      const int64_t value =
          std::max({rest, channelWork(before, other, count, used), work});
      // Among equals, prefers the fewest layers before, then the fewest units.
      if (value > std::min(best, maxWorkload) ||
          (value == best && before == choice.layers && choice.units <= other))
        continue;
      best = value;
      choice = {static_cast<int16_t>(before), static_cast<int16_t>(other)};
    }
  }
}

int64_t MinMaxProgram::workload(int32_t stages, int32_t units) const {
  return stages < 1 || stages > most || units < 1 || units > U
             ? infinite
             : least[at(stages, L, units, U)];
}

ChainPlan MinMaxProgram::plan(int32_t stages, int32_t units) const {
  ChainPlan plan(stages);
  int32_t layers = L, used = U, count = units;
  for (int32_t n = stages; n-- > 0;) {
    const Choice choice =
        n > 0 ? choices[at(n + 1, layers, count, used)] : Choice();
    plan[n] = {choice.layers, layers, groups.devices(used - count, used)};
    layers = choice.layers;
    used -= count;
    count = choice.units;
  }
  return plan;
}
