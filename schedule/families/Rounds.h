//===- Rounds.h - The rounds of interleaved schedules -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interleaved schedules split M micro-batches into max(1, floor(M / P)) rounds.
// A round runs one chunk after another. The published generators require rounds
// of one size; here the first M mod rounds of them have one micro-batch more,
// so that any M works and the order is the published one if the division is
// exact. The longer rounds come first, since the warm-up of the first round
// must cover every later one.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_FAMILIES_ROUNDS_H
#define RONDO_SCHEDULE_FAMILIES_ROUNDS_H

#include "schedule/families/Placement.h"

#include <algorithm>

namespace rondo {

class Rounds {
public:
  Rounds(const Problem &problem, const Chunks &chunks)
      : chunks(chunks.count), ranks(chunks.ranks),
        microbatches(problem.microbatches) {
    int64_t rounds = std::max<int64_t>(1, microbatches / ranks);
    size = microbatches / rounds;
    longer = microbatches % rounds;
  }

  /// Number of tasks of one kind on one rank.
  int64_t total() const { return microbatches * chunks; }
  /// Forwards of a rank before its first backward, without the one that begins
  /// the steady phase. Each rank after it adds `perHop`.
  int64_t warmUp(int64_t rank, int64_t perHop) const {
    return std::min((chunks - 1) * (size + (longer > 0 ? 1 : 0)) +
                        perHop * (ranks - 1 - rank),
                    total());
  }
  /// The chunk of the k-th forward.
  int32_t forwardChunk(int64_t k) const {
    return static_cast<int32_t>(positionInRound(k));
  }
  /// The chunk of the k-th backward.
  int32_t backwardChunk(int64_t k) const {
    return static_cast<int32_t>(chunks - 1 - positionInRound(k));
  }

private:
  int64_t positionInRound(int64_t k) const {
    int64_t inLonger = longer * (size + 1) * chunks;
    if (k < inLonger)
      return k / (size + 1) % chunks;
    return (k - inLonger) / size % chunks;
  }

  int64_t chunks, ranks, microbatches;
  /// Micro-batches of a shorter round; the number of rounds with one more.
  int64_t size = 0, longer = 0;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_FAMILIES_ROUNDS_H
