//===- SearchParts.h - The table of search parts ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_SEARCHPARTS_H
#define RONDO_SCHEDULE_SEARCH_SEARCHPARTS_H

#include "schedule/search/Budget.h"
#include "schedule/search/Incumbent.h"

#include <memory>

namespace rondo {

/// A part of the search, which keeps its state between its turns.
class Part {
public:
  virtual ~Part() = default;
  /// Works until `tasks` more tasks are used; always makes one schedule if the
  /// incumbent has none.
  virtual void run(int64_t tasks) = 0;
  /// The best objective that this part has found.
  virtual int64_t value() const = 0;
};

/// Input of a part, which the references outlive.
struct PartInput {
  const FlatProblem &flat;
  uint64_t seed;
  Incumbent &best;
  Budget &budget;
  /// Orders to begin with, legal or not, of a part that `continuesOrders`.
  Orders start = {};
};

/// When a part works.
enum class PartPhase : uint8_t {
  /// Before orders are searched.
  Start,
  /// In every round until it is dropped: after each round the worse half of the
  /// islands ends.
  Island,
  /// In every round.
  Round,
  /// Between rounds.
  Between,
  /// After the last round.
  End,
};

/// A row of the table.
struct SearchPart {
  /// Value of SearchResult::origin for its schedules.
  const char *name;
  const char *summary;
  PartPhase phase;
  /// Null in phases Start, Between and End, which have code of their own.
  std::unique_ptr<Part> (*make)(PartInput) = nullptr;
  /// Tasks of its turn in the first round, per task of the problem. Later
  /// rounds give all islands and parts of rounds the same share. 0: the part
  /// begins in a later round.
  int64_t firstTurn = 0;
  /// Null: applies to all problems.
  bool (*applies)(const FlatProblem &) = nullptr;
  /// A part of phase Island: has one island for each seed, which begins with
  /// the seed's orders. Otherwise the part has one island, without orders.
  bool continuesOrders = false;
};

template <typename Kind> std::unique_ptr<Part> makePart(PartInput input) {
  return std::make_unique<Kind>(std::move(input));
}

/// The table, in the order of turns.
const std::vector<SearchPart> &searchParts();

// The rows; one function per file, except those that SearchParts.cpp writes
// out.
SearchPart replay();
SearchPart moduloSlots();
SearchPart beamSearch();
SearchPart steadyPattern();
SearchPart neighbourhoods();

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_SEARCHPARTS_H
