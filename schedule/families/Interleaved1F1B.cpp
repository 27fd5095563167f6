//===- Interleaved1F1B.cpp - 1F1B over several chunks per rank --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Narayanan et al., "Efficient Large-Scale Language Model Training on GPU
// Clusters Using Megatron-LM", arXiv 2104.04473, in the closed form of
// PyTorch's ScheduleInterleaved1F1B. Stage = chunk * P + rank; fused B.
//
// With two chunks; a small letter is a task of the second:
//
//   rank 0   F0 F1 F2 f0 f1 f2    b0 --    b1 --    b2 -- B0 -- B1 -- B2 --
//   rank 1      F0 F1 F2 f0 b0 -- f1 b1 -- f2 b2 -- B0 -- B1 -- B2 --
//
// Micro-batches go in rounds of n (Rounds.h: P if P divides M). Forwards run
// the chunks of a round upwards, backwards downwards. Rank r first runs
// min((v - 1)n + 2(P - 1 - r), M v) forwards, then F and B alternately. If
// rounds differ by one micro-batch, n is that of the longest. With equal times,
// in times of a whole rank, the makespan is 3M + 3(P - 1) / v; rank 0 holds
// (P(v - 1) + 2P - 1) / v activations.
//
//===----------------------------------------------------------------------===//

#include "schedule/families/RankOrder.h"
#include "schedule/families/Registry.h"
#include "schedule/families/Rounds.h"

using namespace rondo;

static FamilyResult generateInterleaved1F1B(const Problem &problem,
                                            const FamilyArguments &) {
  auto append = [&](RankOrder &order, const Chunks &chunks, int32_t r) {
    const Rounds rounds(problem, chunks);
    const int64_t warmUp = rounds.warmUp(r, 2);
    for (int64_t k = 0; k < warmUp; ++k)
      order.forward(rounds.forwardChunk(k));
    for (int64_t k = 0; k < rounds.total(); ++k) {
      if (warmUp + k < rounds.total())
        order.forward(rounds.forwardChunk(warmUp + k));
      order.backward(rounds.backwardChunk(k));
    }
  };
  return orderRanks(needLoopedPlacement("interleaved-1f1b", problem), problem,
                    2, append);
}

Family rondo::interleaved1F1B() {
  return {"interleaved-1f1b",
          "1f1b over several chunks per rank, in rounds",
          "Narayanan et al., arXiv 2104.04473",
          {},
          generateInterleaved1F1B};
}
