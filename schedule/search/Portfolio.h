//===- Portfolio.h - Orders of many families, judged ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All code that keeps the best of the schedules of several families uses a
// portfolio. Users differ in the families that they try, in when they stop, and
// in how they judge a schedule.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_SEARCH_PORTFOLIO_H
#define RONDO_SCHEDULE_SEARCH_PORTFOLIO_H

#include "schedule/families/Family.h"
#include "schedule/search/Orders.h"
#include "schedule/simulate/Simulator.h"

#include <functional>

namespace rondo {

/// A schedule with its simulation and objective.
struct Judged {
  Schedule schedule;
  Simulation simulation;
  /// `never` if it breaks a rule.
  int64_t objective = never;
  /// Work of judging, in tasks placed or timed.
  int64_t steps = 0;

  bool isLegal() const { return objective < never; }
};

/// Judged::steps per action of a schedule that keeps the caps.
inline constexpr int64_t stepsOfJudging = 3;

/// Judges by all rules and the problem's objective. `inIndexOrder`: also by
/// rule S7. O(actions).
Judged judge(const Problem &problem, Schedule schedule, bool inIndexOrder);

struct SearchOptions;
/// Whether the result of a search keeps rule S7. A schedule of micro-batches
/// that differ gets the given order of sums if it needs one and states none:
/// families make schedules in this order.
bool takeOrder(const Problem &problem, const SearchOptions &options,
               Schedule &schedule);
/// judge() by what a search asks for.
Judged judge(const Problem &problem, Schedule schedule,
             const SearchOptions &options);

/// Appends the arguments that families suggest for the problem (see
/// familyVariants()).
void appendVariants(std::vector<FamilyChoice> &choices, const Problem &problem);
/// If stages may copy to their hosts, appends the choices with the fewest
/// copies with which the caps hold.
void appendCopies(std::vector<FamilyChoice> &choices, const Problem &problem);
/// Sorts by stepsBeyondTasks(), stably.
void sortQuickFirst(std::vector<FamilyChoice> &choices, const Problem &problem);

class Portfolio {
public:
  using Judge = std::function<Judged(Schedule)>;
  using MayTry = std::function<bool(size_t)>;
  using Visit = std::function<void(size_t, Judged)>;
  using Refuse = std::function<void(const Fault &)>;

  /// judge() with these arguments; `problem` must outlive it.
  static Judge byRules(const Problem &problem, bool inIndexOrder) {
    return [&problem, inIndexOrder](Schedule schedule) {
      return judge(problem, std::move(schedule), inIndexOrder);
    };
  }
  /// The same; `options` must outlive it, too.
  static Judge byOptions(const Problem &problem, const SearchOptions &options) {
    return [&problem, &options](Schedule schedule) {
      return judge(problem, std::move(schedule), options);
    };
  }

  /// `problem` must outlive it.
  Portfolio(const Problem &problem, std::vector<FamilyChoice> choices,
            Judge judge)
      : problem(problem), choices(std::move(choices)),
        judgeOrder(std::move(judge)) {}
  virtual ~Portfolio() = default;

  size_t size() const { return choices.size(); }
  const FamilyChoice &choice(size_t i) const { return choices[i]; }
  int64_t stepsOf(size_t i) const {
    return choices[i].family->stepsBeyondTasks(problem);
  }

  /// Visits the judged schedule of each family, legal or not, in the order of
  /// the choices. Skips a family if `mayTry`, called before it writes, returns
  /// false. `refuse`, if not empty, gets the fault of a family that does not
  /// apply.
  void forEach(const MayTry &mayTry, const Visit &visit,
               const Refuse &refuse = {});

protected:
  /// Writes and judges the schedule of a choice, at most once for each.
  virtual Result<Judged> write(size_t i);

  const Problem &problem;
  const std::vector<FamilyChoice> choices;

private:
  const Judge judgeOrder;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_PORTFOLIO_H
