//===- Sums.h - Pieces and staging of sums over ranks -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In an all-reduce over r contributing parts, each rank adds one piece (1/r) of
// the elements: it receives that piece of the parts of all other ranks in its
// staging memory. The compiler plans this memory and the runtime uses it; both
// take its size from here. A scatter of sharded state is the adding half of
// such a sum; a gather is the distributing half.
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

/// Places for partial norms in control memory of a layer with this number of
/// tensors, 0 if it is at most 16: a stage's owner contributes those of its
/// layers to the norm.
constexpr int64_t partialsOfLayer(int64_t tensors) {
  constexpr int64_t atOnce = 16;
  return std::max<int64_t>(1, (tensors + atOnce - 1) / atOnce) * atOnce;
}

/// Limits of the sums of a target's transports.
struct SumLimits {
  /// Maximum number of elements of a part sent to one rank per round.
  int64_t elementsAtOnce;
  /// Whether the sum of all elements (e.g. of the norm) gathers them in staging
  /// memory.
  bool stagesGathers;
};

/// Limits of sums between processes on CPUs. A norm has few values, and only
/// the rank that adds them stores them, outside the arena.
inline constexpr SumLimits sumsOfProcesses = {1 << 18, false};
/// Limits of sums between GPUs, where all ranks gather the operands of a norm.
inline constexpr SumLimits sumsOfGpus = {1 << 20, true};

/// Pieces begin at multiples of this, in elements: NCCL is slower on addresses
/// that are not multiples of 16 bytes.
inline constexpr int64_t pieceAlignment = 32;

/// First element of a piece when `count` elements are divided into `pieces`.
/// For `piece == pieces`, the end of the last piece.
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

/// Elements of a piece that are sent between two ranks in one round.
constexpr int64_t elementsOfRound(int64_t pieces, int64_t count,
                                  int64_t elementsAtOnce) {
  return std::min((largestPiece(pieces, count) + pieceAlignment - 1) /
                      pieceAlignment * pieceAlignment,
                  elementsAtOnce);
}

/// Largest number of elements on one rank, for the sum of all elements.
template <typename Parts> int64_t maxElementsOfARank(const Parts &parts) {
  std::map<int32_t, int64_t> elements;
  int64_t most = 0;
  for (const auto &part : parts)
    most = std::max(most, elements[part.rank] += part.count);
  return most;
}

/// Bytes of staging memory per rank; ranks that are not in the map need none.
/// Each of `parts` has a `rank`, a `count` of elements, and a flag
/// `contributes`.
///
/// A sum stages, in each round, the next elements of the rank's piece, once for
/// every contributing part of another rank. So a rank whose parts only receive
/// needs none, and neither does a rank that has all contributing parts. A
/// staged norm needs space for the elements of each rank, preceded by space for
/// its own elements once more.
///
/// A scatter stages the same as a sum: it has one part on each rank, with as
/// many elements as all shards together. A gather stages nothing.
///
/// Threads of a process, and ranks on one GPU, add in place. But the same
/// executable also runs as processes over TCP or MPI, or with a GPU per rank,
/// and memory is planned before this is known. So the result is the maximum
/// over these.
template <typename Parts>
std::map<int32_t, int64_t> stagingBytes(CollectiveKind kind, const Parts &parts,
                                        const SumLimits &limits) {
  // Per rank: number of contributing parts, and the result.
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
  } else if (kind != CollectiveKind::GatherWeights && !readsSteps(kind)) {
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
