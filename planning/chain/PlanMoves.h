//===- PlanMoves.h - Small changes of a plan --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_PLANMOVES_H
#define RONDO_PLANNING_CHAIN_PLANMOVES_H

#include "planning/chain/WorkingPlan.h"

#include <random>

namespace rondo {

/// One change of a plan. The group behind the last stage is the idle devices.
struct PlanMove {
  enum Kind : uint8_t {
    /// The boundary behind stage `a` moves by `layers`.
    Shift,
    /// Device number `b` of group `a` goes to group `c`. If `layers` is not 0
    /// they are neighbours, and the boundary between them moves by it.
    Give,
    /// Device number `b` of group `a` and number `d` of group `c` change
    /// places.
    Swap,
    /// Stages `a` and `c` exchange all devices.
    SwapAll,
    /// Stage `a` takes in the next one.
    Merge,
    /// Stage `a` divides: `layers` of its layers and `b` of its devices, the
    /// last ones if `d`, become a stage in front of the others.
    Split,
  };
  Kind kind = Shift;
  int32_t a = 0, b = 0, c = 0, d = 0;
  int32_t layers = 0;

  void apply(WorkingPlan &plan) const;
};

/// The changes of a problem's plans. Devices that nothing tells apart are taken
/// for one another.
class PlanMoves {
public:
  /// O(devices^3) at worst, to find equal devices.
  explicit PlanMoves(const ChainProblem &problem);

  /// Appends all changes.
  void list(const WorkingPlan &plan, std::vector<PlanMove> &moves) const;
  /// One change by chance; nothing about their shares is promised. Returns
  /// false if the one that was drawn is not possible in this plan.
  bool draw(const WorkingPlan &plan, std::mt19937_64 &random,
            PlanMove &move) const;
  /// Of a device: the smallest device equal to it.
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
