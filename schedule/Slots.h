//===- Slots.h - Numbers of the slots of all pools --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SLOTS_H
#define RONDO_SCHEDULE_SLOTS_H

#include "schedule/Program.h"

namespace rondo {

/// Numbers the slots of all pools consecutively.
class Slots {
public:
  static constexpr int64_t none = -1, invalid = -2;

  explicit Slots(const Program &program);

  int64_t count() const { return begins.back(); }
  /// `number` is what the kind has slots for: a micro-batch or a version.
  /// `none` if there is no such buffer, `invalid` if its place does not
  /// name a slot of a pool.
  int64_t of(int32_t buffer, int64_t number) const;
  /// The pool of a slot.
  int32_t poolOf(int64_t slot) const;
  int64_t begin(int32_t pool) const { return begins[pool]; }

private:
  const Program &program;
  std::vector<int64_t> begins;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SLOTS_H
