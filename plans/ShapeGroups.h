//===- ShapeGroups.h - Ranks that plans of other shapes use -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANS_SHAPEGROUPS_H
#define RONDO_PLANS_SHAPEGROUPS_H

#include "dialect/Pipe.h"

#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace rondo::pipe {

/// The ranks, or groups of ranks, among which the layers of a plan are cut, in
/// the order of the first stages.
struct ShapeGroups {
  /// Each rank of the cluster by itself; or the groups of ranks that share the
  /// state of their stages.
  std::vector<llvm::SmallVector<int64_t>> ranks;
  /// The attribute of every stage; null if none is sharded.
  ShardedAttr sharded;

  /// Ranks that have the state of a stage once together.
  int64_t shards() const {
    return !sharded                  ? 1
           : sharded.getShards() > 0 ? sharded.getShards()
                                     : int64_t(ranks.front().size());
  }
};

/// Advice for a plan that cannot be laid out again.
inline constexpr const char *searchAsWritten =
    ": `rondo search FILE -o found.json` searches for orders of the plan as "
    "written";

/// Fails with an error if stages are on several ranks, but are not all
/// sharded in the same way over groups of one size that share no rank.
mlir::FailureOr<ShapeGroups> shapeGroups(PlanOp plan);

} // namespace rondo::pipe

#endif // RONDO_PLANS_SHAPEGROUPS_H
