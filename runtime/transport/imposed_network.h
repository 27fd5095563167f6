//===- imposed_network.h - All imposed links of a transport -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRANSPORT_IMPOSED_NETWORK_H
#define RONDO_RUNTIME_TRANSPORT_IMPOSED_NETWORK_H

#include "runtime/transport/imposed_link.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace rondo::runtime {

/// How links change during a run.
struct LinkTrace {
  struct Row {
    /// A place of the timeline of each link that it names.
    int64_t at;
    /// Ranks; anyRank: all.
    int32_t from, to;
    ImposedLink link;

    bool names(int32_t rank, int32_t other) const {
      return (from == anyRank || from == rank) &&
             (to == anyRank || to == other);
    }
  };
  static constexpr int32_t anyRank = -1;

  SerialLink::By by = SerialLink::By::Time;
  /// For each link in the order of its places.
  std::vector<Row> rows;
  /// Whether other jobs send messages of their own.
  bool hasMessages() const {
    return std::any_of(rows.begin(), rows.end(), [](const Row &row) {
      return row.link.otherMessageBytes > 0;
    });
  }
  /// If not 0, where it begins again; behind all rows.
  int64_t period = 0;
};

/// The links of a transport, one per directed pair of ranks. Functions are
/// thread-safe.
class ImposedNetwork {
public:
  /// Links are `constant` where the trace does not say otherwise. `trace` may
  /// be null.
  ImposedNetwork(ImposedLink constant, std::shared_ptr<const LinkTrace> trace)
      : constant(constant), trace(std::move(trace)) {}

  bool isImposed() const { return trace || constant.isImposed(); }
  /// Always the same one for the same two ranks, which differ.
  SerialLink &link(int32_t from, int32_t to);
  void beginIteration(int64_t iteration, int64_t nowNs);
  /// How long a sum of parts of `bytes` each, or one of its halves, takes
  /// between these ranks if it begins now: as over the slowest of their links.
  int64_t sumNs(const std::vector<int32_t> &ranks, int64_t bytes, int64_t nowNs,
                int64_t halves);
  /// When one ends that all these ranks have started by now: it begins when
  /// those before it on any of them have ended. For ranks of one process.
  int64_t endOfSum(const std::vector<int32_t> &ranks, int64_t bytes,
                   int64_t nowNs, int64_t halves);

private:
  LinkTimeline timelineOf(int32_t from, int32_t to) const;

  const ImposedLink constant;
  const std::shared_ptr<const LinkTrace> trace;
  std::mutex mutex;
  std::map<std::pair<int32_t, int32_t>, std::unique_ptr<SerialLink>> links;
  /// By rank: when its last sum ends.
  std::map<int32_t, int64_t> sumsEndNs;
  /// The iteration under way, 0: none, and the begin of the first one.
  int64_t iteration = 0, firstBeginNs = 0;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRANSPORT_IMPOSED_NETWORK_H
