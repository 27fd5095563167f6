//===- Verdict.h - Judges a rondo-schedule/1 object -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_VERDICT_H
#define RONDO_FORMATS_JSON_VERDICT_H

#include "formats/json/ProblemReader.h"
#include "schedule/simulate/Simulator.h"

#include "llvm/ADT/StringRef.h"

#include <string>

namespace rondo::json {

/// The judgement of one schedule.
struct Verdict {
  /// `?` if the schedule names none.
  std::string problem;
  bool legal = false;
  /// The first broken rule, in the order format, problem, completeness,
  /// accumulation, link-order, copy-order, dependence or deadlock, memory,
  /// host-memory, versions, claim, bound. Empty if there is none.
  std::string rule;
  /// The cause, or the reason given for having no schedule; otherwise
  /// empty. One sentence, lower case, no final period.
  std::string message;
  /// Complete if the rules up to deadlock hold.
  Simulation simulation;
};

/// Judges one rondo-schedule/1 object by its orders alone and compares the
/// figures it claims.
Verdict judge(llvm::StringRef text, const ProblemFile &problems);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_VERDICT_H
