//===- MinMaxProgram.cpp - Plans of the least workload --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/MinMaxProgram.h"

#include <algorithm>

using namespace rondo;

static constexpr int64_t never = PlanTimer::never;

static int64_t ceilDivided(__int128 dividend, int64_t divisor) {
  return static_cast<int64_t>((dividend + divisor - 1) / divisor);
}

MinMaxProgram::MinMaxProgram(const ChainProblem &problem,
                             const std::vector<int32_t> &order,
                             WorkloadRule rule, int32_t mostStages)
    : problem(problem), order(order), rule(rule), sums(problem),
      L(problem.numLayers()), G(static_cast<int32_t>(order.size())),
      stages(std::min({mostStages, L, G})) {
  measureGroups();
  const size_t states = at(stages, L, G, G) + 1;
  least.assign(states, never);
  choices.resize(states);
  fill();
}

void MinMaxProgram::measureGroups() {
  const size_t side = static_cast<size_t>(G) + 1;
  rateWithin.assign(side * side, never);
  latencyWithin.assign(side * side, 0);
  rateAcross.assign(side * side * side, never);
  latencyAcross.assign(side * side * side, 0);
  for (int32_t used = 1; used <= G; ++used)
    for (int32_t r = 1; r <= used; ++r) {
      // The group without its first device, and that one.
      const int32_t one = order[used - r];
      int64_t rate = r > 1 ? rateWithin[used * side + r - 1] : never,
              latency = r > 1 ? latencyWithin[used * side + r - 1] : 0;
      for (int32_t k = used - r + 1; k < used; ++k) {
        rate = std::min({rate, problem.rate(one, order[k]),
                         problem.rate(order[k], one)});
        latency = std::max(latency, problem.latencyNs(one, order[k]));
      }
      rateWithin[used * side + r] = rate;
      latencyWithin[used * side + r] = latency;
      for (int32_t before = 1; before <= used - r; ++before) {
        const size_t here = (used * side + r) * side + before;
        const int32_t added = order[used - r - before];
        rate = before > 1 ? rateAcross[here - 1] : never;
        latency = before > 1 ? latencyAcross[here - 1] : 0;
        for (int32_t k = used - r; k < used; ++k) {
          rate = std::min({rate, problem.rate(added, order[k]),
                           problem.rate(order[k], added)});
          latency = std::max(latency, problem.latencyNs(added, order[k]));
        }
        rateAcross[here] = rate;
        latencyAcross[here] = latency;
      }
    }
}

int64_t MinMaxProgram::stageWork(int32_t first, int32_t end, int32_t r,
                                 int32_t used) const {
  const size_t side = static_cast<size_t>(G) + 1;
  int64_t work =
      problem.microbatches * (ceilDivided(sums.forwardNs(first, end), r) +
                              ceilDivided(sums.backwardNs(first, end), r));
  if (r > 1)
    work += 2 * (r - 1) * latencyWithin[used * side + r] +
            ceilDivided(__int128(2000) * (r - 1) *
                            sums.parameterBytes(first, end),
                        r * rateWithin[used * side + r]);
  return work;
}

void MinMaxProgram::fill() {
  const size_t side = static_cast<size_t>(G) + 1;
  const int64_t messages = problem.microbatches * rule.messagesPerMicrobatch;
  for (int32_t layers = 1; layers <= L; ++layers)
    for (int32_t r = 1; r <= G; ++r)
      least[at(1, layers, r, r)] = stageWork(0, layers, r, r);
  for (int32_t x = 2; x <= stages; ++x)
    for (int32_t layers = x; layers <= L; ++layers)
      for (int32_t used = x; used <= G; ++used)
        for (int32_t r = 1; r <= used - (x - 1); ++r) {
          int64_t &best = least[at(x, layers, r, used)];
          Choice &choice = choices[at(x, layers, r, used)];
          for (int32_t before = layers - 1; before >= x - 1; --before) {
            const int64_t work = stageWork(before, layers, r, used);
            // More layers take no less time.
            if (work > best)
              break;
            const int64_t bytes = problem.layers[before - 1].outputBytes;
            for (int32_t other = 1; other <= used - r; ++other) {
              const int64_t rest = least[at(x - 1, before, other, used - r)];
              if (rest > best)
                continue;
              const size_t group = (used * side + r) * side + other;
              const int64_t channel =
                  messages * (latencyAcross[group] +
                              ceilDivided(__int128(1000) * bytes,
                                          int64_t(r) * other *
                                              rateAcross[group]));
              const int64_t value = std::max({rest, channel, work});
              if (value > best ||
                  (value == best && before == choice.layers &&
                   choice.devices <= other))
                continue;
              best = value;
              choice = {static_cast<int16_t>(before),
                        static_cast<int16_t>(other)};
            }
          }
        }
}

int64_t MinMaxProgram::workload(int32_t x, int32_t devices) const {
  return x < 1 || x > stages || devices < 1 || devices > G
             ? never
             : least[at(x, L, devices, G)];
}

ChainPlan MinMaxProgram::plan(int32_t x, int32_t devices) const {
  ChainPlan plan(x);
  int32_t layers = L, used = G, r = devices;
  for (int32_t n = x; n-- > 0;) {
    const Choice choice = n > 0 ? choices[at(n + 1, layers, r, used)] : Choice();
    plan[n] = {n > 0 ? choice.layers : 0, layers,
               {order.begin() + (used - r), order.begin() + used}};
    layers = choice.layers;
    used -= r;
    r = choice.devices;
  }
  return plan;
}
