//===- GroupExamples.h - Models and machines of tests -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_PLANNING_GROUPEXAMPLES_H
#define RONDO_TEST_UNIT_PLANNING_GROUPEXAMPLES_H

#include "planning/groups/Constants.h"

namespace rondo::groups {

/// Llama 3, with sequences of 8192 tokens.
inline Transformer llama(int64_t layers, int64_t hidden, int64_t heads,
                         int64_t ffn) {
  Transformer model;
  model.layers = layers;
  model.hidden = hidden;
  model.heads = heads;
  model.keyHeads = 8;
  model.queryWidth = model.valueWidth = 128;
  model.ffn = ffn;
  model.isGated = true;
  model.vocab = 128256;
  model.sequence = 8192;
  return model;
}

inline Transformer llama70B() { return llama(80, 8192, 64, 28672); }

/// Nodes of 8 A100 or H100.
inline Machines dgx(Generation generation, int64_t nodes) {
  Machines machines;
  if (generation == Generation::Ampere)
    machines.device = {generation, {312000000, 312000000, 312000000},
                       2039000,    300000,
                       25000,      80000000000};
  else
    machines.device = {generation, {989000000, 1979000000, 1979000000},
                       3350000,    450000,
                       50000,      80000000000};
  machines.domain = 8;
  machines.domains = nodes;
  return machines;
}

} // namespace rondo::groups

#endif // RONDO_TEST_UNIT_PLANNING_GROUPEXAMPLES_H
