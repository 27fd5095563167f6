//===- Placement.h - Placements of chunks on ranks --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The placements for which families are published. P ranks hold v chunks each,
// and chunk c holds the stages c P ... c P + P - 1:
//
//   linear   one chunk, stage s on rank s
//   looped   every chunk runs from rank 0 to rank P - 1
//   wave     chunks run down and up alternately; two chunks make a V
//
//   looped  rank 0   0 4      wave  rank 0   0 7 8 15
//           rank 1   1 5            rank 1   1 6 9 14
//           rank 2   2 6            rank 2   2 5 10 13
//           rank 3   3 7            rank 3   3 4 11 12
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_FAMILIES_PLACEMENT_H
#define RONDO_SCHEDULE_FAMILIES_PLACEMENT_H

#include "schedule/families/Family.h"

#include <optional>

namespace rondo {

/// A looped or a wave placement; a single chunk is both.
struct Chunks {
  int32_t ranks = 0, count = 0;
  bool isWave = false;

  int32_t stage(int32_t chunk, int32_t rank) const {
    bool isUp = isWave && chunk % 2 == 1;
    return chunk * ranks + (isUp ? ranks - 1 - rank : rank);
  }
};

/// A fault if the placement is not linear.
std::optional<Fault> needLinearPlacement(const char *family,
                                         const Problem &problem);
/// The chunks of a looped placement, one or more; else a fault.
Result<Chunks> needLoopedPlacement(const char *family, const Problem &problem);
/// The chunks of a wave, an even number; else a fault.
Result<Chunks> needWavePlacement(const char *family, const Problem &problem);
/// The chunks of a wave of two: rank r holds the stages r and 2P - 1 - r.
Result<Chunks> needVPlacement(const char *family, const Problem &problem);

/// The number of micro-batches, at most M, whose activations fit every rank at
/// once.
int64_t microbatchesThatFit(const Problem &problem);

} // namespace rondo

#endif // RONDO_SCHEDULE_FAMILIES_PLACEMENT_H
