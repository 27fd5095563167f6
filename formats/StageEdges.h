//===- StageEdges.h - Which stages feed which -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_STAGEEDGES_H
#define RONDO_FORMATS_STAGEEDGES_H

#include "schedule/model/Problem.h"

#include <vector>

namespace rondo {

/// An edge between stages; its bytes are those of all its parts.
struct StageEdge {
  int32_t from = 0, to = 0;
  ActionKind producer = ActionKind::Forward;
  int64_t bytes = 0;
};

/// In the order of the problem's edges.
std::vector<StageEdge> stageEdgesOf(const Problem &problem);

/// [stage]: the stages that feed it, in the order of the edges.
std::vector<std::vector<int32_t>> inputsOf(const Problem &problem);

/// The first stage that is not fed by the one before it alone; -1 in a chain.
int32_t firstOutsideChain(const Problem &problem);

/// Bytes of each stage's output; 0 for a stage that feeds no other.
std::vector<int64_t> outputBytesOf(const Problem &problem);

} // namespace rondo

#endif // RONDO_FORMATS_STAGEEDGES_H
