//===- SettledTime.cpp - Time per iteration of a long run -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/simulate/SettledTime.h"
#include "schedule/model/Task.h"

#include <algorithm>

using namespace rondo;

/// Maximum number of iterations whose tasks are under way at once on any rank.
static int32_t iterationsUnderWay(const Problem &window,
                                  const Schedule &schedule) {
  const int64_t each = window.microbatchesEach();
  int64_t most = 1;
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    // [replica]: number of steps so far, which is the oldest iteration not
    // stepped.
    std::vector<int64_t> steps(window.numReplicas(), 0);
    for (Action action : schedule.rank(r))
      if (action.kind() == ActionKind::Step)
        ++steps[action.subject];
      else if (action.kind() == ActionKind::Forward)
        most = std::max(most, int64_t(action.index) / each + 1 -
                                  steps[action.subject]);
  }
  return static_cast<int32_t>(most);
}

namespace {

/// Start times of tasks and end times of steps, one row per iteration.
class Rows {
public:
  Rows(const Problem &window, const Schedule &schedule,
       const Simulation &simulation)
      : each(window.microbatchesEach()),
        ofReplica(tasksPerMicrobatch * each + 1),
        width(window.numReplicas() * ofReplica),
        times(width * window.iterations, 0) {
    for (int64_t i = 0; i < schedule.numActions(); ++i) {
      const Action action = schedule.rank(0).begin()[i];
      const int64_t replica = action.subject;
      if (action.kind() == ActionKind::Step) {
        times[action.index * width + (replica + 1) * ofReplica - 1] =
            simulation.endNs[i];
        continue;
      }
      // R is not compared: its start follows from its backward.
      if (!action.isTask() || action.kind() == ActionKind::Recompute)
        continue;
      const int64_t task = indexOf(taskOf(action.kind()));
      for (int64_t m = action.index, end = m + action.count; m < end; ++m)
        times[m / each * width + replica * ofReplica + task * each + m % each] =
            simulation.startNs[i];
    }
  }

  /// Whether every time of row k is `by` later than in row k - c. Tasks that
  /// the order does not have are 0 in all rows.
  bool hasMoved(int64_t k, int64_t c, int64_t by) const {
    const int64_t *now = &times[k * width], *before = &times[(k - c) * width];
    for (int64_t i = 0; i < width; ++i)
      if (now[i] - before[i] != by && (now[i] != 0 || before[i] != 0))
        return false;
    return true;
  }
  /// End of the last replica's step of iteration k.
  int64_t stepEnd(int64_t k) const { return times[(k + 1) * width - 1]; }

private:
  /// Micro-batches of an iteration, entries of a replica in a row, and entries
  /// of a row. The step is the last entry of its replica.
  const int64_t each, ofReplica, width;
  std::vector<int64_t> times;
};

} // namespace

SettledTime rondo::settledTime(const Problem &window, const Schedule &schedule,
                               const Simulation &simulation) {
  const int64_t iterations = window.iterations;
  const int64_t underWay = iterationsUnderWay(window, schedule);
  const Rows rows(window, schedule, simulation);
  for (int64_t c = 1; 2 * c + underWay < iterations; ++c) {
    int64_t run = 0;
    // Backwards from the end, where the run has had the most time to settle.
    for (int64_t k = iterations - 1; k > c; --k) {
      const int64_t by = rows.stepEnd(k) - rows.stepEnd(k - c);
      const bool goesOn =
          run == 0 || by == rows.stepEnd(k + 1) - rows.stepEnd(k + 1 - c);
      run = rows.hasMoved(k, c, by) ? (goesOn ? run + 1 : 1) : 0;
      if (run >= underWay + c)
        return {by, static_cast<int32_t>(c), true};
    }
  }
  // The mean, without the iterations that the drain affects.
  const int64_t last = std::max<int64_t>(iterations - 1 - underWay, 1);
  const int64_t first = std::min(last - 1, last / 2);
  if (iterations < 2)
    return {simulation.makespanNs, 1, false};
  return {rows.stepEnd(last) - rows.stepEnd(first),
          static_cast<int32_t>(last - first), false};
}
