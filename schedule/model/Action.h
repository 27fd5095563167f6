//===- Action.h - One entry of a rank's order -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Actions (tasks, sends, receives, collectives, steps) take 64 bits, so that 25
// million of them fit in 200 MB.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_MODEL_ACTION_H
#define RONDO_SCHEDULE_MODEL_ACTION_H

#include "kinds/Actions.h"

#include <cstdint>

namespace rondo {

/// Bit fields of an action. The limits below follow from them: static_asserts
/// check each limit against its field, and Problem::check() enforces the
/// limits.
namespace action_layout {
inline constexpr int kindBits = 6, subjectBits = 26, countBits = 8,
                     indexBits = 24;
static_assert(kindBits + subjectBits + countBits + indexBits == 64,
              "the fields fill 64 bits");
} // namespace action_layout

inline constexpr int64_t maxStages = int64_t(1) << 15;
/// Total over all stages.
inline constexpr int64_t maxReplicas = int64_t(1) << 16;
/// Edges between replicas. A chain of stages with one replica each has 2 *
/// (stages - 1).
inline constexpr int64_t maxEdges = int64_t(1) << 20;
inline constexpr int64_t maxMicrobatches = int64_t(1)
                                           << action_layout::indexBits;
/// Maximum number of consecutive indices that one action serves.
inline constexpr int64_t maxCount =
    (int64_t(1) << action_layout::countBits) - 1;
/// Maximum number of (replica, micro-batch) pairs: eight times 1024 ranks with
/// 8192 micro-batches. A larger product is probably a typing error, and its
/// tables would not fit in memory.
inline constexpr int64_t maxTasksOfKind = int64_t(1) << 26;
/// Maximum number of (edge, micro-batch) pairs: twice those of a chain.
inline constexpr int64_t maxMessages = 4 * maxTasksOfKind;

static_assert(maxActionKinds == 1 << action_layout::kindBits,
              "every number has a row in the table of kinds");
static_assert(maxReplicas <= int64_t(1) << action_layout::subjectBits,
              "every replica has a number");
static_assert(maxEdges <= int64_t(1) << action_layout::subjectBits,
              "every edge has one");
static_assert(2 * (maxStages - 1) <= maxEdges, "a chain may be that long");

/// One entry of a rank's order. Weight versions are not stored: the version
/// that a task reads follows from the order.
struct Action {
  uint64_t kindBits : action_layout::kindBits;
  /// Depends on the kind's `subject`: a replica (index into Problem::replicas),
  /// an edge (into Problem::edges) or a collective (into Program::collectives).
  uint64_t subject : action_layout::subjectBits;
  /// The number of consecutive indices this action serves.
  uint64_t count : action_layout::countBits;
  /// Depends on the kind's `index`: a micro-batch, a step or a unit.
  uint64_t index : action_layout::indexBits;

  constexpr Action() : kindBits(0), subject(0), count(1), index(0) {}
  constexpr Action(ActionKind kind, int64_t subject, int64_t index)
      : kindBits(static_cast<uint64_t>(kind)),
        subject(static_cast<uint64_t>(subject)), count(1),
        index(static_cast<uint64_t>(index)) {}

  constexpr ActionKind kind() const {
    return static_cast<ActionKind>(kindBits);
  }
  constexpr const ActionTraits &traits() const { return traitsOf(kind()); }
  /// Whether it runs a stage on a micro-batch.
  constexpr bool isTask() const { return traits().isTask(); }

  friend constexpr bool operator==(Action a, Action b) {
    return a.kindBits == b.kindBits && a.subject == b.subject &&
           a.index == b.index && a.count == b.count;
  }
  friend constexpr bool operator!=(Action a, Action b) { return !(a == b); }
};

static_assert(sizeof(Action) == 8, "an action is 64 bits");

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_ACTION_H
