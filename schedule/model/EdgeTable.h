//===- EdgeTable.h - A problem's edges by replica ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_MODEL_EDGETABLE_H
#define RONDO_SCHEDULE_MODEL_EDGETABLE_H

#include "schedule/model/Problem.h"

#include <vector>

namespace rondo {

/// Indices into Problem::edges, ascending. Does not own them.
struct EdgeRange {
  const int32_t *first, *last;

  const int32_t *begin() const { return first; }
  const int32_t *end() const { return last; }
  bool empty() const { return first == last; }
};

/// The messages that a task needs and makes, as edges. B counts as I; W has
/// none.
class EdgeTable {
public:
  explicit EdgeTable(const Problem &problem);

  EdgeRange inputs(int32_t replica, ActionKind kind) const {
    return in.of(row(replica, traitsOf(kind).consumes));
  }
  EdgeRange outputs(int32_t replica, ActionKind kind) const {
    return out.of(row(replica, traitsOf(kind).produces));
  }

private:
  /// Lists of edges in one array, one row per replica and message kind. The
  /// last row, for MessageKind::None, is always empty.
  struct Lists {
    std::vector<int32_t> begin, edges;

    EdgeRange of(int64_t row) const {
      return {edges.data() + begin[row], edges.data() + begin[row + 1]};
    }
  };

  int64_t row(int32_t replica, MessageKind message) const {
    return message == MessageKind::None
               ? numMessageKinds * numReplicas
               : numMessageKinds * replica + static_cast<int>(message);
  }

  int64_t numReplicas;
  Lists in, out;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_EDGETABLE_H
