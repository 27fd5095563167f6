//===- VMin.cpp - A third of 1F1B's memory, in a V --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Qi et al., "Pipeline Parallelism with Controllable Memory", arXiv 2405.15362,
// schedule V-Min (which calls I "B"), as the authors' released generator writes
// it. Rank r holds the stages r and 2P - 1 - r; a small letter is a
// task of the second.
//
//   rank 0   F0 F1    f0 i0 w0    I0 W0 f1 i1 w1 F2 I1 W1 f2 i2 w2    I2 W2
//   rank 1      F0 f0       i0 I0 F1 f1 w0 W0 i1 I1 F2 f2 w1 W1 i2 I2 w2 W2
//
// A micro-batch has the slots r (F), 2P - r - 1 (f), 2P + d + r (i) and
// 4P + d - r - 1 (I) on rank r, d = 2 if 3 divides P, otherwise 0. The block is
// repeated every six slots; W takes the free ones (ControllableMemory.h). With
// equal times, in times of a whole rank, the makespan is 3M + 2P - 2.5; a rank
// holds about P / 3 activations (2, 4, 6, 12 at P = 4, 8, 16, 32).
//
//===----------------------------------------------------------------------===//

#include "schedule/families/ControllableMemory.h"
#include "schedule/families/Registry.h"

using namespace rondo;

static FamilyResult generateVMin(const Problem &problem,
                                 const FamilyArguments &) {
  auto placement = needVPlacement("v-min", problem);
  if (!placement)
    return placement.fault();
  const Chunks &chunks = *placement;
  const int64_t ranks = chunks.ranks, delay = ranks % 3 == 0 ? 2 : 0;
  Block block;
  for (int64_t r = 0; r < ranks; ++r)
    block.push_back({r, 2 * ranks - r - 1, 2 * ranks + delay + r,
                     4 * ranks + delay - r - 1});
  return repeatBlock(chunks, problem.microbatches, block);
}

Family rondo::vMin() {
  Family family;
  family.name = "v-min";
  family.summary = "two chunks per rank in a V with a third of 1f1b's memory";
  family.source = "Qi et al., arXiv 2405.15362";
  family.generate = generateVMin;
  family.extraSteps = stepsOfRepeatedBlocks;
  return family;
}
