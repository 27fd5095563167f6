//===- link_trace.h - Changes of imposed links ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRANSPORT_LINK_TRACE_H
#define RONDO_RUNTIME_TRANSPORT_LINK_TRACE_H

#include "runtime/transport/imposed_links.h"

#include <algorithm>

namespace rondo::runtime {

/// Changes of links during a run.
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
  /// If not 0, the place at which it begins again, after all rows.
  int64_t period = 0;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRANSPORT_LINK_TRACE_H
