//===- Nics.h - NICs that ranks share ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_MODEL_NICS_H
#define RONDO_SCHEDULE_MODEL_NICS_H

#include <algorithm>
#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

namespace rondo {

/// The sides of NICs that something crosses: the outgoing side of one NIC and
/// the incoming side of another. -1: no NIC there.
struct NicSides {
  int32_t out = -1, in = -1;

  bool any() const { return out >= 0 || in >= 0; }
};

/// NICs, each of which carries the messages between its ranks and all
/// others, one at a time in each direction. A rank has at most one; what passes
/// between two ranks of one server does not cross any.
struct Nics {
  /// By NIC; at least 1.
  std::vector<int64_t> bytesPerUs;
  /// By rank: its NIC, or -1. Empty where there are no NICs.
  std::vector<int32_t> ofRank;
  /// By NIC: the number of its server, or -1 for one of its own. Empty: all
  /// are on servers of their own.
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

/// Which message gets its NICs next. Of all that ask, the one that was ready
/// first does; of equals, the one with the lowest number, and then the lowest
/// place. A simulator lets all ranks run until they wait before it grants one:
/// whatever asks after that is ready no earlier, so that the order of ranks
/// does not matter.
class NicQueue {
public:
  /// `number` says what asks, `place` which of its messages.
  struct Request {
    int64_t readyNs = 0, number = 0, place = 0;
    /// For the one who asks.
    int64_t what = 0;

    bool operator>(const Request &other) const {
      return std::tie(readyNs, number, place) >
             std::tie(other.readyNs, other.number, other.place);
    }
  };

  void reset(int32_t nics) {
    outFreeNs.assign(nics, 0);
    inFreeNs.assign(nics, 0);
    requests = {};
  }
  void ask(const Request &request) { requests.push(request); }
  bool isEmpty() const { return requests.empty(); }
  const Request &first() const { return requests.top(); }
  /// Takes the first request out.
  Request next() {
    const Request request = requests.top();
    requests.pop();
    return request;
  }

  /// When both sides are free, `readyNs` at the earliest.
  int64_t freeNs(NicSides sides, int64_t readyNs) const {
    if (sides.out >= 0)
      readyNs = std::max(readyNs, outFreeNs[sides.out]);
    if (sides.in >= 0)
      readyNs = std::max(readyNs, inFreeNs[sides.in]);
    return readyNs;
  }
  void hold(NicSides sides, int64_t untilNs) {
    if (sides.out >= 0)
      outFreeNs[sides.out] = untilNs;
    if (sides.in >= 0)
      inFreeNs[sides.in] = untilNs;
  }

private:
  std::vector<int64_t> outFreeNs, inFreeNs;
  std::priority_queue<Request, std::vector<Request>, std::greater<>> requests;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_NICS_H
