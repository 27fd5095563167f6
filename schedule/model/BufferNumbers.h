//===- BufferNumbers.h - Numbers of a program's buffers ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_MODEL_BUFFERNUMBERS_H
#define RONDO_SCHEDULE_MODEL_BUFFERNUMBERS_H

#include "schedule/model/EdgeTable.h"
#include "schedule/model/Problem.h"

#include <array>
#include <vector>

namespace rondo {

/// Size in bytes of each buffer of one replica; 0 if it has none. Saved,
/// message and data buffers are per micro-batch.
using ReplicaBuffers = std::array<int64_t, numBufferKinds>;

/// The numbering of buffers that `Program::places` uses. Each replica has one
/// buffer of each kind, numbered replica * numBufferKinds + kind. Exception: of
/// Input, OutputGrad, InputGrad and RecomputedInput it has one for each stage
/// edge, which all parts of that edge share. The first of these has the number
/// above; the others are numbered after all replicas. All edges that leave a
/// replica share its Output and its RecomputedOutput.
class BufferNumbers {
public:
  struct Buffer {
    int32_t replica = 0;
    BufferKind kind = BufferKind::Input;
    /// The first part of the stage edge that the buffer belongs to; -1: none.
    int32_t edge = -1;
    /// Whether the replica has other buffers of this kind.
    bool isOneOfSeveral = false;
  };

  explicit BufferNumbers(const Problem &problem);

  int32_t count() const { return static_cast<int32_t>(buffers.size()); }
  int32_t of(int32_t replica, BufferKind kind) const {
    return replica * numBufferKinds + static_cast<int32_t>(kind);
  }
  /// The buffer at the edge's `from` replica that its messages are sent from.
  int32_t sent(int32_t edge) const { return sentBy[edge]; }
  /// Indexed by edge.
  const std::vector<int32_t> &allSent() const { return sentBy; }
  /// The buffer at the edge's `to` replica that receives its messages.
  int32_t received(int32_t edge) const { return receivedBy[edge]; }
  const Buffer &operator[](int32_t number) const { return buffers[number]; }

  /// Calls `visit` for each buffer that a task acquires at its start, until
  /// `visit` returns false. Returns false if it did.
  template <typename Visit>
  bool forEachTaken(const EdgeTable &edges, int32_t replica, Action task,
                    Visit visit) const {
    for (BufferKind kind : task.traits().takes) {
      const EdgeRange outputs = edges.outputs(task.subject, task.kind());
      if (kind != BufferKind::InputGrad || outputs.empty()) {
        if (!visit(of(replica, kind)))
          return false;
        continue;
      }
      int32_t last = -1;
      for (int32_t edge : outputs) {
        // The parts of a stage edge are adjacent.
        if (sent(edge) != last && !visit(sent(edge)))
          return false;
        last = sent(edge);
      }
    }
    return true;
  }

private:
  std::vector<Buffer> buffers;
  /// Indexed by edge.
  std::vector<int32_t> sentBy, receivedBy;
};

/// Size of a buffer in bytes. If the replica has several buffers of this kind
/// (one per stage edge), the size follows from the producer's output.
int64_t bytesOf(const Problem &problem, const BufferNumbers::Buffer &buffer,
                const std::vector<ReplicaBuffers> &replicas);

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_BUFFERNUMBERS_H
