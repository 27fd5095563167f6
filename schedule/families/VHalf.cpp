//===- VHalf.cpp - Half of 1F1B's memory, in a V ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Qi et al., "Pipeline Parallelism with Controllable Memory", arXiv 2405.15362,
// schedule V-Half (which calls I "B"), as the authors' released generator
// writes it. Rank r holds the stages r and 2P - 1 - r; a small letter is a
// task of the second.
//
//   rank 0   F0 F1 F2 f0 i0 w0 f1    I0 i1 w1 f2 i2 I1 w2 I2 W0 W1 W2
//   rank 1      F0 f0 F1 f1 i0 w0 I0 W0 F2 f2 i1 I1 i2 I2 w1 w2 W1 W2
//
// A micro-batch has the slots 2r (F), 3P - r - 2 (f), 3P + d + 2r - 1 (i) and
// 6P + d - r - 2 (I) on rank r, d = 3 if P is even, otherwise 0. The block is
// repeated every six slots; W takes the free ones (ControllableMemory.h). With
// equal times, in times of a whole rank, the makespan is 3M + 1.5P - 3.5,
// except for P = M = 4 (17); a rank holds up to P / 2 + 1 activations.
//
//===----------------------------------------------------------------------===//

#include "schedule/families/ControllableMemory.h"
#include "schedule/families/Registry.h"

using namespace rondo;

static FamilyResult generateVHalf(const Problem &problem,
                                  const FamilyArguments &) {
  auto placement = needVPlacement("v-half", problem);
  if (!placement)
    return placement.fault();
  const Chunks &chunks = *placement;
  const int64_t ranks = chunks.ranks, delay = ranks % 2 == 0 ? 3 : 0;
  Block block;
  for (int64_t r = 0; r < ranks; ++r)
    block.push_back({2 * r, 3 * ranks - r - 2, 3 * ranks + delay + 2 * r - 1,
                     6 * ranks + delay - r - 2});
  return repeatBlock(chunks, problem.microbatches, block);
}

Family rondo::vHalf() {
  Family family;
  family.name = "v-half";
  family.summary = "two chunks per rank in a V with half of 1f1b's memory";
  family.source = "Qi et al., arXiv 2405.15362";
  family.generate = generateVHalf;
  family.extraSteps = stepsOfRepeatedBlocks;
  return family;
}
