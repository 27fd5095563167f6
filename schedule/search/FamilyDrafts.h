//===- FamilyDrafts.h - Schedules of families, on all threads ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_FAMILYDRAFTS_H
#define RONDO_SCHEDULE_SEARCH_FAMILYDRAFTS_H

#include "schedule/search/Budget.h"
#include "schedule/search/Portfolio.h"
#include "schedule/search/Workers.h"

#include <optional>

namespace rondo {

/// A portfolio whose schedules can be written and judged ahead of their turn,
/// and are thinned if they break the caps. Writing ahead changes neither the
/// visited schedules nor the effort used.
class FamilyDrafts : public Portfolio {
public:
  FamilyDrafts(const Problem &problem, std::vector<FamilyChoice> choices,
               bool inIndexOrder)
      : Portfolio(problem, std::move(choices), byRules(problem, inIndexOrder)),
        inIndexOrder(inIndexOrder), drafts(size()) {}

  /// Writes schedules on all threads, up to the first one whose objective is at
  /// most `bound`. Skips those for which there is no time.
  void writeAhead(Workers &workers, Budget &budget, int64_t bound);

  bool isWritten(size_t i) const { return drafts[i].written.has_value(); }
  /// thinned() of `given`, the visited schedule of choice i, if it breaks the
  /// caps. Nothing if the schedule would be no better than `objective` even
  /// with unlimited memory, or if the budget is too small.
  std::optional<Judged> takeThinned(size_t i, const Judged &given,
                                    int64_t objective, Budget &budget);

private:
  struct Draft {
    std::optional<Result<Judged>> written;
    /// The objective with unlimited memory, if known.
    std::optional<int64_t> freeNs;
    bool isThinned = false;
    std::optional<Judged> thinned;
    int64_t stepsOfThinning = 0;
  };

  Result<Judged> write(size_t i) override;
  bool mayThin(const Judged &given) const;
  int64_t freeObjective(const Judged &given) const;
  void thin(size_t i, const Judged &given, Budget &part);

  const bool inIndexOrder;
  std::vector<Draft> drafts;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_FAMILYDRAFTS_H
