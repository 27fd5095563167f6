//===- shard_exchange.h - What a rank moves of sharded state ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each of R ranks has one of R equal pieces. In a gather it sends its piece to
// all others; in a scatter it gets its piece of the others' memory, and adds
// them in the order of the parts. Either way it sends and receives (R - 1) / R
// of all pieces, in rounds, so that the memory for pieces of others stays
// small.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TRANSPORT_SHARD_EXCHANGE_H
#define RONDO_RUNTIME_TRANSPORT_SHARD_EXCHANGE_H

#include "runtime/transport/exchange.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rondo::runtime {

/// One rank's share of a gather or scatter. All ranks must take the same
/// `maxAtOnce`.
class ShardExchange {
public:
  enum class Kind : uint8_t { Gather, Scatter };
  using Move = SumExchange::Move;

  /// `me` has a part; `whole` is its memory for all pieces. `maxAtOnce`: the
  /// most elements that go to one rank in a round.
  ShardExchange(const CollectiveParams &parts, int32_t me, Kind kind,
                float *whole, int64_t maxAtOnce);

  int64_t numRounds() const { return rounds; }
  /// Once this round's moves have ended, all ranks have started: each has sent
  /// something to each.
  int64_t roundOfAllStarts() const { return 0; }
  /// What stagingBytes() of kinds/Sums.h says.
  int64_t stagingBytes() const {
    return kind == Kind::Gather
               ? 0
               : static_cast<int64_t>(sizeof(float)) *
                     (static_cast<int64_t>(ranks.size()) - 1) * atOnce;
  }

  /// The moves of a round may go in any order.
  std::vector<Move> sends(int64_t round) const;
  std::vector<Move> receives(int64_t round, float *staging) const;

  /// What follows once all moves of the round have ended: add(sum, values,
  /// count) adds values to sum, copy(to, from, count) copies.
  template <typename Add, typename Copy>
  void finish(int64_t round, float *staging, Add add, Copy copy) const {
    const int64_t count = countOf(round);
    if (kind == Kind::Gather || count == 0)
      return;
    float *own = at(myPiece, round), *sum = nullptr;
    for (size_t p = 0; p < ranks.size(); ++p) {
      float *values = own;
      if (static_cast<int64_t>(p) != myPiece) {
        values = staging;
        staging += atOnce;
      }
      if (sum)
        add(sum, static_cast<const float *>(values), count);
      else
        sum = values;
    }
    if (sum != own)
      copy(own, static_cast<const float *>(sum), count);
  }

private:
  int64_t countOf(int64_t round) const {
    return std::clamp<int64_t>(shard - round * atOnce, 0, atOnce);
  }
  float *at(int64_t piece, int64_t round) const {
    return whole + piece * shard + round * atOnce;
  }

  const Kind kind;
  float *const whole;
  /// In the order of the parts.
  std::vector<int32_t> ranks;
  int64_t myPiece = 0;
  /// Elements of a piece, and of a piece in a round.
  int64_t shard = 0, atOnce = 0, rounds = 0;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRANSPORT_SHARD_EXCHANGE_H
