//===- PipeDream.cpp - PipeDream's program --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the paper: the program over layers and machines that minimizes the time
// of the slowest stage or message. A stage on r machines takes the longer of an
// r-th of its work and the time of its sum of gradients, and all links have one
// bandwidth. Different here: that bandwidth is the lowest one, and stages take
// devices by server. A flushed iteration sums once, not with every micro-batch,
// so the program also runs with a micro-batch's share of a sum, and the faster
// of the two plans counts.
//===----------------------------------------------------------------------===//

#include "planning/chain/baselines/Planners.h"

using namespace rondo;

namespace {

class PipeDreamProgram {
public:
  PipeDreamProgram(const ChainProblem &problem, bool sumsOnce);
  ChainPlan plan(const std::vector<int32_t> &order) const;

private:
  struct State {
    double slowest = std::numeric_limits<double>::infinity();
    int32_t layers = 0, devices = 0;
  };
  double stageNs(int32_t first, int32_t end, int32_t devices) const;
  /// The time of the messages in both directions.
  double messagesNs(int32_t layer) const {
    return 2000. * static_cast<double>(costs.boundaryBytes(layer)) / rate;
  }
  size_t at(int32_t layers, int32_t devices) const {
    return static_cast<size_t>(layers) * (G + 1) + devices;
  }

  const ChainCosts costs;
  const int32_t L, G, M;
  const bool sumsOnce;
  double rate = std::numeric_limits<double>::infinity();
  /// [layers][devices]: the best plan of the first layers on that number of
  /// devices.
  std::vector<State> states;
};

PipeDreamProgram::PipeDreamProgram(const ChainProblem &problem, bool sumsOnce)
    : costs(problem), L(problem.numLayers()), G(problem.numDevices()),
      M(problem.microbatches), sumsOnce(sumsOnce) {
  for (int32_t u = 0; u < G; ++u)
    for (int32_t v = 0; v < G; ++v)
      if (u != v)
        rate = std::min(rate, static_cast<double>(problem.rate(u, v)));
  states.resize(at(L, G) + 1);
  for (int32_t end = 1; end <= L; ++end)
    for (int32_t used = 1; used <= G; ++used) {
      State best = {stageNs(0, end, used), 0, 0};
      for (int32_t first = 1; first < end; ++first) {
        const double messages = messagesNs(first);
        for (int32_t before = 1; before < used; ++before) {
          const double slowest =
              std::max({states[at(first, before)].slowest, messages,
                        stageNs(first, end, used - before)});
          if (slowest < best.slowest)
            best = {slowest, first, before};
        }
      }
      states[at(end, used)] = best;
    }
}

double PipeDreamProgram::stageNs(int32_t first, int32_t end,
                                 int32_t devices) const {
  const double work = static_cast<double>(costs.forwardNs(first, end) +
                                          costs.backwardNs(first, end)) /
                      devices;
  if (devices == 1)
    return work;
  const double sum = 2000. * (devices - 1) / devices *
                     static_cast<double>(costs.parameterBytes(first, end)) /
                     rate;
  return sumsOnce ? work + sum / M : std::max(work, sum);
}

ChainPlan PipeDreamProgram::plan(const std::vector<int32_t> &order) const {
  ChainPlan plan;
  for (int32_t end = L, used = G; end > 0;) {
    const State &state = states[at(end, used)];
    plan.push_back({state.layers,
                    end,
                    {order.begin() + state.devices, order.begin() + used}});
    end = state.layers;
    used = state.devices;
  }
  return {plan.rbegin(), plan.rend()};
}

} // namespace

BaselinePlan baseline::pipedream(const ChainProblem &problem,
                                 PlanEvaluator evaluator) {
  if (hasManySteps(problem))
    return tooLarge(problem);
  const ServerRow row = devicesByServer(problem);
  ChainPlan always = PipeDreamProgram(problem, false).plan(row.devices),
            once = PipeDreamProgram(problem, true).plan(row.devices);
  const bool isOnceFaster =
      timeOf(problem, evaluator, once) < timeOf(problem, evaluator, always);
  return {std::move(isOnceFaster ? once : always), ""};
}
