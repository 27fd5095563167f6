//===- Network.h - When links and NICs are free --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model of contention that simulators, search and families share.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_SIMULATE_NETWORK_H
#define RONDO_SCHEDULE_SIMULATE_NETWORK_H

#include "schedule/model/Problem.h"

#include <algorithm>
#include <cstdint>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

namespace rondo {

/// The links of a problem: the directed pairs of ranks that an edge joins,
/// numbered in the order of the edges.
class LinkTable {
public:
  struct Row {
    int32_t from = 0, to = 0;
    /// Problem::linkBetween().
    Link link;
    /// The NICs that its messages cross.
    NicSides sides;
  };

  LinkTable() = default;
  explicit LinkTable(const Problem &problem);

  int32_t count() const { return static_cast<int32_t>(rows.size()); }
  const Row &operator[](int32_t link) const { return rows[link]; }
  /// The link of an edge; -1 if one rank has both of its ends.
  int32_t ofEdge(size_t edge) const { return byEdge[edge]; }
  /// Swaps the sender and the receiver of each link.
  void reverse();

private:
  friend class Network;

  std::vector<Row> rows;
  std::vector<int32_t> byEdge;
  int32_t numRanks = 0, numNics = 0;
};

/// The state of links and NICs while messages cross them, in ns.
///
/// A link carries its messages one after another, in the order of the calls. A
/// message that crosses NICs holds the outgoing side of its sender's NIC and
/// the incoming side of its receiver's for as long as it occupies its link. It
/// asks for them first: the request that was ready first is granted first; of
/// equals, that of the lower sender, then of the lower receiver. A simulator
/// lets all ranks run until they wait before it grants a request: any later
/// request is ready no earlier, so the order of ranks changes no time.
class Network {
public:
  struct Request {
    int64_t readyNs = 0;
    /// Order of requests that are ready at the same time: by the pair of ranks,
    /// then by the place among the requests of the link.
    int64_t number = 0, place = 0;
    /// Identifies the request to its caller; not read here.
    int64_t what = 0;

    bool operator>(const Request &other) const {
      return std::tie(readyNs, number, place) >
             std::tie(other.readyNs, other.number, other.place);
    }
  };

  /// Without `withNics`, messages cross links only.
  explicit Network(const LinkTable &table, bool withNics = true);

  /// Makes all links and NICs free, without requests. O(links + NICs).
  void reset();

  bool crossesNics(int32_t link) const { return links[link].sides.any(); }
  /// Carries a message as soon as its link and NICs are free, `readyNs` at the
  /// earliest. Returns when it has left them.
  int64_t carry(int32_t link, int64_t readyNs, int64_t occupancyNs) {
    LinkState &state = links[link];
    const int64_t begin = std::max(readyNs, state.freeNs);
    return state.freeNs = state.sides.any()
                              ? hold(state.sides, begin, occupancyNs)
                              : begin + occupancyNs;
  }

  /// Asks for the NICs of a link's next message, which becomes ready no
  /// earlier than the message before it. O(log requests).
  void ask(int32_t link, int64_t readyNs, int64_t what) {
    LinkState &state = links[link];
    state.turnNs = std::max(state.turnNs, readyNs);
    requests.push({state.turnNs, state.number, state.asked++, what});
  }
  /// Number of messages of a link that have requested their NICs.
  int64_t asked(int32_t link) const { return links[link].asked; }
  bool hasRequests() const { return !requests.empty(); }
  const Request &first() const { return requests.top(); }
  /// Removes and returns the first request. carry() or carryOverNics() grants
  /// it.
  Request next() {
    const Request request = requests.top();
    requests.pop();
    return request;
  }

  /// As ask(), for a collective, which occupies both sides of several NICs. Of
  /// requests that are ready at the same time, messages come first, then
  /// collectives by `number`.
  void askForNics(int64_t number, int64_t readyNs, int64_t what) {
    requests.push({readyNs, numPairs + number, 0, what});
  }
  int64_t carryOverNics(const std::vector<int32_t> &nics, int64_t readyNs,
                        int64_t ns);

private:
  struct LinkState {
    int64_t freeNs = 0;
    NicSides sides;
    int64_t number = 0, asked = 0;
    /// When the last message that requested its NICs was ready.
    int64_t turnNs = 0;
  };

  int64_t freeNs(NicSides sides, int64_t readyNs) const {
    if (sides.out >= 0)
      readyNs = std::max(readyNs, outFreeNs[sides.out]);
    if (sides.in >= 0)
      readyNs = std::max(readyNs, inFreeNs[sides.in]);
    return readyNs;
  }
  int64_t hold(NicSides sides, int64_t readyNs, int64_t ns) {
    const int64_t end = freeNs(sides, readyNs) + ns;
    if (sides.out >= 0)
      outFreeNs[sides.out] = end;
    if (sides.in >= 0)
      inFreeNs[sides.in] = end;
    return end;
  }

  std::vector<LinkState> links;
  int64_t numPairs = 0;
  std::vector<int64_t> outFreeNs, inFreeNs;
  std::priority_queue<Request, std::vector<Request>, std::greater<>> requests;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SIMULATE_NETWORK_H
