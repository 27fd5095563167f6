//===- Slots.h - Which buffers an action takes ------------------*- C++ -*-===//

#ifndef RONDO_SCHEDULE_SLOTS_H
#define RONDO_SCHEDULE_SLOTS_H

#include "schedule/Program.h"

namespace rondo {

/// The buffer of the producer that a message leaves.
constexpr BufferKind sentBuffer(const Edge &edge) {
  return edge.producer == ActionKind::Forward ? BufferKind::Output
                                              : BufferKind::InputGrad;
}
/// The buffer of the consumer that a message enters.
constexpr BufferKind receivedBuffer(const Edge &edge) {
  return edge.producer == ActionKind::Forward ? BufferKind::Input
                                              : BufferKind::OutputGrad;
}

/// Buffers that a task takes for its stage and micro-batch when it starts.
struct TakenBuffers {
  BufferKind kinds[3];
  int count;

  const BufferKind *begin() const { return kinds; }
  const BufferKind *end() const { return kinds + count; }
};
constexpr TakenBuffers takenBy(ActionKind kind) {
  switch (kind) {
  case ActionKind::Forward:
    return {{BufferKind::Output, BufferKind::SavedForInputGrad,
             BufferKind::SavedForWeightGrad},
            3};
  case ActionKind::InputGrad:
  case ActionKind::Backward:
    return {{BufferKind::InputGrad}, 1};
  default:
    return {{}, 0};
  }
}

/// Numbers the slots of all pools in one row.
class Slots {
public:
  static constexpr int64_t none = -1, invalid = -2;

  explicit Slots(const Program &program);

  int64_t count() const { return begins.back(); }
  /// `none` where the home has no such buffer, `invalid` where its placement
  /// names no slot of a pool.
  int64_t of(int32_t home, BufferKind kind, int64_t microbatch) const;
  /// The pool of a slot.
  int32_t poolOf(int64_t slot) const;
  int64_t begin(int32_t pool) const { return begins[pool]; }

private:
  const Program &program;
  std::vector<int64_t> begins;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SLOTS_H
