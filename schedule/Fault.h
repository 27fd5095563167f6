//===- Fault.h - What is wrong, as data -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How families, searches and planning fail: a Result is a value, or a fault
// that says in figures why there is none. Sentences for people are made by
// describe() alone, from Faults.def.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_FAULT_H
#define RONDO_SCHEDULE_FAULT_H

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace rondo {

/// Which sentence a fault is told by; see Faults.def.
enum class FaultKind : uint8_t {
#define FAULT(kind, text) kind,
#include "schedule/Faults.def"
};

/// A figure or name in a sentence. Words are names, such as that of a family,
/// never sentences.
using FaultPart = std::variant<int64_t, std::string>;

/// What is wrong, and with what.
struct Fault {
  FaultKind kind{};
  /// The rank that it is about, -1 where it is about none.
  int32_t rank = -1;
  /// Bytes that are held, and those that there are.
  int64_t found = 0, allowed = 0;
  /// What else stands in the sentence, in the order of Faults.def.
  std::vector<FaultPart> parts;
};

inline Fault makeFault(FaultKind kind, std::vector<FaultPart> parts = {}) {
  Fault fault;
  fault.kind = kind;
  fault.parts = std::move(parts);
  return fault;
}

/// One sentence with numbers, lower case, no final period.
std::string describe(const Fault &fault);

/// A value, or why there is none.
template <typename T> using Result = std::variant<T, Fault>;

} // namespace rondo

#endif // RONDO_SCHEDULE_FAULT_H
