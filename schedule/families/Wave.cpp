//===- Wave.cpp - Chunks that run down and up the ranks ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Liu et al., "Hanayo: Harnessing Wave-like Pipeline Parallelism for Enhanced
// Large Model Training Efficiency", arXiv 2308.15762. With W waves a rank holds
// v = 2W chunks; two neighbouring chunks meet on the first or the last rank,
// which needs no message between them. Fused B.
//
//   P = 2, v = 2
//   rank 0   0F0 0F1     3F0 3B0 --- 3F1 3B1 ---     0B0 ---         0B1 ---
//   rank 1       1F0 2F0 1F1 2F1     2B0 --- 1B0 --- 2B1 --- 1B1 ---
//
// The paper draws M = P micro-batches. That round results if a free rank starts
// the backward of the oldest micro-batch that is ready, else the forward of the
// latest chunk that is ready. For any M, a rank takes the forwards and the
// backwards of each round in the order of the first round, and prefers
// backwards whenever it is free. The last round may be shorter. The clock is
// the family's own, F = 1 and B = 2, for any times of the problem.
//
// A rank holds P activations. With this F : B, v = 2 and u rounds of P, the
// makespan is 3M + 2(P - 1) + (u - 1)(P - 1.5) in times of a whole rank; more
// waves have a smaller bubble.
//
//===----------------------------------------------------------------------===//

#include "schedule/families/ListScheduler.h"
#include "schedule/families/Registry.h"

#include <algorithm>

using namespace rondo;

namespace {

/// Forwards and backwards of a rank, each in order.
struct RankTasks {
  std::vector<Action> forwards, backwards;
};

} // namespace

static Schedule runByOwnClock(const Problem &problem, const ListRule &rule) {
  ListTimes times;
  times.taskNs = [](Action a) {
    return a.kind() == ActionKind::Backward ? 2 : 1;
  };
  times.message = [](const Edge &, Action) { return MessageTimes(); };
  return listSchedule(problem, times, rule);
}

/// Adds the tasks of a round of `problem.microbatches`, from micro-batch
/// `first` on.
static void addRound(const Problem &problem, const Chunks &chunks,
                     int64_t first, std::vector<RankTasks> &tasks) {
  // [stage]: number of tasks started.
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
      if (forwards[s] < arrivals.forward[s])
        return Action(ActionKind::Forward, s, forwards[s]++);
    }
    return std::nullopt;
  };
  Schedule round = runByOwnClock(problem, rule);
  for (int32_t r = 0; r < chunks.ranks; ++r)
    for (Action a : round.rank(r)) {
      RankTasks &of = tasks[r];
      (a.kind() == ActionKind::Forward ? of.forwards : of.backwards)
          .push_back(Action(a.kind(), a.subject, first + int64_t(a.index)));
    }
}

static FamilyResult generateWave(const Problem &problem,
                                 const FamilyArguments &) {
  auto placement = needWavePlacement("wave", problem);
  if (!placement)
    return placement.fault();
  const Chunks &chunks = *placement;
  std::vector<RankTasks> tasks(chunks.ranks);
  Problem round = problem;
  round.microbatches = std::min(chunks.ranks, problem.microbatches);
  addRound(round, chunks, 0, tasks);
  // Equal rounds are shifts of the first.
  const size_t size = tasks[0].forwards.size();
  int32_t next = round.microbatches;
  for (; next + round.microbatches <= problem.microbatches;
       next += round.microbatches)
    for (RankTasks &of : tasks)
      for (std::vector<Action> *list : {&of.forwards, &of.backwards})
        for (size_t k = 0; k < size; ++k) {
          Action a = (*list)[k];
          list->push_back(Action(a.kind(), a.subject, next + int64_t(a.index)));
        }
  if (next < problem.microbatches) {
    round.microbatches = problem.microbatches - next;
    addRound(round, chunks, next, tasks);
  }

  std::vector<size_t> forwards(chunks.ranks, 0), backwards(chunks.ranks, 0);
  ListRule rule = [&](int32_t rank,
                      const Arrivals &arrivals) -> std::optional<Action> {
    auto take =
        [](const std::vector<Action> &list, size_t &done,
           const std::vector<int32_t> &arrived) -> std::optional<Action> {
      if (done == list.size() ||
          static_cast<int32_t>(list[done].index) >= arrived[list[done].subject])
        return std::nullopt;
      return list[done++];
    };
    if (auto action =
            take(tasks[rank].backwards, backwards[rank], arrivals.backward))
      return action;
    return take(tasks[rank].forwards, forwards[rank], arrivals.forward);
  };
  return runByOwnClock(problem, rule);
}

Family rondo::wave() {
  Family family;
  family.name = "wave";
  family.summary = "chunks that run down and up the ranks";
  family.source = "Liu et al., arXiv 2308.15762";
  family.generate = generateWave;
  family.extraSteps = stepsOfListSchedule;
  family.needsChain = true;
  return family;
}
