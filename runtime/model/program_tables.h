//===- program_tables.h - The tables of one program -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_MODEL_PROGRAM_TABLES_H
#define RONDO_RUNTIME_MODEL_PROGRAM_TABLES_H

#include "kinds/Collectives.h"
#include "runtime/model/copy_tables.h"
#include "runtime/model/layer.h"
#include "runtime/model/overlap_tables.h"
#include "runtime/model/place_tables.h"
#include "runtime/model/stage_tables.h"
#include "runtime/model/uneven_tables.h"

#include <cstdint>

namespace rondo::runtime {

/// Takes the actions of a rank's function; see runtime/execution/actions.h.
class Rank;

using CollectiveKind = rondo::CollectiveKind;

struct CollectiveDesc {
  CollectiveKind kind;
  /// The shared tensor's global name; "" for the norm.
  const char *tensor;
  int32_t numReplicas;
  const int32_t *replicas;
  /// Predicted time once all ranks are there.
  int64_t ns = 0;
  /// In a sum of a shared tensor whose replicas have shards: the tensor's
  /// elements that it adds, which all its replicas have in theirs; 0: all.
  int64_t firstElement = 0, numElements = 0;
  /// In a norm of overlapping iterations: step t + delay awaits the norm of
  /// iteration t. From 1 on, steps make its parts.
  int32_t delay = 0;
};

/// Runs all actions of one rank for one iteration, or for a run of several that
/// overlap.
using RankFunction = void (*)(Rank &rank, const int64_t *row);

/// A rank that executes a program: a function and its row of parameters.
struct RankDesc {
  RankFunction run;
  const int64_t *row;
};

enum class ProgramKind : uint8_t {
  /// One rank runs all stages, one micro-batch after another: the reference.
  Sequential,
  /// The compiled schedule.
  Pipeline,
  /// Forward only, for the held-out loss. Same ranks as Pipeline.
  Evaluation,
};

/// A schedule over the executable's state: same weights, but its own order,
/// slots and micro-batch sizes. All programs of an executable take the same
/// samples per iteration, in the same order.
struct ProgramDesc {
  /// Its index in Executable::programs.
  int32_t id;
  /// For a pipeline, its schedule's name, which is unique among pipelines.
  const char *name;
  ProgramKind kind;
  int32_t microbatches;
  /// Per micro-batch; 0 if they are timed and nobody counts them.
  int32_t samples;
  /// The order in which gradients of a weight are added: true for that of the
  /// reference (bit-equal to it), by index or as the schedule lists it; false
  /// for the order in which tasks run.
  bool accumulatesInIndexOrder;
  /// The executable's layers, sized for this program's micro-batches. State has
  /// the same size and ranks in all programs.
  const LayerDesc *layers;
  /// One entry per replica.
  const ShareDesc *shares;
  const EdgeDesc *edges;
  int32_t numRanks;
  const RankDesc *ranks;
  /// One entry per replica: the rank of this program that runs it.
  const int32_t *rankOfReplica;
  int32_t numPools;
  const PoolDesc *pools;
  /// First [replica * numBuffers + buffer], then those of further edges.
  int32_t numPlaces;
  const PlaceDesc *places;
  int32_t numCollectives;
  const CollectiveDesc *collectives;
  /// Predicted time of one iteration with a device per rank, ns; 0 if costs are
  /// unknown.
  int64_t predictedNs;
  /// Predicted busy time summed over all ranks, ns.
  int64_t predictedWorkNs;
  /// Peak bytes of activations by rank, as the search counts them.
  const int64_t *peakMemoryBytes;
  /// One entry per rank: the pool of one slot where its collectives receive
  /// what they add (stagingBytes() in kinds/Sums.h), which lies at the same
  /// place in all programs that have it; -1: none. Null: no rank has any.
  const int32_t *staging = nullptr;
  /// Predicted time of a task or step of each replica, in ns:
  /// [replica * numCostColumns + costColumn(kind)]. Null: costs are unknown.
  const int64_t *workNs = nullptr;
  /// Only of a pipeline; null: a run is one iteration, and every task reads the
  /// newest weights. With it, `microbatches` are those of one iteration,
  /// actions number them through the run, and predictedNs is the time that an
  /// iteration adds to a long run.
  const OverlapDesc *overlap = nullptr;
  /// One entry per rank: the number of sends, receives and collectives that it
  /// may have in flight at once (kinds/Residency.h); 0: no limit. Null: no
  /// limit on any rank.
  const int32_t *resident = nullptr;
  /// One entry per rank; null: no rank copies activations.
  const RankCopiesDesc *copies = nullptr;
  /// Null: all micro-batches have the tables above. With it, `layers` are those
  /// of one of the largest micro-batches, `shares` have the most bytes of any,
  /// and so do `edges`.
  const UnevenDesc *uneven = nullptr;
  /// A permutation of the micro-batches: the order in which gradients of a
  /// weight are added. Null: by index, if accumulatesInIndexOrder.
  const int32_t *sumOrder = nullptr;
  /// Programs that are found during a run have the id of a compiled one. Only
  /// those with one number here have the same work at the same addresses, so
  /// that a device may repeat what it has recorded. 0: that of the compiler.
  int64_t recording = 0;
};

/// The size of a micro-batch, an index into UnevenDesc::sizes; 0 if all are
/// equal.
inline int32_t sizeOf(const ProgramDesc &program, int64_t microbatch) {
  return program.uneven ? program.uneven->sizeOf[microbatch] : 0;
}
/// The documents of a micro-batch; null: it has samples.
inline const DocumentsDesc *documentsOf(const ProgramDesc &program,
                                        int64_t microbatch) {
  return program.uneven && program.uneven->documents
             ? &program.uneven->documents[microbatch]
             : nullptr;
}
/// The limits of a program that draws documents; null: it draws none.
inline const BatchLimitsDesc *limitsOf(const ProgramDesc &program) {
  return program.uneven ? program.uneven->limits : nullptr;
}
/// These throw Error if the tables of a program are invalid whose micro-batches
/// differ, or whose iterations overlap. In execution/uneven.cpp and
/// overlap_checks.cpp.
void checkUneven(const Executable &executable, const ProgramDesc &program);
void checkOverlap(const Executable &executable, const ProgramDesc &program);

/// Whether a program's steps await the norm of all gradients, without which
/// they can neither clip them nor see that one is not finite.
inline bool computesNorm(const ProgramDesc &program) {
  for (int32_t c = 0; c < program.numCollectives; ++c)
    if (program.collectives[c].kind == CollectiveKind::GradientNorm)
      return true;
  return false;
}

/// Limit of launches in flight of the ranks that need one; 0: no rank does.
inline int32_t residentOf(const ProgramDesc &program) {
  int32_t most = 0;
  for (int32_t r = 0; program.resident && r < program.numRanks; ++r)
    most = program.resident[r] > most ? program.resident[r] : most;
  return most;
}

/// The number of iterations by which the norm is late; 0 also without a norm.
inline int32_t normDelay(const ProgramDesc &program) {
  for (int32_t c = 0; c < program.numCollectives; ++c)
    if (program.collectives[c].kind == CollectiveKind::GradientNorm)
      return program.collectives[c].delay;
  return 0;
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_PROGRAM_TABLES_H
