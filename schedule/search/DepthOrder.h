//===- DepthOrder.h - Orders by how far each stage runs ahead ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where iterations overlap, a rank's order is settled by how many forwards it
// lets in before its first backward, its depth: from there on forwards and
// backwards alternate. The depth fixes the activations under way, the versions
// kept, how late they are, and how long neighbours wait for each other.
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
  /// B of each micro-batch.
  Fused,
  /// I, then W: the gradient leaves after I.
  Split,
  /// I, the next F, then W; at the end of an iteration as Split.
  LateWeights,
  /// One B for all micro-batches of an iteration, then as many forwards.
  Whole,
};

inline constexpr int32_t everyStage = std::numeric_limits<int32_t>::max();

struct DepthOrder {
  BackwardStyle style = BackwardStyle::Fused;
  /// By stage: leastDepth() or more. Not rising from stage to stage: a stage
  /// that waited for more forwards than are let in would wait for ever.
  std::vector<int32_t> depths;
  /// Of BackwardStyle::LateWeights: so many of the first stages have it, 1 at
  /// least, and the others are as Split. A cycle of waits between two stages
  /// has W behind I of its first one and W in front of I of its last one, so
  /// this leaves out most: those of the first stages come behind the next F,
  /// those of the last ones behind I.
  int32_t lateStages = everyStage;

  /// `depths 4,3,2,1`, with what the style does.
  std::string text() const;
};

int32_t leastDepth(const Problem &problem, BackwardStyle style);

/// What depths are for: a chain of groups (families/Replicas.h), one stage each
/// and in order. Its tasks take what they take at most in a group.
Result<Problem> problemOfDepths(const Problem &problem);

/// The order of every rank of `problem`, for which problemOfDepths() has found
/// one. It steps behind the last backward of an iteration.
Schedule scheduleOf(const Problem &problem, const DepthOrder &order);

/// The least depths with which no cycle of waits between two stages s <= t
/// takes more than `iterationNs`:
///   F(s) ... F(t), the backward of t ... s, and again F(s),
/// d(s) - d(t) + 1 micro-batches later. Every elementary cycle of the order is
/// one of these, since a walk that turns twice passes a stage's task twice.
/// With the work of a rank (s = t) they settle the pace of the run (Reiter,
/// "Scheduling parallel computations", JACM 1968). The bounds on differences of
/// depths have a least solution, which is the least for every stage at once:
/// least activations and least delay. Steps are counted as evenly spread, and
/// for BackwardStyle::Whole the bound is an estimate, as is everything where
/// links carry several messages at once. `lateStages` as in DepthOrder.
/// O(stages^2).
std::vector<int32_t> leastDepths(const Problem &ofDepths, BackwardStyle style,
                                 double iterationNs,
                                 int32_t lateStages = everyStage);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_DEPTHORDER_H
