//===- Wave.cpp - Chunks that run down and up the ranks ---------*- C++ -*-===//
//
// Liu et al., "Hanayo: Harnessing Wave-like Pipeline Parallelism for Enhanced
// Large Model Training Efficiency", arXiv 2308.15762. With W waves a rank holds
// v = 2W chunks; two neighbouring chunks meet on the first or the last rank,
// where nothing is sent. Fused B.
//
//   P = 2, v = 2, stages 0 3 on rank 0, 1 2 on rank 1
//   rank 0   0F0 0F1
//   rank 1       1F0
//
// The paper's order is what runs if a rank, whenever it is free, starts the
// oldest backward that it can, else the forward of its latest chunk that it
// can, with at most P micro-batches under way. It is written with a clock of
// its own, F = 1 and B = 2, whatever the problem's times are.
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
  // By stage.
  std::vector<int32_t> forwards(problem.numStages(), 0),
      backwards(problem.numStages(), 0);

  ListRule rule = [&](int32_t rank,
                      const Arrivals &arrivals) -> std::optional<Action> {
    int32_t oldest = -1;
    for (int32_t c = chunks.count - 1; c >= 0; --c) {
      int32_t s = chunks.stage(c, rank);
      if (backwards[s] < arrivals.backward[s] &&
          (oldest < 0 || backwards[s] < backwards[oldest]))
        oldest = s;
    }
    if (oldest >= 0)
      return Action(ActionKind::Backward, oldest, backwards[oldest]++);
    for (int32_t c = chunks.count - 1; c >= 0; --c) {
      int32_t s = chunks.stage(c, rank);
      if (forwards[s] < arrivals.forward[s] &&
          (s > 0 || forwards[0] - backwards[0] < chunks.ranks))
        return Action(ActionKind::Forward, s, forwards[s]++);
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
