//===- exchange.h - What a rank moves in a collective -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every rank that contributes adds a piece of the elements: it gets the piece
// of all contributing parts, adds them in the order of the parts, and sends the
// sum to all ranks with parts. Of R ranks with one contributing part each, each
// sends and receives 2 (R - 1) / R of a part.
//
// This goes in rounds, so that the memory for parts of other ranks stays small.
// A round brings the next elements of each piece together, and spreads the sums
// of the round before.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TRANSPORT_EXCHANGE_H
#define RONDO_RUNTIME_TRANSPORT_EXCHANGE_H

#include "runtime/transport/transport.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rondo::runtime {

/// One rank's share of a sum of parts. All ranks must take the same
/// `maxAtOnce`.
class SumExchange {
public:
  /// Elements that travel between this rank and `peer`.
  struct Move {
    int32_t peer;
    float *data;
    int64_t count;
  };

  /// `me` has a part. `maxAtOnce`: the most elements of a part that are moved
  /// to one rank in a round.
  SumExchange(const CollectiveParams &parts, int32_t me, int64_t maxAtOnce);

  int64_t numRounds() const { return rounds == 0 ? 0 : rounds + 1; }
  /// Once this round's moves have ended, all contributing ranks have started.
  int64_t roundOfAllStarts() const {
    return elementsOf(myPiece, 0).count > 0 ? 0 : 1;
  }
  /// Memory that the rounds need, in elements: what stagingBytes() of
  /// kinds/Sums.h says.
  int64_t stagingCount() const { return arrivals * atOnce; }
  int64_t stagingBytes() const {
    return static_cast<int64_t>(sizeof(float)) * stagingCount();
  }

  /// The rank's sends and receives of a round. The moves of a round may go
  /// in any order, except that the n-th send of one rank to another meets its
  /// n-th receive from that one.
  std::vector<Move> sends(int64_t round) const;
  std::vector<Move> receives(int64_t round, float *staging) const;

  /// Completes a round once all of its moves have ended, in this order:
  /// add(sum, values, count) adds values to sum, copy(to, from, count) copies.
  template <typename Add, typename Copy>
  void finish(int64_t round, float *staging, Add add, Copy copy) const {
    for (size_t adder = 0; adder < adders.size(); ++adder)
      if (adders[adder] != me)
        copyToMine(elementsOf(static_cast<int64_t>(adder), round - 1), nullptr,
                   copy);
    const Elements elements = elementsOf(myPiece, round);
    if (elements.count == 0)
      return;
    float *sum = nullptr;
    for (const PartParams &part : parts) {
      if (!part.contributes)
        continue;
      float *values = staging;
      if (part.rank == me)
        values = static_cast<float *>(part.data) + elements.begin;
      else
        staging += atOnce;
      if (sum)
        add(sum, static_cast<const float *>(values), elements.count);
      else
        sum = values;
    }
    copyToMine(elements, sum, copy);
  }

private:
  struct Elements {
    int64_t begin = 0, count = 0;
  };

  /// Elements that an adder adds in a round; none in other rounds, or if
  /// `adder` is -1.
  Elements elementsOf(int64_t adder, int64_t round) const;

  /// Copies the sum of these elements to the rank's parts. It is at `from`;
  /// null: in the rank's first part.
  template <typename Copy>
  void copyToMine(Elements elements, const float *from, Copy copy) const {
    if (elements.count == 0)
      return;
    if (!from)
      from = result + elements.begin;
    for (const PartParams &part : parts) {
      float *to = static_cast<float *>(part.data) + elements.begin;
      if (part.rank == me && to != from)
        copy(to, from, elements.count);
    }
  }

  const CollectiveParams parts;
  const int32_t me;
  /// Elements of each part.
  const int64_t count;
  /// All ranks, and those that contribute and so add a piece, in its order.
  const std::vector<int32_t> ranks, adders;
  /// Index in `adders`; -1: this rank does not contribute.
  int64_t myPiece = -1;
  /// The rank's first part, where sums of other ranks arrive.
  float *result = nullptr;
  int64_t atOnce = 0, rounds = 0;
  /// Contributing parts of other ranks that this rank adds.
  int64_t arrivals = 0;
};

//===----------------------------------------------------------------------===//
// Gathers and scatters of shards.
//
// Each of R ranks has one of R equal pieces. In a gather it sends its piece to
// all others; in a scatter it gets its piece of the others' memory, and adds
// them in the order of the parts. Either way it sends and receives (R - 1) / R
// of all pieces, in rounds, so that the memory for pieces of others stays
// small.
//===----------------------------------------------------------------------===//

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
  /// The same as stagingBytes() of kinds/Sums.h.
  int64_t stagingBytes() const {
    return kind == Kind::Gather
               ? 0
               : static_cast<int64_t>(sizeof(float)) *
                     (static_cast<int64_t>(ranks.size()) - 1) * atOnce;
  }

  /// The moves of a round may go in any order.
  std::vector<Move> sends(int64_t round) const;
  std::vector<Move> receives(int64_t round, float *staging) const;

  /// Completes a round once all of its moves have ended: add(sum, values,
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

#endif // RONDO_RUNTIME_TRANSPORT_EXCHANGE_H
