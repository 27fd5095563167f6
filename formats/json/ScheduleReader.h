//===- ScheduleReader.h - rondo-schedule to Schedule ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading is separate from judging: a schedule that was read may break any
// rule. Link orders are read in a second step, because the rules of the rank
// lists come first.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_JSON_SCHEDULEREADER_H
#define RONDO_FORMATS_JSON_SCHEDULEREADER_H

#include "formats/json/Fields.h"
#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rondo::json {

/// The members of a rondo-schedule object, before its problem is known.
class ScheduleText {
public:
  /// `text` must have passed checkSyntax() and outlive this object.
  explicit ScheduleText(Value object) : object(object) {}

  /// Checks the keys, the format's name and the metadata. What follows needs
  /// this, except where it says otherwise.
  std::optional<TextFault> readKeys();

  /// The problem's name; empty if it is not a string. Does not need readKeys().
  std::optional<std::string> problemName() const;
  /// The value of `problem`, for messages.
  std::string problemExcerpt() const;

  /// Whether steps clip gradients by the norm of all of them.
  bool clipsByNorm() const;
  /// `clip` and `norm_delay` are for several iterations; a fault where the
  /// problem has one.
  std::optional<TextFault> checkClip(const Problem &problem) const;

  /// Fills the order in which gradients are added. `isOrdered`: whether the
  /// schedule states one, by index or as a list, that rule S7 has to check.
  std::optional<TextFault> readAccumulation(const Problem &problem,
                                            Schedule &schedule,
                                            bool &isOrdered) const;

  /// A fault if the orders are those of a window, but the problem has one
  /// iteration.
  std::optional<TextFault> checkWindow(const Problem &problem) const;
  /// Iterations of the window whose orders these are: they have steps of
  /// several, and forwards beyond the problem's micro-batches. 1 if not.
  int64_t iterationsOfWindow(const Problem &problem) const;

  /// The reason that the object gives for having no schedule.
  std::optional<std::string> infeasible() const;

  /// Appends the rank lists. On a fault the schedule holds the ranks before it,
  /// then empty ones. Actions that do not exist in a problem of this size are a
  /// fault of completeness.
  std::optional<TextFault> readRanks(const Problem &problem,
                                     Schedule &schedule) const;
  /// Fills the link orders. On a fault the schedule holds those before it.
  std::optional<TextFault> readLinkOrders(const Problem &problem,
                                          Schedule &schedule) const;
  /// Fills the copy orders; as readLinkOrders().
  std::optional<TextFault> readCopyOrders(const Problem &problem,
                                          Schedule &schedule) const;
  /// Checks the pairs of `overlap` and appends them to `pairs`, which may be
  /// null. The rank lists must be complete.
  std::optional<TextFault>
  readOverlap(const Problem &problem, const Schedule &schedule,
              std::vector<std::pair<Action, Action>> *pairs = nullptr) const;

  /// nullptr if the schedule lacks this member.
  const Value *find(llvm::StringRef key) const { return fields.find(key); }

private:
  /// A task or step of `rank`, which says which replica of its stage it is of.
  std::optional<TextFault> readAction(const Value &value,
                                      const Problem &problem, int32_t rank,
                                      std::string &storage,
                                      Action &action) const;

  Value object;
  Fields fields;
  bool isVersion2 = false;
};

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_SCHEDULEREADER_H
