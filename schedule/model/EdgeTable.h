//===- EdgeTable.h - A problem's edges by home ------------------*- C++ -*-===//
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

/// Which messages a task needs and which it makes. B counts as I; W has none.
class EdgeTable {
public:
  explicit EdgeTable(const Problem &problem);

  EdgeRange inputs(int32_t home, ActionKind kind) const {
    return in.of(row(home, traitsOf(kind).consumes));
  }
  EdgeRange outputs(int32_t home, ActionKind kind) const {
    return out.of(row(home, traitsOf(kind).produces));
  }

private:
  /// Lists of edges in one array, a row per home and message; the last row,
  /// for no message, is always empty.
  struct Lists {
    std::vector<int32_t> begin, edges;

    EdgeRange of(int64_t row) const {
      return {edges.data() + begin[row], edges.data() + begin[row + 1]};
    }
  };

  int64_t row(int32_t home, MessageKind message) const {
    return message == MessageKind::None
               ? numMessageKinds * numHomes
               : numMessageKinds * home + static_cast<int>(message);
  }

  int64_t numHomes;
  Lists in, out;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_EDGETABLE_H
