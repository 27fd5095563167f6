//===- meeting.h - A collective between threads -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rank that starts last makes the work available, in pieces; ranks that
// wait take pieces until none is left. So a rank that comes late to its wait
// does not hold up the others, and finds the result.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TRANSPORT_MEETING_H
#define RONDO_RUNTIME_TRANSPORT_MEETING_H

#include "runtime/base/clock.h"
#include "runtime/base/signal.h"
#include "runtime/transport/transport.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace rondo::runtime {

/// Each round has a start and a wait of every rank with a part. A rank waits
/// before it starts the next round, so there is at most one round at a time.
class alignas(64) Meeting {
public:
  enum class Work : uint8_t { SumParts, AddAll, Gather, Scatter };

  /// The network must outlive it; null: links are not imposed.
  Meeting(const CollectiveParams &params, ImposedNetwork *network)
      : parts(params), ranks(ranksOf(params)),
        members(std::make_unique<Member[]>(ranks.size())), network(network) {}

  /// A rank provides its parts. `memory`: where the sum of all elements goes,
  /// or what is gathered or scattered, all pieces; null for a sum of parts.
  void start(int32_t rank, Work todo, void *memory) {
    Member &me = memberOf(rank);
    me.memory = memory;
    me.rounds.store(me.rounds.load(std::memory_order_relaxed) + 1,
                    std::memory_order_relaxed);
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 < ranks.size())
      return;
    // The others are past the wait of the previous round: nobody takes pieces.
    arrived.store(0, std::memory_order_relaxed);
    work = todo;
    endNs = 0;
    if (work != Work::AddAll && network)
      endNs = network->endOfSum(ranks, sizeof(float) * parts.front().count,
                                nowNs(), work == Work::SumParts ? 2 : 1);
    numPieces = piecesOfWork();
    nextPiece.store(0, std::memory_order_relaxed);
    piecesDone.store(0, std::memory_order_relaxed);
    begun.advance();
  }

  /// Returns when the rank has the result. waitFor(signal, isReady) returns
  /// once isReady(signal's value) holds.
  template <typename WaitFor> void finish(int32_t rank, WaitFor waitFor) {
    Member &me = memberOf(rank);
    const uint32_t round = me.rounds.load(std::memory_order_relaxed);
    // The distance is right across the wrap of the counters.
    auto hasRound = [&](uint32_t value) {
      return static_cast<int32_t>(value - round) >= 0;
    };
    waitFor(begun, hasRound);
    takePieces();
    waitFor(ended, hasRound);
    if (work == Work::AddAll)
      *static_cast<double *>(me.memory) = total;
  }

  /// When imposed links let the round end that the rank has finished.
  int64_t end() const { return endNs; }

  /// A rank that has not started the round of `rank`; -1: all have.
  /// Thread-safe.
  int32_t missing(int32_t rank) const {
    const uint32_t round = roundsOf(rank);
    for (int32_t other : ranks)
      if (static_cast<int32_t>(roundsOf(other) - round) < 0)
        return other;
    return -1;
  }
  void wakeAll() {
    begun.wakeAll();
    ended.wakeAll();
  }

private:
  /// Elements that one rank adds in one go.
  static constexpr int64_t piece = 1 << 15;

  struct alignas(64) Member {
    std::atomic<uint32_t> rounds{0};
    void *memory = nullptr;
  };

  Member &memberOf(int32_t rank) const {
    return members[std::lower_bound(ranks.begin(), ranks.end(), rank) -
                   ranks.begin()];
  }
  uint32_t roundsOf(int32_t rank) const {
    return memberOf(rank).rounds.load(std::memory_order_relaxed);
  }

  /// Elements of the piece of sharded state that a rank has.
  int64_t shard() const {
    return parts.front().count / static_cast<int64_t>(parts.size());
  }
  static int64_t piecesOf(int64_t count) { return (count + piece - 1) / piece; }
  int64_t piecesOfWork() const {
    switch (work) {
    case Work::SumParts:
      return std::max<int64_t>(1, piecesOf(parts.front().count));
    case Work::AddAll:
      return 1;
    case Work::Gather:
    case Work::Scatter:
      return std::max<int64_t>(1, static_cast<int64_t>(parts.size()) *
                                      piecesOf(shard()));
    }
    return 0;
  }

  void takePieces() {
    for (;;) {
      const int64_t next = nextPiece.fetch_add(1, std::memory_order_relaxed);
      if (next >= numPieces)
        return;
      const int64_t begin = next * piece;
      if (work == Work::AddAll)
        addAll();
      else if (work == Work::SumParts)
        addParts(begin, std::min(begin + piece, parts.front().count));
      else if (shard() > 0)
        moveShard(next);
      if (piecesDone.fetch_add(1, std::memory_order_acq_rel) + 1 == numPieces)
        ended.advance();
    }
  }

  void addParts(int64_t begin, int64_t end) const {
    auto at = [&](const PartParams &part) {
      return static_cast<float *>(part.data) + begin;
    };
    const PartParams &first = firstContribution(parts);
    for (const PartParams *part = &first + 1; part <= &parts.back(); ++part)
      if (part->contributes)
        addElements(at(first), at(*part), end - begin);
    for (const PartParams &part : parts)
      if (&part != &first)
        std::copy(at(first), at(first) + (end - begin), at(part));
  }

  /// Moves elements of one rank's shard in a gather or scatter.
  void moveShard(int64_t number) const {
    const int64_t each = piecesOf(shard()), owner = number / each,
                  offset = number % each * piece,
                  count = std::min(piece, shard() - offset);
    auto at = [&](const PartParams &part) {
      return static_cast<float *>(memberOf(part.rank).memory) +
             owner * shard() + offset;
    };
    float *own = at(parts[owner]);
    if (work == Work::Gather) {
      for (const PartParams &part : parts)
        if (float *to = at(part); to != own)
          std::copy(own, own + count, to);
      return;
    }
    // Only the owner reads the result; the others' elements are free.
    float *sum = at(parts.front());
    for (size_t p = 1; p < parts.size(); ++p)
      addElements(sum, at(parts[p]), count);
    if (sum != own)
      std::copy(sum, sum + count, own);
  }

  void addAll() {
    total = 0;
    for (const PartParams &part : parts)
      for (int64_t i = 0; i < part.count; ++i)
        total += static_cast<double *>(part.data)[i];
  }

  const CollectiveParams parts;
  const std::vector<int32_t> ranks;
  /// In the order of `ranks`.
  const std::unique_ptr<Member[]> members;
  ImposedNetwork *network;
  /// Rounds that all ranks have started, and those whose result is complete.
  Signal begun, ended;
  std::atomic<size_t> arrived{0};
  // The current round; written by the rank that starts last.
  Work work = Work::SumParts;
  int64_t numPieces = 0, endNs = 0;
  std::atomic<int64_t> nextPiece{0}, piecesDone{0};
  double total = 0;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRANSPORT_MEETING_H
