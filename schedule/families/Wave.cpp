//===- Wave.cpp - Chunks that run down and up the ranks ---------*- C++ -*-===//
//
// Liu et al., "Hanayo: Harnessing Wave-like Pipeline Parallelism for Enhanced
// Large Model Training Efficiency", arXiv 2308.15762. With W waves a rank holds
// v = 2W chunks; two neighbouring chunks meet on the first or the last rank,
// where nothing is sent. Fused B.
//
//   P = 2, v = 2
//   rank 0   0F0 0F1     3F0 3B0 --- 3F1 3B1 ---     0B0 ---         0B1 ---
//   rank 1       1F0 2F0 1F1 2F1     2B0 --- 1B0 --- 2B1 --- 1B1 ---
//
// The paper draws M = P micro-batches; for any M the order here is what runs if
// a rank, whenever it is free, starts the backward of the oldest micro-batch
// that it can, else the forward of its latest chunk that it can. A micro-batch
// comes to a rank only while the rank holds less than P(v - 1) + 2P - 1 chunk
// activations, as the first rank of interleaved 1F1B does. The clock is the
// family's own, F = 1 and B = 2, whatever the problem's times are. With F : B
// so, v = 2 and M = P makespan 3M + 2(P - 1) in times of a whole rank.
//
//===----------------------------------------------------------------------===//

#include "schedule/families/ListScheduler.h"
#include "schedule/families/Registry.h"

#include <algorithm>

using namespace rondo;

static FamilyResult generateWave(const Problem &problem,
                                 const FamilyArguments &) {
  auto placement = needWavePlacement("wave", problem);
  if (auto *reason = std::get_if<NotApplicable>(&placement))
    return *reason;
  const Chunks &chunks = std::get<Chunks>(placement);
  const int64_t limit = int64_t(chunks.ranks) * (chunks.count + 1) - 1;
  // By stage: how many have started.
  std::vector<int32_t> forwards(problem.numStages(), 0),
      backwards(problem.numStages(), 0);
  std::vector<int64_t> held(chunks.ranks, 0);

  ListRule rule = [&](int32_t rank,
                      const Arrivals &arrivals) -> std::optional<Action> {
    int32_t oldest = -1;
    for (int32_t c = chunks.count - 1; c >= 0; --c) {
      int32_t s = chunks.stage(c, rank);
      if (backwards[s] < arrivals.backward[s] &&
          (oldest < 0 || backwards[s] < backwards[oldest]))
        oldest = s;
    }
    if (oldest >= 0) {
      --held[rank];
      return Action(ActionKind::Backward, oldest, backwards[oldest]++);
    }
    for (int32_t c = chunks.count - 1; c >= 0; --c) {
      int32_t s = chunks.stage(c, rank);
      if (forwards[s] < arrivals.forward[s] && (c > 0 || held[rank] < limit)) {
        ++held[rank];
        return Action(ActionKind::Forward, s, forwards[s]++);
      }
    }
    return std::nullopt;
  };
  ListTimes times;
  times.taskNs = [](Action a) {
    return a.kind() == ActionKind::Backward ? 2 : 1;
  };
  times.messageNs = [](const Edge &) { return 0; };
  return listSchedule(problem, times, rule);
}

Family rondo::wave() {
  return {"wave",
          "chunks that run down and up the ranks",
          "Liu et al., arXiv 2308.15762",
          {},
          generateWave};
}
