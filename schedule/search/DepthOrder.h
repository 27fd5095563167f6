//===- DepthOrder.h - Orders by the depth of each stage ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If iterations overlap, a rank's order is determined by its depth: the number
// of forwards that it runs before its first backward. After that, forwards and
// backwards alternate. The depth determines the activations in flight, the
// weight versions that are kept, their delay, and how long neighbours wait for
// each other.
//
//   depth 3   F0 F1 F2 B0 F3 B1 F4 B2 ...
//   depth 1   F0 B0 F1 B1 F2 ...
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_SEARCH_DEPTHORDER_H
#define RONDO_SCHEDULE_SEARCH_DEPTHORDER_H

#include "schedule/model/Fault.h"
#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace rondo {

enum class BackwardStyle : uint8_t {
  /// One B per micro-batch.
  Fused,
  /// I, then W: the gradient is sent after I.
  Split,
  /// I, the next F, then W; at the end of an iteration like Split.
  LateWeights,
  /// One B for all micro-batches of an iteration, then the same number of
  /// forwards.
  Whole,
};

inline constexpr int32_t everyStage = std::numeric_limits<int32_t>::max();

struct DepthOrder {
  BackwardStyle style = BackwardStyle::Fused;
  /// [stage]: leastDepth() or more. Must not increase from a stage to the next:
  /// a stage that waits for more forwards than the stage before it runs first
  /// would wait forever.
  std::vector<int32_t> depths;
  /// For BackwardStyle::LateWeights: the first `lateStages` stages, at least 1,
  /// use it; the others use Split. A wait cycle between stages s < t contains W
  /// of s if W comes right after I there, and W of t if W comes right before
  /// the next I there. With late W on the first stages only, most cycles
  /// contain neither: on s, W comes after the next F; on t, right after I.
  int32_t lateStages = everyStage;

  /// For example `depths 4,3,2,1, W after I`.
  std::string text() const;
};

int32_t leastDepth(const Problem &problem, BackwardStyle style);

/// The problem that depths refer to: a chain of groups (families/Replicas.h)
/// with one stage each, in order. A task costs its maximum over the group. If
/// ranks have several stages, each stage has a rank of its own there
/// (families/OwnRanks.h). A fault if `problem` has no such form.
Result<Problem> problemOfDepths(const Problem &problem);

/// The order of every rank of `problem`, for which problemOfDepths() must
/// succeed. Steps come after the last backward of an iteration.
Schedule scheduleOf(const Problem &problem, const DepthOrder &order);

/// The least depths for which no wait cycle between two stages s <= t takes
/// more than `iterationNs`:
///   F(s) ... F(t), the backward of t ... s, and again F(s),
/// d(s) - d(t) + 1 micro-batches later. Every elementary cycle of the order has
/// this form, since a walk that turns twice passes a stage's task twice.
/// Together with the work of a rank (s = t), these cycles determine the pace of
/// the run (Reiter, "Scheduling parallel computations", JACM 1968). The bounds
/// on differences of depths have a least solution, which is the least for every
/// stage at once: least activations and least delay. Steps are counted as
/// evenly spread. The bound is an estimate for BackwardStyle::Whole and for
/// links that carry several messages at once. `lateStages` as in DepthOrder.
/// O(stages^2).
std::vector<int32_t> leastDepths(const Problem &ofDepths, BackwardStyle style,
                                 double iterationNs,
                                 int32_t lateStages = everyStage);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_DEPTHORDER_H
