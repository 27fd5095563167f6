//===- Timetable.h - Slots of an order that repeats -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tasks of a micro-batch have slots, and those of the next one the same
// slots a period later. Each rank has one task in a slot modulo the period. So
// the slots determine the order of all ranks and the memory that they hold.
//
// Slots are given in the order in which memory matters: first F and I of the
// last stages that keep their activations, then F of the stages before, from
// the last one back, then R and I, each in the free slot nearest to its input.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_MODEL_TIMETABLE_H
#define RONDO_PLANNING_MODEL_TIMETABLE_H

#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"
#include "schedule/search/Random.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace rondo {

/// A task of every micro-batch, `slot` slots after the first task of the same
/// micro-batch; negative slots come before it.
struct Placed {
  ActionKind kind;
  int32_t stage;
  int32_t width;
  int64_t slot;
};

struct Timetable {
  /// Slots of a period.
  int32_t slots = 1;
  /// [rank]: its tasks.
  std::vector<std::vector<Placed>> ranks;

  int32_t modulo(int64_t slot) const {
    return static_cast<int32_t>((slot % slots + slots) % slots);
  }
  int64_t periodOf(int64_t slot) const { return (slot - modulo(slot)) / slots; }
  /// The tasks of a rank in the order of a period.
  std::vector<Placed> inOrder(int32_t rank) const {
    std::vector<Placed> tasks = ranks[rank];
    std::sort(tasks.begin(), tasks.end(),
              [&](const Placed &a, const Placed &b) {
                return modulo(a.slot) < modulo(b.slot);
              });
    return tasks;
  }
  /// The number of periods from the first task of a micro-batch to the last.
  int64_t numPeriods() const;
  Schedule toSchedule(int32_t microbatches) const;
  /// The most bytes that a rank holds. In the ramps it holds no more than in a
  /// period in the middle.
  int64_t peakBytes(const Problem &problem, int32_t rank) const;
};

/// When W of a stage runs.
enum class WeightGrads : uint8_t {
  /// In the first free slot after I.
  Early,
  /// After all F and I have their slots.
  Late,
  /// Early for the stages before the last ones that keep their activations,
  /// otherwise in between.
  Mixed,
};

/// Parameters of a timetable.
struct Making {
  /// Slots of a period that the busiest rank has free.
  int32_t freeSlots = 0;
  /// Length of a slot, as a multiple of the shortest one.
  double pace = 1;
  /// Maximum number of slots by which F, and R and I, may begin before their
  /// input.
  double forwardTolerance = 0, backwardTolerance = 0;
  WeightGrads weightGrads = WeightGrads::Early;
  /// Whether R runs before the output gradient arrives.
  bool runsAhead = false;
  /// Wait between the last F and its I, in slots, and the largest random wait
  /// after other tasks.
  double turn = 0, wait = 0;
  uint64_t seed = 0;
};

/// Makes timetables of a chain with one replica a stage.
class TimetableMaker {
public:
  explicit TimetableMaker(const Problem &problem);

  /// Nothing if some task finds no free slots. O(tasks of a micro-batch *
  /// slots).
  std::optional<Timetable> make(const Making &how);

private:
  std::vector<ActionKind> kindsOf(int32_t stage) const;
  double timeOf(ActionKind kind, int32_t stage) const;
  int32_t widthOf(ActionKind kind, int32_t stage) const;
  /// A message of a stage, from F or I, in slots.
  double messageSlots(int32_t from, int32_t to) const;
  bool isFree(int32_t rank, int64_t slot, int32_t width) const;
  /// The first free slots from `slot` on, or, if `step` is -1, the last free
  /// ones up to it; gives them to the task.
  std::optional<int64_t> place(ActionKind kind, int32_t stage, int64_t slot,
                               int32_t step);
  double slotsOf(ActionKind kind, int32_t stage) const;
  double randomWait();
  int64_t firstSlot(double ready, double tolerance) const;
  bool placeWeightGrad(int32_t stage);
  /// R, I and perhaps W of a stage whose output gradient arrives at `ready`.
  bool placeBackward(int32_t stage, double &ready);
  bool placeAll();

  const Problem &problem;
  /// Slots of a period in which the busiest rank always works.
  int32_t fewestSlots = 1;
  /// Mean time of a task of the busiest rank; length of a slot, at the pace 1
  /// and at the present pace.
  double unitNs = 1, shortestNs = 1, slotNs = 1;
  /// The first of the last stages, which keep their activations.
  int32_t firstLate = 0;
  Making making;
  Random random = Random(0);
  Timetable table;
  /// [rank][slot]
  std::vector<std::vector<bool>> used;
  /// [stage]: slot of I.
  std::vector<int64_t> inputGradAt;
};

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_TIMETABLE_H
