//===- Evaluate.h - A schedule and its figures ------------------*- C++ -*-===//

#ifndef RONDO_TOOLS_DRIVER_EVALUATE_H
#define RONDO_TOOLS_DRIVER_EVALUATE_H

#include "schedule/Family.h"
#include "schedule/Legality.h"

#include <optional>
#include <string>

namespace rondo::driver {

/// A schedule that keeps all rules, with its figures; or why there is none.
struct Candidate {
  /// How it is called: a family with its parameters or a schedule of a file.
  std::string name;
  /// What `family` of rondo-schedule/1 says; empty for a hand-written schedule.
  std::string family;
  std::optional<Schedule> schedule;
  Simulation simulation;
  /// Why there is no schedule: one sentence with numbers.
  std::string reason;
  /// The rule that is broken, where the reason is one.
  std::optional<Violation> violation;

  bool isOverCap() const {
    return violation && violation->rule == Rule::Memory;
  }
};

/// `keepTimes`: with the start and end of each task.
Candidate evaluate(std::string name, std::string family, const Problem &problem,
                   Schedule schedule, bool keepTimes);
Candidate evaluate(const FamilyChoice &choice, const Problem &problem,
                   bool keepTimes);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_EVALUATE_H
