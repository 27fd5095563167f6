//===- Cards.h - Network cards that ranks share -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_CARDS_H
#define RONDO_SCHEDULE_CARDS_H

#include <cstdint>
#include <vector>

namespace rondo {

/// The sides of cards that something crosses: the outgoing side of one card and
/// the incoming side of another. -1: no card there.
struct CardSides {
  int32_t out = -1, in = -1;

  bool any() const { return out >= 0 || in >= 0; }
};

/// Network cards, each of which carries the messages between its ranks and all
/// others, one at a time in each direction. A rank has at most one; what passes
/// between two ranks of one server does not cross any.
struct Cards {
  /// By card; at least 1.
  std::vector<int64_t> bytesPerUs;
  /// By rank: its card, or -1. Empty where there are no cards.
  std::vector<int32_t> ofRank;
  /// By card: the number of its server, or -1 for one of its own. Empty: all
  /// are on servers of their own.
  std::vector<int32_t> servers{};

  bool empty() const { return bytesPerUs.empty(); }
  int32_t count() const { return static_cast<int32_t>(bytesPerUs.size()); }
  int32_t serverOf(int32_t card) const {
    return servers.empty() ? -1 : servers[card];
  }
  CardSides between(int32_t from, int32_t to) const {
    if (empty())
      return {};
    const int32_t a = ofRank[from], b = ofRank[to];
    if (a == b ||
        (a >= 0 && b >= 0 && serverOf(a) >= 0 && serverOf(a) == serverOf(b)))
      return {};
    return {a, b};
  }
};

} // namespace rondo

#endif // RONDO_SCHEDULE_CARDS_H
