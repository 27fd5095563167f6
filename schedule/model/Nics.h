//===- Nics.h - NICs that ranks share ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_MODEL_NICS_H
#define RONDO_SCHEDULE_MODEL_NICS_H

#include <cstdint>
#include <vector>

namespace rondo {

/// The NIC sides that a message crosses: the outgoing side of one NIC and the
/// incoming side of another. -1: no NIC.
struct NicSides {
  int32_t out = -1, in = -1;

  bool any() const { return out >= 0 || in >= 0; }
};

/// NICs of the cluster. A NIC carries all messages between its ranks and other
/// ranks, one at a time in each direction. A rank has at most one NIC. Messages
/// between ranks of one NIC or of one server cross no NIC.
struct Nics {
  /// [nic]: bandwidth in each direction, at least 1.
  std::vector<int64_t> bytesPerUs;
  /// [rank]: its NIC, or -1. Empty if there are no NICs.
  std::vector<int32_t> ofRank;
  /// [nic]: the number of its server, or -1 if it has a server of its own.
  /// Empty: all have.
  std::vector<int32_t> servers{};

  bool empty() const { return bytesPerUs.empty(); }
  int32_t count() const { return static_cast<int32_t>(bytesPerUs.size()); }
  int32_t serverOf(int32_t nic) const {
    return servers.empty() ? -1 : servers[nic];
  }
  NicSides between(int32_t from, int32_t to) const {
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

#endif // RONDO_SCHEDULE_MODEL_NICS_H
