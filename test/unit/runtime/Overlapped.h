//===- Overlapped.h - Executables whose iterations overlap ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_RUNTIME_OVERLAPPED_H
#define RONDO_TEST_UNIT_RUNTIME_OVERLAPPED_H

#include "Training.h"

#include <algorithm>

namespace rondo::runtime::test {

/// A GPT with a stage on each rank.
inline Spec overlappedGpt(Overlap::Policy policy, int ranks, int microbatches,
                          bool tied = true) {
  Spec spec;
  spec.microbatches = microbatches;
  spec.layers = gptLayers(ranks > 2 ? ranks : 2, tied);
  const int layers = static_cast<int>(spec.layers.size());
  for (int r = 0; r < ranks; ++r) {
    spec.rankOfStage.push_back(r);
    spec.layersOfStage.push_back(layers * (r + 1) / ranks - layers * r / ranks);
  }
  spec.messageSlots = spec.savedSlots = ranks + 1;
  spec.overlap.policy = policy;
  spec.keepsChanges = policy == Overlap::Extrapolated;
  if (policy == Overlap::Stash)
    spec.weightSlots = (ranks - 2 + microbatches) / microbatches + 1;
  if (policy == Overlap::TwoVersions)
    spec.weightSlots = 2;
  return spec;
}

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_RUNTIME_OVERLAPPED_H
