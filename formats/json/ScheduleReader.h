//===- ScheduleReader.h - rondo-schedule to Schedule ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading is separate from judging: a schedule that was read may break any
// rule. Link orders are read in a second step, since the rules of the rank
// lists come before them.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_JSON_SCHEDULEREADER_H
#define RONDO_FORMATS_JSON_SCHEDULEREADER_H

#include "formats/json/Fields.h"
#include "schedule/Problem.h"
#include "schedule/Schedule.h"

#include <optional>
#include <string>

namespace rondo::json {

/// A broken rule: its name in verdicts ("format", "completeness", ...) and one
/// sentence about it.
struct RuleFault {
  std::string rule;
  std::string message;
};

/// The members of a rondo-schedule object, before its problem is known.
class ScheduleText {
public:
  /// `text` has passed checkSyntax() and outlives this object.
  explicit ScheduleText(Value object) : object(object) {}

  /// Checks keys, the format's name and the keys of `search`.
  Fault readKeys();

  /// The problem's name; nothing where it is no string. Needs no readKeys().
  std::optional<std::string> problemName() const;
  /// The value of `problem` for messages.
  std::string problemExcerpt() const;

  /// Why there is no schedule, where the object says so.
  std::optional<std::string> infeasible() const;

  /// Appends the rank lists. On a fault the schedule holds the ranks that come
  /// before it, then empty ones. Actions that no problem of this size has are a
  /// fault of completeness.
  std::optional<RuleFault> readRanks(const Problem &problem,
                                     Schedule &schedule) const;
  /// Fills the link orders. On a fault the schedule holds those before it.
  std::optional<RuleFault> readLinkOrders(const Problem &problem,
                                          Schedule &schedule) const;
  /// Looks at the pairs of `overlap`. The rank lists are complete.
  std::optional<RuleFault> readOverlap(const Problem &problem,
                                       const Schedule &schedule) const;

  /// nullptr where the schedule does not have this member.
  const Value *find(llvm::StringRef key) const { return fields.find(key); }

private:
  Value object;
  Fields fields;
};

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_SCHEDULEREADER_H
