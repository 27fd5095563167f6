//===- executable.h - The tables of an emitted program ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What codegen writes and the runtime reads: one Executable.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_MODEL_EXECUTABLE_H
#define RONDO_RUNTIME_MODEL_EXECUTABLE_H

#include "kinds/Actions.h"
#include "kinds/Collectives.h"
#include "runtime/model/layer.h"
#include "runtime/model/stage_sizes.h"

#include <cstdint>

/// The version of these tables and of the functions that emitted code calls
/// (runtime/execution/actions.h). To be raised with every change of either: an
/// emitted program compiles only against the version that it was written for.
#define RONDO_TABLES_VERSION 1

namespace rondo::runtime {

/// The rank that a thread or process executes. Opaque to emitted code.
class Rank;

/// What a message carries.
using Message = MessageKind;

/// A consecutive piece of the model.
struct StageDesc {
  const char *name;
  int32_t firstLayer, numLayers;
  /// Bytes by Buffer as the compiler planned them. Checked at start against
  /// stageBytes().
  int64_t bytes[numBuffers];
};

/// A stage's place on one rank; a stage has one for each of its replicas.
struct HomeDesc {
  int32_t stage;
  int32_t replica;
  /// That holds the home's state in every program.
  int32_t rank;
};

/// What one stage hands to another for each micro-batch.
struct EdgeDesc {
  int32_t from, to;
  Message message;
  int64_t bytes;
  /// In ProgramDesc::placements: the buffer that it leaves, of `from`, and the
  /// one that it enters, of `to`. They are one where both run on one rank.
  int32_t sent, received;
};

/// Equal slots in the arena of `rank`, at `offset` from its beginning.
struct PoolDesc {
  int32_t rank;
  int64_t offset;
  int64_t slotBytes;
  int32_t slots;
};

/// Where a buffer of a home lies: number i of what its kind has slots for, a
/// micro-batch or a version of the weights, in slot slotOf[i % period] of a
/// pool. pool < 0: the stage has no such buffer.
struct PlacementDesc {
  int32_t pool;
  int32_t period;
  const uint16_t *slotOf;
};

using CollectiveKind = rondo::CollectiveKind;

struct CollectiveDesc {
  CollectiveKind kind;
  /// The shared tensor's global name; "" for the norm.
  const char *tensor;
  int32_t numStages;
  const int32_t *stages;
};

/// Runs all actions of one rank for one iteration.
using RankFunction = void (*)(Rank &rank, const int64_t *row);

/// One executing rank of a program: a function and its row of parameters.
struct RankDesc {
  RankFunction run;
  const int64_t *row;
};

enum class ProgramKind : uint8_t {
  /// One rank runs all stages, micro-batch after micro-batch: the reference.
  Sequential,
  /// The compiled schedule.
  Pipeline,
  /// Forward only, for the held-out loss. Same ranks as Pipeline.
  Evaluation,
};

/// A schedule over the executable's state: same weights, own order, own slots
/// and own sizes of micro-batches. All programs of an executable take the same
/// samples an iteration, in the same order.
struct ProgramDesc {
  /// Its place in Executable::programs.
  int32_t id;
  /// Of a pipeline its schedule's, which no other pipeline has.
  const char *name;
  ProgramKind kind;
  int32_t microbatches;
  /// Of one micro-batch; 0 where the model has timed layers only.
  int32_t samples;
  /// What the gradients of one weight are added in: true for micro-batch index
  /// order (bit-equal to the reference), false for the schedule's order.
  bool accumulatesInIndexOrder;
  /// Those of the executable, sized for such micro-batches. State is as large
  /// and on the same ranks in all programs.
  const LayerDesc *layers;
  const StageDesc *stages;
  const EdgeDesc *edges;
  int32_t numRanks;
  const RankDesc *ranks;
  /// By home: the rank of this program that runs it.
  const int32_t *rankOfHome;
  int32_t numPools;
  const PoolDesc *pools;
  /// First [home * numBuffers + buffer], then what belongs to further edges.
  int32_t numPlacements;
  const PlacementDesc *placements;
  int32_t numCollectives;
  const CollectiveDesc *collectives;
  /// Predicted time of one iteration with a device for each rank, ns; 0 where
  /// costs are not known.
  int64_t predictedNs;
  /// Predicted busy time of all ranks together, ns.
  int64_t predictedWorkNs;
  /// Most bytes of activations by rank, as the search counts them.
  const int64_t *peakMemoryBytes;
};

/// The devices that an executable runs on. A target other than the CPU is a
/// library beside the runtime's: it defines the object that the emitted program
/// names, so that linking decides and a program without it does not link.
/// Opaque to emitted code; see runtime/backend/backend.h.
struct Backend;
/// Of librondo_cuda.a.
extern const Backend cudaBackend;
/// Of librondo_mpi.a: the CPU, with a process for each rank.
extern const Backend mpiBackend;

/// One state region and a list of programs over it.
struct Executable {
  const char *name;
  /// Sized for the micro-batches of the first program.
  int32_t numLayers;
  const LayerDesc *layers;
  int32_t numStages;
  const StageDesc *stages;
  /// Stage after stage, and in a stage by replica.
  int32_t numHomes;
  const HomeDesc *homes;
  /// Those of activations in front of those of gradients. A task takes its
  /// inputs, and adds its output gradients, in this order.
  int32_t numEdges;
  const EdgeDesc *edges;
  /// Ranks that hold state; each has an arena.
  int32_t numRanks;
  /// Bytes of each rank's arena: the largest that any program needs.
  const int64_t *arenaBytes;
  int32_t numPrograms;
  const ProgramDesc *programs;
  /// Null: the CPU, which the runtime itself brings.
  const Backend *backend = nullptr;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_EXECUTABLE_H
