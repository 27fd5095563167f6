//===- Family.h - Rules that write schedules --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A family is one file under families/ and one row of the table in
// Families.cpp. Help, docs, tests and search read that table.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_FAMILIES_FAMILY_H
#define RONDO_SCHEDULE_FAMILIES_FAMILY_H

#include "schedule/model/Fault.h"
#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"
#include "schedule/transforms/Offload.h"

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rondo {

using FamilyArguments = std::map<std::string, int64_t>;

/// Value of an argument that is `auto`: no number has been chosen yet.
inline constexpr int64_t autoArgument = std::numeric_limits<int64_t>::min();

/// A whole number that a family takes, such as kfkb's k.
struct FamilyParameter {
  const char *name;
  int64_t minimum;
  int64_t defaultValue;
  const char *summary;
  /// Whether it may be `auto`.
  bool mayBeAuto = false;
  /// Whether it describes the plan, not the order. It is left out of a choice's
  /// text at its default.
  bool isOfPlan = false;
  int64_t maximum = std::numeric_limits<int64_t>::max();
};

/// A fault if the family does not apply.
using FamilyResult = Result<Schedule>;

struct Family {
  /// The published name, lower case: "1f1b".
  const char *name;
  /// One phrase for the help.
  const char *summary;
  /// The publication.
  const char *source;
  std::vector<FamilyParameter> parameters;
  /// Writes the order of every rank. The problem must have passed check(), and
  /// every parameter must have at least its minimum. Does not check its own
  /// result.
  FamilyResult (*generate)(const Problem &, const FamilyArguments &);
  /// Arguments other than the defaults that are worth trying on a problem, the
  /// most promising first; nullptr: none.
  std::vector<FamilyArguments> (*variants)(const Problem &) = nullptr;
  /// Approximate work of generate() beyond a few steps per task, in steps of
  /// the same duration; nullptr: none.
  int64_t (*extraSteps)(const Problem &) = nullptr;
  /// Whether it uses times along a chain of stages; it then does not apply to
  /// other graphs. Other families only order stages by number: any graph whose
  /// edges lead to later stages can run an order that a chain can.
  bool needsChain = false;
  /// The policy (namedPolicies) of a family whose iterations overlap, for
  /// problems without policies. nullptr: the family drains the pipeline in each
  /// iteration, and writes the order of one.
  const char *policy = nullptr;

  int64_t stepsBeyondTasks(const Problem &problem) const {
    return extraSteps ? extraSteps(problem) : 0;
  }
};

/// The table, in the order of the help.
const std::vector<Family> &families();
/// nullptr if there is no such family.
const Family *findFamily(const std::string &name);

/// Orders by length (LengthOrder), and Best: the order of these whose schedule
/// fits and is the fastest.
enum class FamilyOrder : uint8_t {
  Given,
  Ascending,
  Descending,
  LongShort,
  Best,
};
inline constexpr const char *familyOrderWords[] = {
    "given", "ascending", "descending", "long_short", "best"};

/// A family with its arguments, written `kfkb:k=2`.
struct FamilyChoice {
  const Family *family = nullptr;
  FamilyArguments arguments;
  /// `order`, which every family takes: the order of micro-batches that differ.
  /// The k-th place of the family's order gets the k-th micro-batch.
  FamilyOrder order = FamilyOrder::Given;
  /// `offload`, which every family takes: copies of activations to the host in
  /// addition to the family's tasks. Nothing: no copies.
  std::optional<OffloadOptions> offload = {};

  /// `kfkb:k=2`; just `1f1b` if it has no parameters; `1f1b:order=ascending`.
  std::string text() const;
  bool hasAuto() const;
};

inline constexpr const char *orderName = "order", *offloadName = "offload",
                            *offloadChunksName = "offload_chunks";
inline constexpr int64_t maxOffloadChunks = 1 << 16;
/// Words of OffloadOptions::Pairs.
inline constexpr const char *offloadWords[] = {"all", "fit"};

/// The `order` of a word of familyOrderWords.
Result<FamilyOrder> familyOrderOf(const std::string &word);

/// Options of copies, which every family takes. `word` is one of offloadWords,
/// `chunks` is `offload_chunks`, or 0. `written` is quoted in faults.
Result<OffloadOptions> offloadOf(const std::string &word, int64_t chunks,
                                 const std::string &written);

/// Fills in the defaults and checks names, minima and maxima. A fault lists the
/// known families or parameters.
Result<FamilyChoice> chooseFamily(const std::string &name,
                                  const FamilyArguments &arguments);
/// Parses `name` or `name:key=value,key=value`.
Result<FamilyChoice> parseFamily(const std::string &text);

/// Every family that drains the pipeline, with its defaults, in the table's
/// order.
std::vector<FamilyChoice> allFamilies();
/// Every family whose iterations overlap, with its defaults, in the table's
/// order.
std::vector<FamilyChoice> overlappedFamilies();

/// The variants of all families, in the table's order.
std::vector<FamilyChoice> familyVariants(const Problem &problem);

/// The problem with the family's policy, if the family has one, the problem has
/// none, and it has several iterations.
Problem withPolicyOf(const FamilyChoice &choice, const Problem &problem);

/// Writes the family's order of a problem. Over several iterations, a family
/// that drains the pipeline repeats its order of one iteration. If stages have
/// several replicas, ranks with the same stages get the same order; two ranks
/// with only some stages in common are a fault. An argument that is `auto` is a
/// fault too: planning must first replace it by a number, which depends on the
/// memory of programs (withNumbers()).
FamilyResult generate(const FamilyChoice &choice, const Problem &problem);

} // namespace rondo

#endif // RONDO_SCHEDULE_FAMILIES_FAMILY_H
