//===- Fields.h - All fields of a run as text -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_LAUNCH_FIELDS_H
#define RONDO_TEST_UNIT_LAUNCH_FIELDS_H

#include "planning/groups/Run.h"

#include <sstream>

namespace rondo::launch {

/// For comparisons: a line for each part of the run.
inline std::string fieldsOf(const groups::Run &run) {
  std::ostringstream os;
  auto put = [&os](auto... values) {
    ((os << +values << ' '), ...);
    os << '\n';
  };
  const groups::Transformer &m = run.model;
  const groups::Layout &l = run.layout;
  const groups::Execution &e = run.execution;
  put(m.layers, m.hidden, m.heads, m.keyHeads, m.queryWidth, m.valueWidth,
      m.numDense() > 0 ? m.ffn : 0, m.isGated, m.vocab, m.sequence, m.isTied,
      m.hasDropout, m.extraPredictions, m.windowedLayers, m.window);
  if (m.experts)
    put(m.experts->count, m.experts->perToken, m.experts->ffn,
        m.experts->shared, m.experts->denseLayers);
  if (m.latent)
    put(m.latent->queryRank, m.latent->keyRank, m.latent->rotaryWidth);
  put(l.tensor, l.context, l.expert, l.pipeline, l.chunks, l.data, l.microbatch,
      l.globalBatch, l.zero, int(l.recompute), l.recomputedLayers,
      l.sequenceParallel, l.isBalanced);
  put(int(e.stack), int(e.precision), int(e.attention), e.flashVersion,
      e.hasFusedNorms, e.overlapsTensor, e.overlapsData, e.overlapsExperts,
      e.gradientBytes, e.offloadedLayers);
  for (int64_t layers : run.stageLayers)
    put(layers);
  return os.str();
}

} // namespace rondo::launch

#endif // RONDO_TEST_UNIT_LAUNCH_FIELDS_H
