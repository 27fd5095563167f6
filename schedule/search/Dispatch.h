//===- Dispatch.h - Turns a periodic pattern into an order ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_DISPATCH_H
#define RONDO_SCHEDULE_SEARCH_DISPATCH_H

#include "schedule/partial/Propagation.h"
#include "schedule/search/Orders.h"

namespace rondo {

/// Which task of a rank goes first. Each has a target, and only the order of
/// targets matters.
struct Pattern {
  /// When F, I and W would run, [letter][FlatProblem::at()].
  std::array<std::vector<int64_t>, 3> targets;
  /// If `targets` is empty, when each F and I would run in an endless steady
  /// state:
  ///   offset[letter][stage] + group of k * group * period + place in group *
  ///   step
  std::array<std::vector<int64_t>, 2> offset;
  int64_t period = 0;
  int64_t group = 1;
  int64_t step = 0;

  enum class Discipline : uint8_t {
    /// The task with the earliest target among those that can start now.
    Ready,
    /// Of the F, only the one with the earliest target that fits; I as they
    /// arrive.
    ForwardInOrder,
    /// Only the task with the earliest target that fits, even if its input has
    /// not arrived.
    InOrder,
  } discipline = Discipline::Ready;
  /// A task whose input has arrived may overtake one whose input has not by at
  /// most this much.
  int64_t reach = 0;
  enum class WeightGrad : uint8_t {
    /// When nothing else can start.
    Fills,
    /// Even before an F or I with a later target.
    Ordered,
    /// Only there.
    Exact,
  } weightGrad = WeightGrad::Fills;
  /// W may delay a message that is known to be coming by this share of W, in
  /// eighths.
  int32_t patience = 4;
  /// Unless `never`, replaces patience: W delays a message only if waiting for
  /// that would end the rank after this.
  int64_t goal = never;
  /// From this many pending W on a rank, W goes before F; from twice as many,
  /// before I as well. Backwards, this many W may run ahead of their I.
  int32_t backlog = unlimited;
  static constexpr int32_t unlimited = 1 << 24;
};

/// Forwards in time, or backwards from the last task to the first. Greedy
/// choices forwards fill the end of a schedule well, backwards its beginning.
enum class Direction : uint8_t { Forwards, Backwards };

/// The rank to look at next: a tournament tree by time.
class Alarms {
public:
  explicit Alarms(int32_t ranks);
  void clear();
  void set(int32_t rank, int64_t time);
  int64_t time(int32_t rank) const { return nodes[leaves + rank].time; }
  /// The lowest of equal ranks; its time is `never` if all are.
  int32_t first() const { return nodes[1].rank; }

private:
  /// The first of those below. The root is 1, and the children of n are 2 n and
  /// 2 n + 1.
  struct Node {
    int64_t time = never;
    int32_t rank = 0;
  };
  int32_t leaves = 1;
  std::vector<Node> nodes;
};

/// Runs a pattern in time order: F if it fits and every micro-batch can still
/// be finished, W if nothing else can start. All caps hold.
///
/// Backwards the problem is mirrored: I is the first letter and goes against
/// the edges of I, F is the second, W comes before its I and takes the memory,
/// which F gives back. All letters, micro-batches and targets of a pattern are
/// those of the mirror.
class Dispatcher {
public:
  Dispatcher(const FlatProblem &flat, Direction direction);

  /// The objective, or `never` if it is above `ceiling` or the pattern gets
  /// stuck. Backwards, an upper bound of the order's objective. O(tasks *
  /// stages of a rank + tasks * log ranks).
  int64_t run(const Pattern &pattern, int64_t ceiling);
  /// Of the problem itself, in both directions.
  const Orders &orders();
  /// By task of orders(): backwards the latest time at which it may run to keep
  /// the objective, forwards its start.
  const std::vector<std::vector<int64_t>> &starts() const { return times; }
  /// Tasks that the last run placed.
  int64_t placed() const { return count; }

private:
  /// The next F or I of a stage; both times are `never` if all have run.
  struct Candidate {
    int64_t target = never;
    /// When its input arrives; `never` if the input has not been made.
    int64_t arrival = never;
    int32_t stage = 0, letter = 0;
  };

  int64_t target(const Pattern &pattern, int letter, int32_t stage) const;
  bool fits(int letter, int32_t stage) const {
    return letter == 1 ||
           state.held(flat.rankOf[stage]) <= roomy[flat.rankOf[stage]] ||
           (direction == Direction::Backwards &&
            state.done(2, stage) > state.done(0, stage)) ||
           mayTake(stage);
  }
  /// Whether what takes memory may run.
  bool mayTake(int32_t stage) const {
    return state.fits(flat, inFlight[flat.rankOf[stage]], stage, taker);
  }
  void look(const Pattern &pattern, int letter, int32_t stage);
  Candidate &candidate(int letter, int32_t stage) {
    return candidates[slots[stage] + 1 - letter];
  }
  void decide(const Pattern &pattern, int32_t rank, int64_t now);
  void place(const Pattern &pattern, int letter, int32_t stage, int64_t start);
  int32_t nextWeightGrad(const Pattern &pattern, int32_t rank) const;

  const Direction direction;
  /// The one that takes memory.
  const int taker;
  const FlatProblem flat;
  PartialState state;
  Alarms alarms;
  std::vector<int64_t> work, left;
  /// Those of a rank are together, starting at begins[rank], stage by stage, I
  /// before F; slots[stage] is the position of I.
  std::vector<Candidate> candidates;
  std::vector<int32_t> begins, slots;
  /// By rank, the W that may run: forwards those whose I has run, backwards
  /// those that have run before their I.
  std::vector<int64_t> pending;
  /// By rank.
  std::vector<PartialState::InFlight> inFlight;
  /// By rank: if no more than this is held, any F fits.
  std::vector<int64_t> roomy;
  Orders made;
  std::vector<std::vector<int64_t>> times;
  bool isTurned = false;
  /// The time from which backward runs count, minus the objective.
  int64_t horizon = 0;
  int64_t count = 0, latest = 0;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_DISPATCH_H
