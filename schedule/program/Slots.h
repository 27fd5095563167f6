//===- Slots.h - Numbering of the slots of all pools ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_PROGRAM_SLOTS_H
#define RONDO_SCHEDULE_PROGRAM_SLOTS_H

#include "schedule/program/Program.h"

#include <vector>

namespace rondo {

/// Numbers the slots of all pools consecutively.
class Slots {
public:
  static constexpr int64_t none = -1, invalid = -2;

  /// `program` must outlive this object.
  explicit Slots(const Program &program);

  int64_t count() const { return begins.back(); }
  /// The slot of instance `number` of a buffer: a micro-batch, version or unit,
  /// depending on the kind. `none` if the buffer does not exist, `invalid` if
  /// its place does not name a slot of a pool.
  int64_t of(int32_t buffer, int64_t number) const {
    if (rows.empty())
      return none;
    const Row &row = rows[buffer];
    if (row.period <= 0)
      return row.period == 0 ? none : invalid;
    // A 32-bit division takes half the time of a 64-bit one.
    const int64_t i =
        number < row.period ? number
        : number <= UINT32_MAX
            ? static_cast<uint32_t>(number) % static_cast<uint32_t>(row.period)
            : number % row.period;
    const int32_t slot = row.slotOf[i];
    const bool isThere =
        slot >= 0 && slot < row.slots &&
        (!row.spans || (row.spans[i] >= 1 && row.spans[i] <= row.slots - slot));
    return isThere ? row.begin + slot : invalid;
  }
  /// The number of slots that an instance takes, from of() on.
  int64_t span(int32_t buffer, int64_t number) const {
    if (rows.empty() || !rows[buffer].spans)
      return 1;
    const Row &row = rows[buffer];
    return row.spans[number < row.period ? number : number % row.period];
  }
  /// The pool that contains a slot.
  int32_t poolOf(int64_t slot) const;
  int64_t begin(int32_t pool) const { return begins[pool]; }
  /// [buffer]: whether it takes a slot that one of `others` also takes. Empty
  /// if the program has no places.
  std::vector<bool> sharedWith(const std::vector<int32_t> &others) const;

private:
  /// The place of a buffer. `period` is the size of its slot table; 0: the
  /// buffer does not exist; negative: its place names no pool.
  struct Row {
    const int32_t *slotOf = nullptr;
    /// Null: every instance takes one slot.
    const int32_t *spans = nullptr;
    int32_t period = 0, slots = 0;
    int64_t begin = 0;
  };

  std::vector<int64_t> begins;
  /// Indexed by buffer; empty if the program has no places.
  std::vector<Row> rows;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_PROGRAM_SLOTS_H
