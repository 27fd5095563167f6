//===- DualPipeV.cpp - DualPipe cut in half, in a V -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DeepSeek's DualPipe, arXiv 2412.19437, cut in half as DualPipeV (released
// code, 2025; PyTorch's ScheduleDualPipeV). Rank r holds the stages r and
// 2P - 1 - r; below, a small letter is a task of the second. An overlapped
// block F & B of DualPipeV runs as F, then B.
//
//   rank 0   F0 F1 F2 f0 i0 w0 f1 F3 b1 -- f2 B0 -- b2 -- f3    B1 -- b3 -- ..
//   rank 1      F0 f0 F1 f1 F2 b0 -- f2 B0 -- F3 b1 -- f3 B1 -- b2 -- B2 -- ..
//
// Rank r: 2(P - r - 1) F; r + 1 times (F f); P - r - 1 times (i W f);
// M - 2P + r + 1 times (F b f B); P - r - 1 times (b f B); r + 1 times (b B),
// from turn floor((r + 1) / 2) on with I for B, but on even ranks b of that
// turn stays fused; P - r - 1 times (W I); the other W. A W is always the
// oldest pending one. With equal times, in times of a whole rank, the makespan
// is 3M + (P - 1) / 2; a rank holds up to P + 1/2 activations. Needs M >= 2P.
//
//===----------------------------------------------------------------------===//

#include "schedule/families/RankOrder.h"
#include "schedule/families/Registry.h"

#include <queue>

using namespace rondo;

static void writeRank(RankOrder &order, int64_t ranks, int64_t r,
                      int64_t last) {
  std::queue<int32_t> pending;
  auto inputGrad = [&](int32_t chunk) {
    order.inputGrad(chunk);
    pending.push(chunk);
  };
  auto weightGrad = [&] {
    order.weightGrad(pending.front());
    pending.pop();
  };
  for (int64_t i = 0; i < 2 * (ranks - r - 1); ++i)
    order.forward(0);
  for (int64_t i = 0; i < r + 1; ++i) {
    order.forward(0);
    order.forward(1);
  }
  for (int64_t i = 0; i < ranks - r - 1; ++i) {
    inputGrad(1);
    weightGrad();
    order.forward(1);
  }
  for (int64_t i = 0; i < last - 2 * ranks + r + 1; ++i) {
    order.forward(0);
    order.backward(1);
    order.forward(1);
    order.backward(0);
  }
  for (int64_t i = 0; i < ranks - r - 1; ++i) {
    order.backward(1);
    order.forward(1);
    order.backward(0);
  }
  const int64_t firstSplit = (r + 1) / 2;
  for (int64_t i = 0; i < r + 1; ++i) {
    if (i > firstSplit || (i == firstSplit && r % 2 == 1))
      inputGrad(1);
    else
      order.backward(1);
    if (i >= firstSplit)
      inputGrad(0);
    else
      order.backward(0);
  }
  for (int64_t i = 0; i < ranks - r - 1; ++i) {
    weightGrad();
    inputGrad(0);
  }
  while (!pending.empty())
    weightGrad();
}

static FamilyResult generateDualPipeV(const Problem &problem,
                                      const FamilyArguments &) {
  auto placement = needVPlacement("dualpipe-v", problem);
  if (!placement)
    return placement.fault();
  const int32_t ranks = placement->ranks;
  if (problem.microbatches < 2 * ranks)
    return makeFault<FaultKind::FewMicrobatches>(
        "dualpipe-v", problem.microbatches, ranks,
        2 * ranks - problem.microbatches);
  return orderRanks(placement, problem, 3,
                    [&](RankOrder &order, const Chunks &, int32_t r) {
                      writeRank(order, ranks, r, problem.microbatches);
                    });
}

Family rondo::dualPipeV() {
  return {"dualpipe-v",
          "forwards and backwards of two chunks in a V, in pairs",
          "DeepSeek-AI, arXiv 2412.19437",
          {},
          generateDualPipeV};
}
