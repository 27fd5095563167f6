//===- HostMemory.h - Host memory and host links of ranks -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SAVE copies activations of a micro-batch to the host's memory, LOAD copies
// them back. A stage whose costs have both may have the pair for any
// micro-batch; which pairs exist is the schedule's choice.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_MODEL_HOSTMEMORY_H
#define RONDO_SCHEDULE_MODEL_HOSTMEMORY_H

#include "kinds/Actions.h"
#include "schedule/model/Infinity.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace rondo {

/// Copies between a rank's device and its host, in each direction: a copy takes
/// latencyNs + ceil(1000 * bytes / bytesPerUs) ns. bytesPerUs == 0: only the
/// latency.
struct HostLink {
  int64_t latencyNs = 0, bytesPerUs = 0;
  /// One copy at a time; otherwise one in each direction.
  bool isHalf = false;
};

/// A link to the host that several ranks share. It carries one copy at a time
/// in each direction, or in all if `isHalf`: first ready first, of equals the
/// lowest rank, unless the schedule has a copy order. bytesPerUs == 0: no limit
/// of its own.
struct SharedHostLink {
  int64_t bytesPerUs = 0;
  bool isHalf = false;
};

/// The task that needs what LOAD copies back: I, W or R. B includes I and W.
enum class LoadBefore : uint8_t { InputGrad, WeightGrad, Recompute };

constexpr ActionKind consumerOf(LoadBefore before) {
  return before == LoadBefore::InputGrad    ? ActionKind::InputGrad
         : before == LoadBefore::WeightGrad ? ActionKind::WeightGrad
                                            : ActionKind::Recompute;
}

/// Copies of one micro-batch of a stage, for all samples.
struct StageCopies {
  int64_t bytes = 0;
  LoadBefore before = LoadBefore::InputGrad;
  /// Stated times; otherwise they follow from the host link.
  std::optional<int64_t> saveNs, loadNs;
};

/// Lists that are empty have their default for all ranks or replicas.
struct HostMemory {
  /// [rank]: maximum bytes that its SAVEs may leave on the host at any instant.
  std::vector<int64_t> caps;
  /// [rank]: nothing if it has none.
  std::vector<std::optional<HostLink>> links;
  std::vector<SharedHostLink> shared;
  /// [rank]: the number of its shared link, or -1.
  std::vector<int32_t> sharedOf;
  /// [replica]: the task that needs its LOADs; nothing if it has no copies.
  std::vector<std::optional<LoadBefore>> loads;

  int64_t cap(int32_t rank) const {
    return caps.empty() ? infinite : caps[rank];
  }
  const HostLink *link(int32_t rank) const {
    return links.empty() || !links[rank] ? nullptr : &*links[rank];
  }
  /// -1: none.
  int32_t sharedLink(int32_t rank) const {
    return sharedOf.empty() ? -1 : sharedOf[rank];
  }
  bool isHalf(int32_t rank) const {
    const HostLink *own = link(rank);
    return own && own->isHalf;
  }
  /// Whether any stage may copy.
  bool hasCopies() const { return !loads.empty(); }
  bool mayCopy(int32_t replica) const {
    return !loads.empty() && loads[replica].has_value();
  }
  /// The lane on which a rank runs an action of `kind`.
  Lane laneOf(int32_t rank, ActionKind kind) const {
    return !isCopy(kind)                              ? Lane::Compute
           : kind == ActionKind::Save || isHalf(rank) ? Lane::CopyOut
                                                      : Lane::CopyIn;
  }
};

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_HOSTMEMORY_H
