//===- Spp.cpp - SPP's execution order --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Luo et al., "Efficient Pipeline Planning for Expedited Distributed DNN
// Training", INFOCOM 2022, arXiv 2204.10562, as reconstructed by Rondo: a list
// schedule by cycles that uses the problem's times. SppClock.h has the rules.
// Fused B.
//
//   F = (2, 1), B = (4, 2), a message 1
//   rank 0   F0 F0 F1 F1 F2 F2    B0 B0 B0 B0 B1 B1 B1 B1 B2 B2 B2 B2
//   rank 1            F0 B0 B0 F1 B1 B1       F2 B2 B2
//
// The last rank runs each B right after its F. The other ranks run what is
// ready; if both an F and a B are, the one of the earlier cycle. F of
// micro-batch m on rank s has the cycle m + 2s, B has m + 4(S - 1) - 2s.
//
// Let C be the largest of the stages' F + B and of the channels' two messages.
// Then the order ends by (M + 4S - 4) C. Only M bounds the activations of a
// rank; rule S5 checks whether they fit. With F : B = 1 : 2, equal stages and
// free messages, the makespan is that of 1F1B, (F + B)(M + S - 1), and rank s
// holds min(M, 4(S - 1 - s) + 1).
//
// Here a channel carries both directions, and a message holds it for its
// latency and its time on the link. In a problem, a link has one direction, and
// its next message can leave during a latency. So the order is made for slower
// channels: its simulated time is at most that of SPP's clock, and the same if
// messages are free.
//
//===----------------------------------------------------------------------===//

#include "schedule/families/Registry.h"
#include "schedule/families/SppClock.h"

using namespace rondo;

static FamilyResult generateSpp(const Problem &problem,
                                const FamilyArguments &) {
  if (auto fault = needLinearPlacement("spp", problem))
    return *fault;
  const int32_t stages = problem.numStages();
  SppClock clock(problem.microbatches, SppClock::Duplex::Half);
  clock.setNumStages(stages);
  auto messageNs = [&](int32_t edge) {
    const Edge &of = problem.edges[edge];
    const Link link = problem.linkBetween(of.from, of.to);
    return link.latencyNs + link.occupancyNs(of.bytes);
  };
  for (int32_t s = 0; s < stages; ++s) {
    const bool isLast = s + 1 == stages;
    clock.setStage(s, problem.cost(s, ActionKind::Forward).ns,
                   problem.cost(s, ActionKind::Backward).ns,
                   isLast ? 0 : messageNs(s),
                   isLast ? 0 : messageNs(stages - 1 + s));
  }
  std::vector<int64_t> latest(clock.numResources(), maxSum);
  std::vector<SppClock::Block> blocks;
  blocks.reserve(size_t(4 * stages - 3) * problem.microbatches);
  clock.run(latest, &blocks);

  std::vector<std::vector<Action>> orders(stages);
  // Indexed by position.
  std::vector<std::vector<Action>> tasks(size_t(4) * (stages - 1) + 1);
  for (int32_t s = 0; s < stages; ++s) {
    tasks[clock.forwardOf(s)].push_back({ActionKind::Forward, s, 0});
    tasks[clock.backwardOf(s)].push_back({ActionKind::Backward, s, 0});
  }
  for (const SppClock::Block &block : blocks)
    for (Action task : tasks[block.position])
      orders[task.subject].push_back(Action(
          task.kind(), static_cast<int64_t>(task.subject), block.microbatch));
  return Schedule(orders);
}

/// Steps of the heap of events: four blocks for every stage and micro-batch.
static int64_t stepsOfSpp(const Problem &problem) {
  return int64_t(40) * problem.numStages() * problem.microbatches;
}

Family rondo::spp() {
  Family family;
  family.name = "spp";
  family.summary = "whatever is ready, earliest cycle first, backwards first";
  family.source = "Luo et al., arXiv 2204.10562";
  family.generate = generateSpp;
  family.extraSteps = stepsOfSpp;
  family.needsChain = true;
  return family;
}
