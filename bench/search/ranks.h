//===- ranks.h - Problems of equal ranks ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_BENCH_SEARCH_RANKS_H
#define RONDO_BENCH_SEARCH_RANKS_H

#include "schedule/model/Problem.h"

/// Costs of one rank and micro-batch, which its stages share.
struct Costs {
  const char *name;
  int64_t forwardNs, inputGradNs, weightGradNs, latencyNs;
  /// Added at the first and at the last stage.
  int64_t firstNs, lastNs;
};

enum class Shape : uint8_t { Looped, V };

/// A chain with `rows` stages on each rank, placed round by round (Looped) or
/// forth and back (V); each micro-batch takes 8 bytes of a rank.
rondo::Problem rankProblem(const Costs &costs, int32_t ranks, int32_t rows,
                           int32_t microbatches, Shape shape, int64_t capBytes);

#endif // RONDO_BENCH_SEARCH_RANKS_H
