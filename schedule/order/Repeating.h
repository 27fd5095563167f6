//===- Repeating.h - Orders that go on from iteration to iteration --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An asynchronous schedule has no last iteration. It is stored as what begins a
// run and what repeats; a run of any number of iterations is that order without
// the actions of iterations that the run does not have, and so it drains.
//
// Why one proof holds for every run:
//  - Leaving out the last iterations leaves out nothing that an earlier one
//    needs, since a task of iteration t needs tasks and steps of iterations up
//    to t alone. What is left keeps its order, so rules on what comes before
//    what still hold, and a circle of waits would have been one before.
//  - Let d be the most iterations that are under way at once. Two actions that
//    a rule compares are at most d iterations apart, so every pair, shifted,
//    also stands in a window of a few times d iterations. A rank in a circle of
//    waits is at an action, and another waits for one behind it. That one may
//    be of an earlier iteration, by fewer than the rank has under way; nothing
//    is waited for that is of a later iteration than the action that waits. A
//    shortest circle visits each rank once. It lies between two ranks, or in a
//    block of them (WaitBlocks.h), and spans fewer iterations than these have
//    under way together. A window of iterationsOfProof() in which all rules
//    hold, and whose program runs to its end, therefore proves the program for
//    any number of iterations.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_ORDER_REPEATING_H
#define RONDO_SCHEDULE_ORDER_REPEATING_H

#include "schedule/model/Fault.h"
#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

namespace rondo {

struct Repeating {
  /// Of every rank: what begins a run, and the first repetition.
  Schedule opening, repeated;
  /// Iterations from one repetition to the next.
  int32_t iterations = 1;
};

/// The iteration that a task, a message, a step or a collective belongs to,
/// where each has so many micro-batches.
inline int64_t iterationOf(Action action, int64_t microbatchesEach) {
  return action.traits().index == IndexMeaning::Step
             ? int64_t(action.index)
             : int64_t(action.index) / microbatchesEach;
}
/// The same action that many iterations later.
inline Action laterBy(int64_t iterations, Action action,
                      int64_t microbatchesEach) {
  action.index += action.traits().index == IndexMeaning::Step
                      ? iterations
                      : iterations * microbatchesEach;
  return action;
}

/// The order of a run of `iterations`, 1 or more. O(actions).
Schedule runOf(const Repeating &order, int64_t iterations,
               int64_t microbatchesEach);

/// How the window that a repetition is found in ends.
enum class RepetitionEnd : uint8_t {
  /// Somehow: runOf() drains instead, as described above. For programs, whose
  /// messages may be placed otherwise where ranks wait.
  Any,
  /// As runOf() drains, so that nothing of the order is lost.
  Drained,
};

/// What repeats in the order of a window, with the shortest opening and the
/// fewest iterations from one repetition to the next. A fault where a rank's
/// order does not repeat in the third quarter of the window, or that is not all
/// of it. `orders` may be a schedule's or a program's.
/// O(actions * iterations).
Result<Repeating> findRepetition(const Schedule &orders, int64_t iterations,
                                 int64_t microbatchesEach,
                                 RepetitionEnd end = RepetitionEnd::Any);

/// Iterations that the opening and the first repetition name: the most that are
/// under way at once, at least 1.
int64_t iterationsUnderWay(const Repeating &order, int64_t microbatchesEach);
/// The same of each rank's order by itself.
std::vector<int64_t> iterationsUnderWayByRank(const Repeating &order,
                                              int64_t microbatchesEach);
/// Iterations of a window that proves every run, by what each rank has under
/// way. `blocks` are the program's waitBlocks().
int64_t iterationsOfProof(const std::vector<int64_t> &underWay,
                          int64_t iterationsEach,
                          const std::vector<std::vector<int32_t>> &blocks);

/// The same order with a B for each micro-batch of one that serves several:
/// what a program runs. Their messages leave one by one. O(actions).
Schedule withSingleBackwards(const Schedule &schedule);

} // namespace rondo

#endif // RONDO_SCHEDULE_ORDER_REPEATING_H
