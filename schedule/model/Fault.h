//===- Fault.h - Errors as data ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors of the core. A check returns an optional Fault; other functions return
// a Result, which is a value or a Fault. A Fault holds numbers, names and
// positions; describe() formats it with the sentences of Faults.def. Above the
// core, errors are MLIR's: FailureOr, and diagnostics with a location.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_MODEL_FAULT_H
#define RONDO_SCHEDULE_MODEL_FAULT_H

#include "schedule/model/Waits.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace rondo {

struct Problem;

/// The rules of schedules (S1 to S9) and programs (L1 to L6).
enum class Rule : uint8_t {
  None,         // a fault that is not a broken rule, e.g. of a family
  Completeness, // S1
  Placement,    // S2
  Dependence,   // S3
  Deadlock,     // S4
  Memory,       // S5
  LinkOrder,    // S6
  Accumulation, // S7
  Versions,     // S8: every task reads a version that its stage has made, no
                //     older than the stage allows
  Gathers,      // S9: sharded state is gathered before it is read, freed once,
                //     and reduced once, in the same way on all ranks of a
                //     group
  Channels,     // L1: n-th send and n-th receive of each channel name one
                //     message; what a task needs from another rank is sent once
  WaitCycle,    // L2: the program runs to its end under the channel model, also
                //     if collectives start only when they are awaited
  Buffers,      // L3: written before read, freed once, never two owners at once
  Arena,        // L4: pools do not overlap, are aligned, lie inside the arena,
                //     which fits the cap; staging is as large as needed
  Tasks, // L5: the tasks, and the steps if the schedule has any, are exactly
         //     those of the schedule, in its order; each collective is issued
         //     and awaited once, after the gradients that it reads, and each
         //     stage steps once, after its gradients and their collectives;
         //     without collectives there may be no steps; everything
         //     that training needs exists
  Residency, // L6: the program also runs to its end if each rank has at
             //     most its target's number of sends, receives and
             //     collectives in flight
};
inline constexpr int numRules = static_cast<int>(Rule::Residency) + 1;

/// "S1" ... "L6", as cited in messages and docs/schedule-rules.md; empty for
/// Rule::None.
const char *ruleId(Rule rule);
/// The rule's name in verdicts of `rondo verify --json`: "completeness" (also
/// for S2), "dependence", "deadlock", "memory", "link-order". Other rules
/// appear in no verdict.
const char *ruleName(Rule rule);

/// The kind of a fault, which selects its sentence in Faults.def.
enum class FaultKind : uint8_t {
#define FAULT(kind, text) kind,
#include "schedule/model/Faults.def"
};

/// Indexed by FaultKind.
inline constexpr const char *faultSentences[] = {
#define FAULT(kind, text) text,
#include "schedule/model/Faults.def"
};
inline constexpr int numFaultKinds =
    sizeof(faultSentences) / sizeof(faultSentences[0]);

/// Number of placeholders {0}, {1}, ... in the sentence of a kind.
constexpr size_t numParts(FaultKind kind) {
  size_t parts = 0;
  for (const char *c = faultSentences[static_cast<int>(kind)]; *c; ++c)
    if (*c == '{' && c[1] >= '0' && c[1] <= '9')
      parts = std::max<size_t>(parts, c[1] - '0' + 1);
  return parts;
}

/// A buffer by its number (BufferNumbers.h), and its micro-batch if it is per
/// micro-batch. Negative number: nothing.
struct BufferName {
  int32_t buffer = -1;
  int64_t microbatch = 0;
};

/// A slot, by its number in its pool.
struct SlotName {
  int32_t pool = 0;
  int64_t slot = 0;
};

/// The value of a placeholder: a number, a name (e.g. of a family), or an
/// entity of the problem. Never a sentence.
using FaultPart =
    std::variant<int64_t, std::string, Action, BufferName, SlotName>;

/// One error. The sentence of its kind determines which fields are used.
struct Fault {
  FaultKind kind{};
  Rule rule = Rule::None;
  /// The rank concerned; -1: none.
  int32_t rank = -1;
  /// Position in the rank's order, or in the link order from `rank` to
  /// `otherRank`; -1: none.
  int64_t position = -1;
  Action action;
  /// The conflicting action, e.g. an earlier duplicate or a needed task.
  int32_t otherRank = -1;
  int64_t otherPosition = -1;
  Action other;
  /// Actual and maximum value, usually in bytes.
  int64_t found = 0, allowed = 0;
  /// Ranks of a wait cycle, each waiting for the next.
  std::vector<Wait> cycle;
  /// Values of the placeholders {0}, {1}, ...
  std::vector<FaultPart> parts;
};

template <typename Part> FaultPart toFaultPart(const Part &part) {
  if constexpr (std::is_integral_v<Part>)
    return static_cast<int64_t>(part);
  else if constexpr (std::is_convertible_v<Part, const char *>)
    return std::string(part);
  else
    return part;
}

/// A fault with a value for each placeholder of its sentence.
template <FaultKind kind, typename... Parts>
Fault makeFault(const Parts &...parts) {
  static_assert(sizeof...(Parts) == numParts(kind),
                "a part for each place of the sentence");
  Fault fault;
  fault.kind = kind;
  if constexpr (sizeof...(Parts) > 0) {
    fault.parts.reserve(sizeof...(Parts));
    (fault.parts.push_back(toFaultPart(parts)), ...);
  }
  return fault;
}

/// A fault of a broken rule.
template <FaultKind kind, typename... Parts>
Fault makeRuleFault(Rule rule, const Parts &...parts) {
  Fault fault = makeFault<kind>(parts...);
  fault.rule = rule;
  return fault;
}

/// A fault of a rule that is broken by an action.
template <FaultKind kind, typename... Parts>
Fault makeFaultAt(Rule rule, int32_t rank, int64_t position, Action action,
                  const Parts &...parts) {
  Fault fault = makeRuleFault<kind>(rule, parts...);
  fault.rank = rank;
  fault.position = position;
  fault.action = action;
  return fault;
}

/// One sentence with numbers, lower case, no final period; the id of a broken
/// rule follows in brackets. `problem` is the one that was checked. Without it,
/// messages and buffers are identified by their numbers.
std::string describe(const Fault &fault, const Problem &problem);
std::string describe(const Fault &fault);
/// As describe(), but ends at {brief}: only the facts. Callers add the
/// problem's name and advice.
std::string describeBriefly(const Fault &fault);

/// `0F3`: stage, letter, micro-batch; `0STEP0`: stage, step.
std::string actionName(Action action);
/// `action.subject` is a replica of the problem; the name shows its stage.
std::string actionName(Action action, const Problem &problem);
/// `send 0F3 to rank 1`, `recv 1I0 from rank 1`, `step of stage 2`, `0F3`.
std::string programActionName(Action action, const Problem &);
/// `rank 0 waits for 1I0 of rank 1 at 0I0 -> rank 1 waits for ...`.
std::string describeCycle(const std::vector<Wait> &cycle);

/// A value, or a fault that says why there is none.
template <typename T> using Result = std::variant<T, Fault>;

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_FAULT_H
