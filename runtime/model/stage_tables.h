//===- stage_tables.h - Stages, their replicas and messages -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_MODEL_STAGE_TABLES_H
#define RONDO_RUNTIME_MODEL_STAGE_TABLES_H

#include "kinds/Actions.h"
#include "runtime/model/buffers.h"

#include <cstdint>

namespace rondo::runtime {

/// Content of a message.
using Message = MessageKind;

/// Consecutive layers of the model.
struct StageDesc {
  const char *name;
  int32_t firstLayer, numLayers;
  /// Replicas that keep the optimizer's moments once together, and all else
  /// each: consecutive ones, by their index modulo this number.
  int32_t momentShards = 1;
};

/// A stage's place on one rank; a stage has one for each of its replicas.
struct ReplicaDesc {
  int32_t stage;
  int32_t index;
  /// The rank that holds the replica's state in every program.
  int32_t rank;
  /// The shard of weights, gradients and moments that it keeps, of as many
  /// (kinds/Shards.h). The replicas of a group follow each other by their
  /// shards, each on another rank. One shard: all of it.
  int32_t shard = 0, shards = 1;
};

/// The replica that has the first shard of the group of replica `h`.
inline int32_t groupOf(const ReplicaDesc *replicas, int32_t h) {
  return h - replicas[h].shard;
}

/// The samples of a replica, and its buffers.
struct ShareDesc {
  /// Samples of each micro-batch.
  int32_t firstSample, samples;
  /// It takes micro-batches turn, turn + turns, and so on: all of them, or
  /// those that the stage assigns to it.
  int32_t turn = 0, turns = 1;
  /// Bytes by Buffer, as planned by the compiler. Checked at start against
  /// stageBytes().
  int64_t bytes[numBuffers];
};

/// Whether a replica takes a micro-batch.
inline bool takes(const ShareDesc &share, int64_t microbatch) {
  return share.turns == 1 || microbatch % share.turns == share.turn;
}

/// A message from one replica to another for each micro-batch that both take
/// part in: the samples that both have.
struct EdgeDesc {
  int32_t from, to;
  Message message;
  int64_t bytes;
  /// Indices into ProgramDesc::places: the buffer of `from` that is sent,
  /// and the buffer of `to` that receives it. On one rank these are the same
  /// slots if both have the same samples; if not, the task copies.
  int32_t sent, received;
  /// Offsets of the samples in each, in bytes.
  int64_t sentOffset, receivedOffset;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_STAGE_TABLES_H
