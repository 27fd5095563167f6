//===- Placement.h - Where other tools can put stages -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_EXCHANGE_PLACEMENT_H
#define RONDO_FORMATS_EXCHANGE_PLACEMENT_H

#include "formats/exchange/Exchange.h"

namespace rondo::exchange {

/// The placement of a chain's stages on ranks.
enum class PlacementKind {
  /// Stage s on rank s.
  Linear,
  /// Stage s on rank s mod P, at least two on each.
  Loop,
  /// Two on each rank: stages r and 2 P - 1 - r.
  V,
  Other,
};
PlacementKind placementOf(const Problem &problem);

/// `rank 0 has the stages 0, 7`, and so on, for messages; of the first ranks.
std::string describePlacement(const Problem &problem);

/// The number of groups of ranks, if each stage is on one group and stage s on
/// group s mod groups; 0 otherwise. A group is one rank, or those of a
/// stage's replicas.
int32_t numGroupsInLoop(const Problem &problem);

} // namespace rondo::exchange

#endif // RONDO_FORMATS_EXCHANGE_PLACEMENT_H
