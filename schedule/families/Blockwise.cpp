//===- Blockwise.cpp - Units of micro-batches without bubbles ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ding Tang et al., "ZeroPP", arXiv 2402.03791 (version 1: "Adaptive Blockwise
// Task-interleaved Pipeline Parallelism"). The paper gives the unit and the
// staggering; the list schedule below is our reconstruction of it. Stage =
// chunk * P + rank; v chunks; parameters may be gathered once per chunk and
// unit.
//
//   P = 3, v = 1, U = 5
//   rank 0   F0 F1 F2 F3 F4 I0 W0 I1 W1 I2 W2 I3 W3 I4 W4
//   rank 1      F0 F1 F2 I0 F3 I1 F4 I2 W0 I3 W1 I4 W2 W3 W4
//   rank 2         F0 I0 F1 I1 F2 I2 F3 I3 F4 I4 W0 W1 W2 W3 W4
//
// M micro-batches are cut into units of U; the last may be shorter. In a unit,
// a rank takes F by ascending chunk, I by descending chunk, and W in the order
// of its I, each by ascending micro-batch. Whenever it is free it starts the
// first of these that it can:
//
//   the next I whose gradient has arrived;
//   the next F whose input has arrived, if all I of the units before have run
//   on this rank and fewer than U v activations are held;
//   the oldest pending W.
//
// It holds at most U v chunk activations. The clock uses the problem's times
// and latencies. With equal times, v >= 2 and U >= P (v = 1: U >= 2P - 2), the
// makespan is M v (F + I + W) + (P - 1) F in times of a chunk.
//
//===----------------------------------------------------------------------===//

#include "schedule/families/ListScheduler.h"
#include "schedule/families/Registry.h"

#include <algorithm>

using namespace rondo;

namespace {

/// The k-th F, I and W of a rank, by unit, chunk and micro-batch.
struct Units {
  int64_t unit, chunks, microbatches;

  /// Chunk tasks of a full unit.
  int64_t slots() const { return unit * chunks; }
  int64_t total() const { return microbatches * chunks; }
  int64_t unitOf(int64_t k) const { return k / slots(); }
  /// Position among the chunks of the unit, and micro-batch.
  std::pair<int32_t, int64_t> at(int64_t k) const {
    int64_t first = unitOf(k) * unit, j = k % slots();
    int64_t size = std::min(unit, microbatches - first);
    return {static_cast<int32_t>(j / size), first + j % size};
  }
};

struct Progress {
  int64_t forwards = 0, inputGrads = 0, weightGrads = 0;
};

} // namespace

static FamilyResult generateBlockwise(const Problem &problem,
                                      const FamilyArguments &arguments) {
  auto placement = needLoopedPlacement("blockwise", problem);
  if (!placement)
    return placement.fault();
  const Chunks &chunks = *placement;
  if (const int64_t count = arguments.at("v");
      count != 0 && count != chunks.count)
    return makeFault<FaultKind::ChunksDiffer>("blockwise", count, chunks.count);
  int64_t unit = arguments.at("u");
  if (unit == 0)
    unit = chunks.ranks;
  const Units units{std::min<int64_t>(unit, problem.microbatches), chunks.count,
                    problem.microbatches};
  std::vector<Progress> progress(chunks.ranks);

  ListRule rule = [&](int32_t rank,
                      const Arrivals &arrivals) -> std::optional<Action> {
    Progress &done = progress[rank];
    auto task = [&](ActionKind kind, int64_t k) {
      auto [position, microbatch] = units.at(k);
      bool isForward = kind == ActionKind::Forward;
      return Action(
          kind,
          chunks.stage(isForward ? position : chunks.count - 1 - position,
                       rank),
          microbatch);
    };
    if (done.inputGrads < units.total()) {
      Action next = task(ActionKind::InputGrad, done.inputGrads);
      if (static_cast<int32_t>(next.index) < arrivals.backward[next.subject]) {
        ++done.inputGrads;
        return next;
      }
    }
    if (done.forwards < units.total() &&
        done.inputGrads >= units.unitOf(done.forwards) * units.slots() &&
        done.forwards - done.weightGrads < units.slots()) {
      Action next = task(ActionKind::Forward, done.forwards);
      if (static_cast<int32_t>(next.index) < arrivals.forward[next.subject]) {
        ++done.forwards;
        return next;
      }
    }
    if (done.weightGrads < done.inputGrads)
      return task(ActionKind::WeightGrad, done.weightGrads++);
    return std::nullopt;
  };
  ListTimes times;
  times.taskNs = [&](Action a) { return problem.cost(a.subject, a.kind()).ns; };
  // Messages do not wait for one another.
  times.message = [&](const Edge &edge, Action) {
    int32_t from = problem.rankOf(edge.from), to = problem.rankOf(edge.to);
    if (from == to)
      return MessageTimes();
    const Link link = problem.linkBetween(from, to);
    return MessageTimes{0, link.occupancyNs(edge.bytes) + link.latencyNs};
  };
  return listSchedule(problem, times, rule);
}

/// Sizes U of a unit: the most micro-batches that fit, the 2P - 2 that one
/// chunk per rank needs, and sizes between. The default P is no variant.
static std::vector<FamilyArguments>
variantsOfBlockwise(const Problem &problem) {
  std::vector<FamilyArguments> variants;
  const int64_t fit = microbatchesThatFit(problem), ranks = problem.numRanks();
  std::vector<int64_t> tried = {std::min<int64_t>(ranks, problem.microbatches)};
  for (int64_t unit : {fit, 2 * ranks - 2, ranks * 3 / 2, fit / 2})
    if (unit > 0 && unit <= fit &&
        std::find(tried.begin(), tried.end(), unit) == tried.end()) {
      variants.push_back({{"u", unit}});
      tried.push_back(unit);
    }
  return variants;
}

Family rondo::blockwise() {
  Family family;
  family.name = "blockwise";
  family.summary = "units of micro-batches, chunk by chunk, staggered";
  family.source = "Tang et al., arXiv 2402.03791";
  family.parameters = {
      {"u", 0, 0, "micro-batches per unit, 0 for the number of ranks, or auto",
       /*mayBeAuto=*/true},
      {"v", 0, 0, "chunks per rank, 0 for the plan's, or auto",
       /*mayBeAuto=*/true, /*isOfPlan=*/true}};
  family.generate = generateBlockwise;
  family.variants = variantsOfBlockwise;
  family.extraSteps = stepsOfListSchedule;
  family.needsChain = true;
  return family;
}
