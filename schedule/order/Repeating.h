//===- Repeating.h - Repeating orders of iterations -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An asynchronous schedule has no last iteration. It is stored as an opening
// and a repeated part. A run of n iterations is this order without the actions
// of iterations from n on, so that the pipeline drains at its end.
//
// Why one proof holds for every run:
//  - Dropping the last iterations drops nothing that an earlier one needs,
//    since a task of iteration t needs only tasks and steps of iterations up to
//    t. The remaining actions keep their order, so rules about order still
//    hold, and a wait cycle of the shorter run is also one of the longer run.
//  - Let d be the maximum number of iterations under way at once. Two actions
//    that a rule compares are at most d iterations apart, so every such pair
//    occurs, shifted, in a window of a few times d iterations. In a wait cycle,
//    each rank is blocked at an action, and another rank waits for a later
//    action of it. That later action may belong to an earlier iteration, by
//    fewer iterations than the rank has under way. No action waits for one of a
//    later iteration. A shortest cycle visits each rank once. It consists of
//    two ranks, or lies in a block of ranks (WaitBlocks.h), and spans fewer
//    iterations than these ranks have under way in total. Therefore, if all
//    rules hold in a window of iterationsOfProof() iterations and its program
//    runs to its end, the program is proved for any number of iterations.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_ORDER_REPEATING_H
#define RONDO_SCHEDULE_ORDER_REPEATING_H

#include "schedule/model/Fault.h"
#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

namespace rondo {

struct Repeating {
  /// For every rank: the beginning of a run, and the first repetition.
  Schedule opening, repeated;
  /// Iterations per repetition.
  int32_t iterations = 1;
};

/// The iteration of a task, message, step or collective. Each iteration has
/// `microbatchesEach` micro-batches.
inline int64_t iterationOf(Action action, int64_t microbatchesEach) {
  return action.traits().index == IndexMeaning::Step
             ? int64_t(action.index)
             : int64_t(action.index) / microbatchesEach;
}
/// The same action `iterations` iterations later.
inline Action laterBy(int64_t iterations, Action action,
                      int64_t microbatchesEach) {
  action.index += action.traits().index == IndexMeaning::Step
                      ? iterations
                      : iterations * microbatchesEach;
  return action;
}

/// The order of a run of `iterations` >= 1 iterations. O(actions).
Schedule runOf(const Repeating &order, int64_t iterations,
               int64_t microbatchesEach);

/// Requirement on the end of the window in which a repetition is found.
enum class RepetitionEnd : uint8_t {
  /// No requirement: runOf() makes the drain, by leaving out later iterations.
  /// For programs, whose messages may be placed differently in the window's
  /// drain, where ranks wait.
  Any,
  /// The end must equal the drain of runOf(), so that the order is reproduced
  /// exactly.
  Drained,
};

/// The repetition in the order of a window, with the fewest iterations per
/// repetition, then the shortest opening. A fault if a rank's order does not
/// repeat through the third quarter of the window or, with
/// RepetitionEnd::Drained, if runOf() does not reproduce `orders`. `orders` may
/// be those of a schedule or of a program. O(actions * iterations).
Result<Repeating> findRepetition(const Schedule &orders, int64_t iterations,
                                 int64_t microbatchesEach,
                                 RepetitionEnd end = RepetitionEnd::Any);

/// Iterations that occur in the opening and the first repetition: the maximum
/// number under way at once, at least 1.
int64_t iterationsUnderWay(const Repeating &order, int64_t microbatchesEach);
/// [rank]: iterations that occur in the opening and the first repetition of the
/// rank's own order.
std::vector<int64_t> iterationsUnderWayByRank(const Repeating &order,
                                              int64_t microbatchesEach);
/// Number of iterations of a window that proves every run. `underWay` is
/// iterationsUnderWayByRank(), `iterationsEach` the iterations per repetition,
/// `blocks` the program's waitBlocks().
int64_t iterationsOfProof(const std::vector<int64_t> &underWay,
                          int64_t iterationsEach,
                          const std::vector<std::vector<int32_t>> &blocks);

/// The same order with each B that serves several micro-batches replaced by one
/// B per micro-batch, as programs run it. Their messages are sent one by one.
/// O(actions).
Schedule withSingleBackwards(const Schedule &schedule);

} // namespace rondo

#endif // RONDO_SCHEDULE_ORDER_REPEATING_H
