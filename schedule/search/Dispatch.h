//===- Dispatch.h - Turns a periodic pattern into an order ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_DISPATCH_H
#define RONDO_SCHEDULE_SEARCH_DISPATCH_H

#include "schedule/partial/Propagation.h"
#include "schedule/search/Orders.h"

namespace rondo {

/// Priorities of a rank's tasks. Each task has a target time. Except for
/// `reach`, only the order of targets matters.
struct Pattern {
  /// Targets of F, I and W in ns, [task][FlatProblem::at()].
  PerTask<std::vector<int64_t>> targets;
  /// If `targets` is empty, the target of F or I of micro-batch k in an endless
  /// steady state is
  ///   offset[task][stage] + k / group * group * period + k % group * step
  PerTask<std::vector<int64_t>> offset;
  int64_t period = 0;
  int64_t group = 1;
  int64_t step = 0;

  enum class Discipline : uint8_t {
    /// The task with the earliest target among those that can start now.
    Ready,
    /// Only the F with the earliest target that fits, and every I that is
    /// ready.
    ForwardInOrder,
    /// Only the task with the earliest target that fits, even if the rank has
    /// to wait for its input.
    InOrder,
  } discipline = Discipline::Ready;
  /// With InOrder: a task whose input has arrived may go before one whose input
  /// has not, if its target is at most this much later.
  int64_t reach = 0;
  enum class WeightGrad : uint8_t {
    /// W runs when nothing else can start.
    Fills,
    /// W also runs before an F or I with a later target.
    Ordered,
    /// W runs only before an F or I with a later target, or if no F or I fits.
    Exact,
  } weightGrad = WeightGrad::Fills;
  /// W may delay a task whose input arrives at a known time by up to `patience`
  /// eighths of the duration of W.
  int32_t patience = 4;
  /// Unless `never`, replaces `patience`: W may delay such a task only if
  /// waiting for its input would make the rank end after this time.
  int64_t goal = never;
  /// If a rank has this many pending W, W goes before F; with twice as many,
  /// also before I. Backwards, at most this many W may run ahead of their I.
  int32_t backlog = unlimited;
  static constexpr int32_t unlimited = 1 << 24;
};

/// From the first task to the last, or from the last to the first. Greedy
/// choices forwards pack the end of a schedule well, backwards its beginning.
enum class Direction : uint8_t { Forwards, Backwards };

/// The next wake-up time of each rank, as a tournament tree.
class Alarms {
public:
  explicit Alarms(int32_t ranks);
  void clear();
  void set(int32_t rank, int64_t time);
  int64_t time(int32_t rank) const { return nodes[leaves + rank].time; }
  /// The rank with the earliest time, of equals the lowest. Its time is `never`
  /// if all times are.
  int32_t first() const { return nodes[1].rank; }

private:
  /// The earlier child. The root is 1; node n has children 2 n and 2 n + 1.
  struct Node {
    int64_t time = never;
    int32_t rank = 0;
  };
  int32_t leaves = 1;
  std::vector<Node> nodes;
};

/// Runs a pattern in time order: F if it fits and every micro-batch can still
/// be finished, W as Pattern::weightGrad states. All caps hold.
///
/// Backwards, the problem is mirrored: Task::F denotes I, which follows the
/// edges of I in reverse; Task::I denotes F; W comes before its I and takes the
/// memory, which F releases. All tasks, micro-batches and targets of a pattern
/// are those of the mirrored problem.
class Dispatcher {
public:
  Dispatcher(const FlatProblem &flat, Direction direction);

  /// The objective; `never` if it is above `ceiling` or the pattern gets stuck.
  /// Backwards, an upper bound of the order's objective. O(tasks * stages of a
  /// rank + tasks * log ranks).
  int64_t run(const Pattern &pattern, int64_t ceiling);
  /// The orders of the last run, for the original problem in both directions.
  const Orders &orders();
  /// [rank][position in orders()], in ns: forwards the start of a task;
  /// backwards, after a call of orders(), the latest start that keeps the
  /// objective.
  const std::vector<std::vector<int64_t>> &starts() const { return times; }
  /// Tasks that the last run placed.
  int64_t placed() const { return count; }

private:
  /// The next F or I of a stage; both times are `never` if all have run.
  struct Candidate {
    int64_t target = never;
    /// Arrival of its last input; `never` if an input has not been produced.
    int64_t arrival = never;
    int32_t stage = 0;
    Task task = Task::F;
  };

  int64_t target(const Pattern &pattern, Task task, int32_t stage) const;
  bool fits(Task task, int32_t stage) const {
    return task == Task::I ||
           state.held(flat.rankOf[stage]) <= roomy[flat.rankOf[stage]] ||
           (direction == Direction::Backwards &&
            state.done(Task::W, stage) > state.done(Task::F, stage)) ||
           mayTake(stage);
  }
  /// Whether the task that takes memory may run.
  bool mayTake(int32_t stage) const {
    return state.fits(flat, inFlight[flat.rankOf[stage]], stage, taker);
  }
  void look(const Pattern &pattern, Task task, int32_t stage);
  Candidate &candidate(Task task, int32_t stage) {
    return candidates[slots[stage] + (task == Task::F)];
  }
  void decide(const Pattern &pattern, int32_t rank, int64_t now);
  void place(const Pattern &pattern, Task task, int32_t stage, int64_t start);
  int32_t nextWeightGrad(const Pattern &pattern, int32_t rank) const;

  const Direction direction;
  /// The task that takes memory.
  const Task taker;
  const FlatProblem flat;
  PartialState state;
  Alarms alarms;
  std::vector<int64_t> work, left;
  /// Sorted by rank, from begins[rank] on, then by stage, I before F.
  /// slots[stage] is the position of I.
  std::vector<Candidate> candidates;
  std::vector<int32_t> begins, slots;
  /// [rank]: forwards, the number of W whose I has run; backwards, the number
  /// of W that have run before their I.
  std::vector<int64_t> pending;
  /// Indexed by rank.
  std::vector<PartialState::InFlight> inFlight;
  /// [rank]: if at most this many bytes are held, any F fits.
  std::vector<int64_t> roomy;
  Orders made;
  std::vector<std::vector<int64_t>> times;
  bool isTurned = false;
  /// A backward run begins at `horizon` + objective in forward time.
  int64_t horizon = 0;
  int64_t count = 0, latest = 0;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_DISPATCH_H
