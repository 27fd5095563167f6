//===- FamilyDrafts.h - What families write, on all threads -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_FAMILYDRAFTS_H
#define RONDO_SCHEDULE_SEARCH_FAMILYDRAFTS_H

#include "schedule/families/Family.h"
#include "schedule/search/Budget.h"
#include "schedule/search/Workers.h"
#include "schedule/simulate/Simulator.h"

#include <optional>

namespace rondo {

/// A schedule, and what the rules say of it.
struct Judged {
  Schedule schedule;
  Simulation simulation;
  /// `never` if it breaks a rule.
  int64_t objective = never;
  /// What it took to find out.
  int64_t steps = 0;
};

/// The steps of judge() for each action of a schedule that keeps the caps.
inline constexpr int64_t stepsOfJudging = 3;

/// `inIndexOrder`: it must also keep rule S7.
Judged judge(const Problem &problem, Schedule schedule, bool inIndexOrder);

/// The schedules of families, judged, and thinned where they break the caps.
/// They can be written before they are asked for, which changes nothing of what
/// is taken, nor of the effort that it uses.
class FamilyDrafts {
public:
  FamilyDrafts(const Problem &problem, std::vector<FamilyChoice> choices,
               bool inIndexOrder)
      : problem(problem), choices(std::move(choices)),
        inIndexOrder(inIndexOrder), drafts(this->choices.size()) {}

  size_t size() const { return choices.size(); }
  const FamilyChoice &choice(size_t i) const { return choices[i]; }

  /// Writes them on all threads, up to the first one whose objective is no more
  /// than `bound`. Leaves out those that there is no time for.
  void writeAhead(Workers &workers, Budget &budget, int64_t bound);

  bool isWritten(size_t i) const { return drafts[i].isWritten; }
  /// The family's schedule, once; nothing if it does not apply.
  std::optional<Judged> take(size_t i, Budget &budget);
  /// Of an order that breaks the caps and has been taken: thinned(). Nothing if
  /// it would be no better than `objective` even with all the memory that it
  /// wants.
  std::optional<Judged> takeThinned(size_t i, const Judged &given,
                                    int64_t objective, Budget &budget);

  int64_t stepsOf(size_t i) const {
    return choices[i].family->stepsBeyondTasks(problem);
  }

private:
  struct Draft {
    bool isWritten = false;
    std::optional<Judged> judged;
    /// With all the memory that it wants, if that is known.
    std::optional<int64_t> freeNs;
    bool isThinned = false;
    std::optional<Judged> thinned;
    int64_t stepsOfThinning = 0;
  };

  void write(size_t i);
  bool mayThin(const Judged &given) const;
  int64_t freeObjective(const Judged &given) const;
  void thin(size_t i, const Judged &given, Budget &part);

  const Problem &problem;
  const std::vector<FamilyChoice> choices;
  const bool inIndexOrder;
  std::vector<Draft> drafts;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_FAMILYDRAFTS_H
