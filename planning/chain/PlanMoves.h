//===- PlanMoves.h - Small changes of a plan --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_PLANMOVES_H
#define RONDO_PLANNING_CHAIN_PLANMOVES_H

#include "planning/chain/WorkingPlan.h"

#include <random>

namespace rondo {

/// One change of a plan. The group after the last stage is the idle devices.
struct PlanMove {
  enum Kind : uint8_t {
    /// The boundary after stage `a` moves by `layers`.
    Shift,
    /// Device number `b` of group `a` moves to group `c`. If `layers` is not 0,
    /// the groups are neighbours and the boundary between them moves by
    /// `layers`.
    Give,
    /// Device number `b` of group `a` and number `d` of group `c` are
    /// exchanged.
    Swap,
    /// Stages `a` and `c` exchange all devices.
    SwapAll,
    /// Stage `a` is merged with the next one.
    Merge,
    /// Splits stage `a` in two. The new first stage gets its first `layers`
    /// layers and `b` of its devices: its first `b`, or its last `b` if `d` is
    /// not 0. The second stage gets the rest.
    Split,
  };
  Kind kind = Shift;
  int32_t a = 0, b = 0, c = 0, d = 0;
  int32_t layers = 0;

  void apply(WorkingPlan &plan) const;
};

/// The possible changes of a problem's plans. Equal devices are
/// interchangeable.
class PlanMoves {
public:
  /// O(devices^3) at worst, to find equal devices.
  explicit PlanMoves(const ChainProblem &problem);

  /// Appends all changes.
  void list(const WorkingPlan &plan, std::vector<PlanMove> &moves) const;
  /// Draws a random change, without a stated distribution. Returns false if the
  /// drawn change is not possible in this plan.
  bool draw(const WorkingPlan &plan, std::mt19937_64 &random,
            PlanMove &move) const;
  /// The smallest device that equals `device`.
  int32_t classOf(int32_t device) const { return classes[device]; }
  /// Whether all devices are equal.
  bool areAllEqual() const { return !differ; }

private:
  void listDeviceMoves(const WorkingPlan &plan,
                       std::vector<PlanMove> &moves) const;
  bool drawGive(const WorkingPlan &plan, std::mt19937_64 &random,
                PlanMove &move) const;
  bool drawSwap(const WorkingPlan &plan, std::mt19937_64 &random,
                PlanMove &move) const;

  std::vector<int32_t> classes;
  bool differ = false;
};

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_PLANMOVES_H
