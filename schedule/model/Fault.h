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
#include <utility>
#include <variant>
#include <vector>

namespace rondo {

struct Problem;

/// The rules of schedules (S1 to S12) and programs (L1 to L6), in the order of
/// Rules.def, which says what each demands.
enum class Rule : uint8_t {
  None, // a fault that breaks no rule, such as a family's
#define SCHEDULE_RULE(id, rule, name, check, needs, when) rule,
#define PROGRAM_RULE(id, rule, name, check, needs) rule,
#include "schedule/model/Rules.def"
};
struct RuleText {
  const char *id, *name;
};
/// Indexed by Rule.
inline constexpr RuleText ruleTexts[] = {
    {"", ""},
#define SCHEDULE_RULE(id, rule, name, check, needs, when) {#id, name},
#define PROGRAM_RULE(id, rule, name, check, needs) {#id, name},
#include "schedule/model/Rules.def"
};
inline constexpr int numRules = sizeof(ruleTexts) / sizeof(ruleTexts[0]);

/// "S1" ... "L6", as cited in messages and docs/schedule-rules.md; empty for
/// Rule::None.
constexpr const char *ruleId(Rule rule) {
  return ruleTexts[static_cast<int>(rule)].id;
}
/// The rule's name in verdicts of `rondo verify --json`; S2 has that of S1.
constexpr const char *ruleName(Rule rule) {
  return ruleTexts[static_cast<int>(rule)].name;
}

/// The kind of a fault, which selects its sentence in Faults.def.
enum class FaultKind : uint16_t {
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
/// entity of the problem. A sentence only in faults of documents.
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

  // These add details to the result of makeFault() and its variants, as in
  // `makeRuleFault<FaultKind::RankCount>(rule).withFigures(found, allowed)`.

  Fault withRank(int32_t its) && {
    rank = its;
    return std::move(*this);
  }
  /// States that the fault is about the link between two ranks.
  Fault withLink(int32_t from, int32_t to) && {
    rank = from;
    otherRank = to;
    return std::move(*this);
  }
  Fault withAction(Action its) && {
    action = its;
    return std::move(*this);
  }
  Fault withFigures(int64_t itsFound, int64_t itsAllowed) && {
    found = itsFound;
    allowed = itsAllowed;
    return std::move(*this);
  }
  /// Adds the conflicting action and its place.
  Fault withOther(int32_t itsRank, int64_t itsPosition, Action its) && {
    otherRank = itsRank;
    otherPosition = itsPosition;
    other = its;
    return std::move(*this);
  }
  Fault withOtherRank(int32_t its) && {
    otherRank = its;
    return std::move(*this);
  }
  Fault withCycle(std::vector<Wait> waits) && {
    cycle = std::move(waits);
    return std::move(*this);
  }
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
  fault.position = position;
  return std::move(fault).withRank(rank).withAction(action);
}

/// One sentence with numbers, lower case, no final period; the id of a broken
/// rule follows in brackets. `problem` is the one that was checked. Without it,
/// messages and buffers are identified by their numbers.
std::string describe(const Fault &fault, const Problem &problem);
std::string describe(const Fault &fault);

/// Names of a program's collectives and pools, by their numbers.
struct ProgramNames {
  std::vector<std::string> collectives, pools;
};

/// As describe(), with `@name` in place of numbers of collectives and pools.
std::string describe(const Fault &fault, const Problem &problem,
                     const ProgramNames &names);
/// As describe(), but ends at {brief}: only the facts. Callers add the
/// problem's name and advice.
std::string describeBriefly(const Fault &fault);

/// `0F3`: stage, letter, micro-batch; `0STEP0`: stage, step.
std::string actionName(Action action);
/// `action.subject` is a replica of the problem; the name shows its stage.
std::string actionName(Action action, const Problem &problem);
/// `send 0F3 to rank 1`, `recv 1I0 from rank 1`, `step of stage 2`, `0F3`.
std::string programActionName(Action action, const Problem &);
/// `issue @c0` and `await @c0` for collectives with names.
std::string programActionName(Action action, const Problem &,
                              const ProgramNames &names);
/// `rank 0 waits for 1I0 of rank 1 at 0I0 -> rank 1 waits for ...`.
std::string describeCycle(const std::vector<Wait> &cycle);

/// Ends the process: the value of a result that has none was read, or the fault
/// of one that has a value. Both are errors of the caller's.
[[noreturn]] void readWithoutValue(const Fault &fault);
[[noreturn]] void readWithoutFault();

/// A value, or the fault because of which there is none. Check which one it has
/// before reading: reading the other ends the process with a message.
template <typename T> class [[nodiscard]] Result {
public:
  /// The value of T().
  Result() = default;
  /// Implicit, so that functions return values and faults as they are.
  template <typename Value,
            std::enable_if_t<std::is_convertible_v<Value &&, T> &&
                                 !std::is_same_v<std::decay_t<Value>, Result> &&
                                 !std::is_same_v<std::decay_t<Value>, Fault>,
                             int> = 0>
  Result(Value &&value) : state(T(std::forward<Value>(value))) {}
  Result(Fault fault) : state(std::move(fault)) {}

  explicit operator bool() const { return state.index() == 0; }

  T &operator*() & { return *checkedValue(state); }
  const T &operator*() const & { return *checkedValue(state); }
  T &&operator*() && { return std::move(*checkedValue(state)); }
  T *operator->() { return checkedValue(state); }
  const T *operator->() const { return checkedValue(state); }

  Fault &fault() & { return *checkedFault(state); }
  const Fault &fault() const & { return *checkedFault(state); }
  Fault &&fault() && { return std::move(*checkedFault(state)); }

private:
  template <typename State> static auto *checkedValue(State &state) {
    auto *value = std::get_if<0>(&state);
    if (!value)
      readWithoutValue(*std::get_if<1>(&state));
    return value;
  }
  template <typename State> static auto *checkedFault(State &state) {
    auto *fault = std::get_if<1>(&state);
    if (!fault)
      readWithoutFault();
    return fault;
  }

  std::variant<T, Fault> state;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_FAULT_H
