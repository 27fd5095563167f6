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
#include "runtime/transport/exchange.h"
#include "runtime/transport/waiting.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

namespace rondo::runtime {

/// Each round has a start and a wait of every rank with a part. A rank waits
/// before it starts the next round, so there is at most one round at a time.
class alignas(64) Meeting {
public:
  /// The network must outlive it.
  Meeting(const CollectiveParams &params, ImposedNetwork &network)
      : parts(params), ranks(ranksOf(params)),
        members(std::make_unique<Member[]>(ranks.size())), network(network) {}

  /// A rank provides its parts. `sum`: where addAll()'s result goes; null for a
  /// sum of parts.
  void start(int32_t rank, double *sum) {
    Member &me = memberOf(rank);
    me.sum = sum;
    me.rounds.store(me.rounds.load(std::memory_order_relaxed) + 1,
                    std::memory_order_relaxed);
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 < ranks.size())
      return;
    // The others are past the wait of the previous round: nobody takes pieces.
    arrived.store(0, std::memory_order_relaxed);
    addsAll = sum != nullptr;
    endNs = 0;
    if (!addsAll && network.isImposed()) {
      const int64_t now = nowNs();
      endNs =
          now + network.sumNs(ranks, sizeof(float) * parts.front().count, now);
    }
    numPieces =
        addsAll
            ? 1
            : std::max<int64_t>(1, (parts.front().count + piece - 1) / piece);
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
    if (me.sum)
      *me.sum = total;
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
    double *sum = nullptr;
  };

  Member &memberOf(int32_t rank) const {
    return members[std::lower_bound(ranks.begin(), ranks.end(), rank) -
                   ranks.begin()];
  }
  uint32_t roundsOf(int32_t rank) const {
    return memberOf(rank).rounds.load(std::memory_order_relaxed);
  }

  void takePieces() {
    for (;;) {
      const int64_t next = nextPiece.fetch_add(1, std::memory_order_relaxed);
      if (next >= numPieces)
        return;
      if (addsAll)
        addAll();
      else
        addParts(next * piece,
                 std::min((next + 1) * piece, parts.front().count));
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
  ImposedNetwork &network;
  /// Rounds that all ranks have started, and those whose result is complete.
  Signal begun, ended;
  std::atomic<size_t> arrived{0};
  // Of the round; written by the rank that starts last.
  bool addsAll = false;
  int64_t numPieces = 0, endNs = 0;
  std::atomic<int64_t> nextPiece{0}, piecesDone{0};
  double total = 0;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRANSPORT_MEETING_H
