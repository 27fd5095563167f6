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
  /// Indexed by NIC; at least 1.
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

/// Queue of messages that wait for NICs. The message that became ready first is
/// served first; ties go to the lowest number, then to the lowest place. A
/// simulator runs all ranks until they block before it serves a request. Later
/// requests are then ready no earlier, so the order in which ranks are
/// simulated does not matter.
class NicQueue {
public:
  /// `number` identifies the requester, `place` one of its messages.
  struct Request {
    int64_t readyNs = 0, number = 0, place = 0;
    /// Data of the requester.
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
  /// Removes and returns the first request.
  Request next() {
    const Request request = requests.top();
    requests.pop();
    return request;
  }

  /// The first time from `readyNs` on at which both sides are free.
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
