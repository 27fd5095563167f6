//===- HostMemory.cpp - Copies of problems --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "kinds/Shares.h"
#include "schedule/model/Problem.h"

#include <algorithm>

using namespace rondo;

int64_t Problem::copyableBytes(int32_t replica, LoadBefore before,
                               int64_t microbatch) const {
  const int64_t taken =
                    cost(replica, ActionKind::Forward, microbatch).acquireBytes,
                freed = cost(replica, ActionKind::InputGrad, microbatch)
                            .releaseBytes;
  return before == LoadBefore::WeightGrad ? taken - freed : taken;
}

std::optional<int64_t> Problem::copyNs(int32_t rank, int64_t bytes) const {
  const HostLink *own = hostMemory.link(rank);
  if (!own)
    return std::nullopt;
  Link link{own->latencyNs, own->bytesPerUs};
  if (const int32_t number = hostMemory.sharedLink(rank); number >= 0)
    if (const int64_t rate = hostMemory.shared[number].bytesPerUs;
        rate > 0 && (link.bytesPerUs == 0 || rate < link.bytesPerUs))
      link.bytesPerUs = rate;
  return link.latencyNs + link.occupancyNs(bytes);
}

void Problem::setCopies(int32_t stage, const StageCopies &copies) {
  for (const Replica &replica : replicas.of(stage)) {
    StageCopies own = copies;
    own.bytes = partBetween(copies.bytes, replica.firstSample,
                            replica.firstSample + replica.samples, samples);
    // Rounding may exceed the replica's share of what F takes.
    if (replica.samples != samples)
      own.bytes = std::min(
          own.bytes, copyableBytes(replicas.numberOf(stage, replica.index),
                                   copies.before, /*microbatch=*/0));
    for (std::optional<int64_t> *ns : {&own.saveNs, &own.loadNs})
      if (*ns)
        *ns = partOfUp(**ns, replica.samples, samples);
    setReplicaCopies(replicas.numberOf(stage, replica.index), own);
  }
}

void Problem::setReplicaCopies(int32_t replica, const StageCopies &copies) {
  hostMemory.loads.resize(numReplicas());
  hostMemory.loads[replica] = copies.before;
  const int64_t ns = copyNs(rankOf(replica), copies.bytes).value_or(0);
  cost(replica, ActionKind::Save) = {copies.saveNs.value_or(ns), 0,
                                     copies.bytes, Lane::CopyOut};
  cost(replica, ActionKind::Load) = {copies.loadNs.value_or(ns), copies.bytes,
                                     0, Lane::CopyIn};
}

Problem Problem::withoutCopies() const {
  Problem without = *this;
  without.hostMemory = {};
  const int64_t count = unevenCosts.empty() ? 0 : microbatches;
  for (int32_t replica = 0; replica < numReplicas(); ++replica)
    for (ActionKind kind : {ActionKind::Save, ActionKind::Load}) {
      without.cost(replica, kind) = {};
      std::fill_n(without.unevenCosts.begin() +
                      (replica * numCostColumns + costColumn(kind)) * count,
                  count, Cost());
    }
  return without;
}
