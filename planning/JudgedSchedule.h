//===- JudgedSchedule.h - A schedule and its figures ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_JUDGEDSCHEDULE_H
#define RONDO_PLANNING_JUDGEDSCHEDULE_H

#include "planning/gathers/FittingGathers.h"
#include "schedule/families/Family.h"
#include "schedule/rules/Legality.h"

#include <optional>
#include <string>
#include <vector>

namespace rondo {

/// A schedule that keeps all rules, with its figures; or why there is none.
struct JudgedSchedule {
  /// Its name: a family with its parameters, or a schedule of a file.
  std::string name;
  /// `family` in rondo-schedule/1; empty for a hand-written schedule.
  std::string family;
  std::optional<Schedule> schedule;
  Simulation simulation;
  /// Why there is no schedule: one sentence with numbers.
  std::string reason;
  /// The fault of the schedule, if a broken rule is the reason.
  std::optional<Fault> fault;
  /// Whether steps of overlapping iterations clip by the norm of all gradients.
  bool clipsByNorm = false;
  /// [rank]: arena of its program, in bytes; empty if memory was not planned.
  std::vector<int64_t> arenaBytes;
  /// Residencies by which gathers were placed; nothing if the order has them.
  std::optional<FittingResidencies> gathers;
  /// An arena is larger than its device's memory.
  bool isOverArena = false;

  bool isOverCap() const {
    return isOverArena || (fault && fault->rule == Rule::Memory);
  }
};

/// Schedules with more tasks are not lowered to show their arenas.
inline constexpr int64_t maxShownTasks = 50000;

/// Lowers a candidate's schedule, if it has one, for a plan that declares
/// weights or limits memory. If the programs break a rule, the candidate loses
/// its schedule.
void addArena(JudgedSchedule &candidate, const Problem &problem,
              const PlanFigures &plan);

/// `keepTimes`: keep the start and end of each task. A family is judged by its
/// own policy of versions where the problem states none. Of its arguments,
/// those that are `auto` become numbers, within `arenas` too, and so are the
/// numbers of gathers that are placed in an order without them.
JudgedSchedule evaluate(std::string name, std::string family,
                        const Problem &problem, Schedule schedule,
                        bool keepTimes, const PlanArenas &arenas = {});
JudgedSchedule evaluate(const FamilyChoice &choice, const Problem &problem,
                        bool keepTimes, const PlanArenas &arenas = {});

/// Why a schedule of some name does not apply, after its name unless the reason
/// begins with it.
std::string refusalText(const std::string &name, const std::string &reason);

} // namespace rondo

#endif // RONDO_PLANNING_JUDGEDSCHEDULE_H
