//===- BufferNumbers.h - Numbers of a program's buffers ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_MODEL_BUFFERNUMBERS_H
#define RONDO_SCHEDULE_MODEL_BUFFERNUMBERS_H

#include "schedule/model/EdgeTable.h"
#include "schedule/model/Problem.h"

#include <array>
#include <vector>

namespace rondo {

/// Bytes of each buffer of one stage; 0 where it has none. Saved, message and
/// data buffers are for one micro-batch.
using ReplicaBuffers = std::array<int64_t, numBufferKinds>;

/// The numbering that places use. Each replica has a buffer of each kind.
/// Input, OutputGrad, InputGrad and RecomputedInput belong to edges between
/// stages: a replica has one for each, which all parts of the edge share. The
/// first takes the replica's own number; the numbers of further ones follow
/// those of all replicas. All edges that leave a replica share its Output, and
/// its RecomputedOutput.
class BufferNumbers {
public:
  struct Buffer {
    int32_t replica = 0;
    BufferKind kind = BufferKind::Input;
    /// The first part of the stage edge that it belongs to; -1: none.
    int32_t edge = -1;
    /// Whether the replica has other buffers of this kind.
    bool isOneOfSeveral = false;
  };

  explicit BufferNumbers(const Problem &problem);

  int32_t count() const { return static_cast<int32_t>(buffers.size()); }
  int32_t of(int32_t replica, BufferKind kind) const {
    return replica * numBufferKinds + static_cast<int32_t>(kind);
  }
  /// The buffer from which the edge's messages are sent, at its first replica.
  int32_t sent(int32_t edge) const { return sentBy[edge]; }
  /// By edge.
  const std::vector<int32_t> &allSent() const { return sentBy; }
  /// The buffer that receives them, at its second replica.
  int32_t received(int32_t edge) const { return receivedBy[edge]; }
  const Buffer &operator[](int32_t number) const { return buffers[number]; }

  /// Calls `visit` with each buffer that a task takes when it starts, until it
  /// returns false. Returns false if it did.
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
        // Parts of a stage edge follow each other.
        if (sent(edge) != last && !visit(sent(edge)))
          return false;
        last = sent(edge);
      }
    }
    return true;
  }

private:
  std::vector<Buffer> buffers;
  /// By edge.
  std::vector<int32_t> sentBy, receivedBy;
};

/// Bytes of a buffer. A buffer of one of several stage edges has the size of
/// the producer's output, or of its parts.
int64_t bytesOf(const Problem &problem, const BufferNumbers::Buffer &buffer,
                const std::vector<ReplicaBuffers> &replicas);

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_BUFFERNUMBERS_H
