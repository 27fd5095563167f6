//===- Verdict.h - Judges a rondo-schedule/1 object -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_VERDICT_H
#define RONDO_FORMATS_JSON_VERDICT_H

#include "formats/json/ProblemReader.h"
#include "schedule/Simulator.h"

#include "llvm/ADT/StringRef.h"

#include <string>

namespace rondo::json {

/// The judgement of one schedule.
struct Verdict {
  /// `?` where the schedule names none.
  std::string problem;
  bool legal = false;
  /// The first rule that is broken, in the order format, problem, completeness,
  /// link-order, dependence or deadlock, memory, claim, bound. Empty where none
  /// is.
  std::string rule;
  /// What breaks it, or why the problem is said to have no schedule; else
  /// empty. One sentence, lower case, no final period.
  std::string message;
  /// Complete where the rules up to deadlock hold.
  Simulation simulation;
};

/// Judges one rondo-schedule/1 object from its orders alone and compares the
/// figures it claims.
Verdict judge(llvm::StringRef text, const ProblemFile &problems);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_VERDICT_H
