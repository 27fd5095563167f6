//===- Sums.h - How ranks share the work of a sum ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rank that contributes to a sum of parts adds a piece of the elements: it
// receives that piece of the parts of all other ranks, and staging memory is
// where it receives them. The compiler plans this memory, and the runtime uses
// it, so both take its size from here. A scatter of sharded state is the half
// of such a sum that adds, a gather the half that spreads.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_KINDS_SUMS_H
#define RONDO_KINDS_SUMS_H

#include "kinds/Collectives.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace rondo {

/// Room for partial norms in control memory, per layer: what a stage's owner
/// contributes to the norm.
inline constexpr int64_t partialsPerLayer = 16;

/// How the transports of a target add.
struct SumLimits {
  /// The most elements of a part that go to one rank at once.
  int64_t elementsAtOnce;
  /// Whether the sum of all elements, such as the norm's, gathers them in the
  /// staging memory.
  bool stagesGathers;
};

/// Between processes on CPUs. The values of a norm are few, and only the rank
/// that adds them keeps them, outside the arena.
inline constexpr SumLimits sumsOfProcesses = {1 << 18, false};
/// Between GPUs, where all ranks gather what an addition takes.
inline constexpr SumLimits sumsOfGpus = {1 << 20, true};

/// Pieces begin at multiples of this, in elements: NCCL is slower where
/// addresses are not multiples of 16 bytes.
inline constexpr int64_t pieceAlignment = 32;

/// Where a piece of `count` elements begins. The last one ends with the part.
constexpr int64_t beginOfPiece(int64_t piece, int64_t pieces, int64_t count) {
  if (piece == pieces)
    return count;
  const int64_t begin =
      count / pieces * piece + count % pieces * piece / pieces;
  return begin / pieceAlignment * pieceAlignment;
}

/// Elements of the largest piece.
constexpr int64_t largestPiece(int64_t pieces, int64_t count) {
  int64_t largest = 0;
  for (int64_t piece = 0; piece < pieces; ++piece)
    largest = std::max(largest, beginOfPiece(piece + 1, pieces, count) -
                                    beginOfPiece(piece, pieces, count));
  return largest;
}

/// Elements of a piece that a round moves between two ranks.
constexpr int64_t elementsOfRound(int64_t pieces, int64_t count,
                                  int64_t elementsAtOnce) {
  return std::min((largestPiece(pieces, count) + pieceAlignment - 1) /
                      pieceAlignment * pieceAlignment,
                  elementsAtOnce);
}

/// Elements of the rank that has most. For the sum of all elements.
template <typename Parts> int64_t maxElementsOfARank(const Parts &parts) {
  std::map<int32_t, int64_t> elements;
  int64_t most = 0;
  for (const auto &part : parts)
    most = std::max(most, elements[part.rank] += part.count);
  return most;
}

/// Bytes of staging memory by rank; ranks that are not in it need none. `parts`
/// have a `rank`, a `count` of elements, and say whether they contribute
/// (`contributes`).
///
/// A sum of parts stages, in each round, the next elements of the rank's piece
/// of every contributing part of another rank. So a rank whose parts only
/// receive needs none, and neither does one that has all contributing parts. A
/// norm, if it is staged, needs room for the elements of each rank and, in
/// front of them, once more for its own.
///
/// A scatter stages what a sum does: its parts are one on each rank, of as many
/// elements as all pieces together. A gather stages nothing.
///
/// Threads of a process, and ranks on one GPU, add in place. But the same
/// executable also runs as processes over TCP or MPI, or with a GPU per rank,
/// and which of these it will be is not known when its memory is planned: it
/// has what the most needs.
template <typename Parts>
std::map<int32_t, int64_t> stagingBytes(CollectiveKind kind, const Parts &parts,
                                        const SumLimits &limits) {
  // By rank: its contributing parts; and the result.
  std::map<int32_t, int64_t> contributed;
  std::map<int32_t, int64_t> bytes;
  int64_t all = 0, count = 0;
  for (const auto &part : parts) {
    bytes[part.rank] = 0;
    count = part.count;
    if (part.contributes) {
      ++contributed[part.rank];
      ++all;
    }
  }
  if (kind == CollectiveKind::GradientNorm) {
    const auto ranks = static_cast<int64_t>(bytes.size());
    const bool isStaged = limits.stagesGathers && ranks > 1;
    const int64_t each = isStaged ? int64_t(sizeof(double)) * (1 + ranks) *
                                        maxElementsOfARank(parts)
                                  : 0;
    for (auto &[rank, needed] : bytes)
      needed = each;
  } else if (kind != CollectiveKind::GatherWeights) {
    const int64_t ofPart =
        int64_t(sizeof(float)) *
        elementsOfRound(static_cast<int64_t>(contributed.size()), count,
                        limits.elementsAtOnce);
    for (const auto &[rank, own] : contributed)
      bytes[rank] = ofPart * (all - own);
  }
  for (auto it = bytes.begin(); it != bytes.end();)
    it = it->second == 0 ? bytes.erase(it) : std::next(it);
  return bytes;
}

} // namespace rondo

#endif // RONDO_KINDS_SUMS_H
