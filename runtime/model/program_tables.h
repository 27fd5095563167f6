//===- program_tables.h - The tables of one program -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_MODEL_PROGRAM_TABLES_H
#define RONDO_RUNTIME_MODEL_PROGRAM_TABLES_H

#include "kinds/Actions.h"
#include "kinds/Collectives.h"
#include "runtime/model/layer.h"
#include "runtime/model/stage_tables.h"
#include "runtime/model/uneven_tables.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace rondo::runtime {

//===----------------------------------------------------------------------===//
// Where buffers lie in arenas.
//===----------------------------------------------------------------------===//

/// Equal slots in the arena of `rank`, at `offset` from its start.
struct PoolDesc {
  int32_t rank;
  int64_t offset;
  int64_t slotBytes;
  int32_t slots;
  /// In the rank's arena on its host.
  bool isOnHost = false;
};

/// Slots that repeat from an instance on.
struct SlotPartDesc {
  int32_t begin;
  int32_t period;
  const uint16_t *slots;
};

/// Place of a replica's buffer: slots of a pool. pool < 0: the stage has no
/// such buffer.
struct PlaceDesc {
  int32_t pool = -1;
  /// Slots repeat, until a later part begins, if there is one.
  int32_t period = 1;
  const uint16_t *slots = nullptr;
  int32_t numLater = 0;
  const SlotPartDesc *later = nullptr;
  /// If micro-batches differ in size: the number of consecutive slots that each
  /// takes, one entry for each. Null: one slot.
  const int32_t *spans = nullptr;
};

/// The slot of instance i, a micro-batch or a version of the weights.
inline int32_t slotOf(const PlaceDesc &place, int64_t i) {
  auto within = [](const uint16_t *slots, int64_t number, int32_t period) {
    return slots[static_cast<uint32_t>(number) % static_cast<uint32_t>(period)];
  };
  for (int32_t k = place.numLater; k-- > 0;)
    if (const SlotPartDesc &part = place.later[k]; i >= part.begin)
      return within(part.slots, i - part.begin, part.period);
  return within(place.slots, i, place.period);
}

/// Instances up to where the last part has been read once.
inline int32_t numListed(const PlaceDesc &place) {
  if (place.numLater == 0)
    return place.period;
  const SlotPartDesc &last = place.later[place.numLater - 1];
  return last.begin + last.period;
}

//===----------------------------------------------------------------------===//
// Copies of activations to the host.
//===----------------------------------------------------------------------===//

/// A copy of activations to the host (SAVE) or back (LOAD).
struct CopyDesc {
  ActionKind kind;
  int32_t replica, microbatch;
  /// Its place among the copies of an iteration over the host link that its
  /// rank shares, in its direction (laneOfShared()); -1: the schedule states
  /// none.
  int32_t turn = -1;
};

/// A task or copy that begins after the end of an action on another lane of its
/// rank.
struct LaneWaitDesc {
  ActionKind kind;
  int32_t replica, microbatch;
  ActionKind awaitedKind;
  int32_t awaitedReplica, awaitedMicrobatch;
};

/// The copies of one rank. The two directions are lanes of their own, each of
/// which runs its copies in the order of the list; with `isHalf` all copies are
/// on one lane.
struct RankCopiesDesc {
  int32_t numCopies;
  const CopyDesc *copies;
  int32_t numWaits;
  const LaneWaitDesc *waits;
  bool isHalf;
};

/// A rank's link to its host, as the plan assumed it. bytesPerUs == 0: a copy
/// takes only the latency.
struct HostLinkDesc {
  int64_t latencyNs, bytesPerUs;
  /// The number of the link that it shares with other ranks, which carries one
  /// copy in each direction, or in all if `isSharedHalf`; -1: none.
  int32_t shared;
  bool isSharedHalf;

  /// The number of the lane of the shared link that carries a copy.
  size_t laneOfShared(ActionKind kind) const {
    return 2 * static_cast<size_t>(shared) +
           (kind == ActionKind::Load && !isSharedHalf);
  }
};

//===----------------------------------------------------------------------===//
// Iterations that overlap.
//===----------------------------------------------------------------------===//

struct Executable;
struct ProgramDesc;

/// Which weights a replica's tasks read in a program whose iterations overlap.
struct VersionDesc {
  /// One entry per micro-batch, numbered from 0 through all iterations of a
  /// run: the age in optimizer steps, counted from its own iteration, of the
  /// version that F reads, of the one that I, W and B read, and of the one that
  /// R reads. Iteration t of a run reads version t - delay, counted from 0 at
  /// the run's start. See delayOf().
  const int16_t *forward, *backward, *recompute;
  /// The delays in the steady state: the means that corrections for delay use.
  double meanForward, meanBackward, meanRecompute;
  /// The backward's weights are moved back along the running mean of their
  /// changes (Buffer::WeightChanges); and so are those of R.
  bool extrapolates, recomputesExtrapolated;

  /// Delays of tasks of a kind.
  const int16_t *delaysOf(ActionKind kind) const {
    return kind == ActionKind::Forward     ? forward
           : kind == ActionKind::Recompute ? recompute
                                           : backward;
  }
};

/// Overlap of a program's iterations. Its functions order all micro-batches and
/// steps of a run of any length: first the beginning, then the repeating part.
/// A run of n iterations leaves out the actions of iteration n and later ones,
/// and so it ends with nothing under way.
struct OverlapDesc {
  /// Micro-batches whose delays are listed, and how many of the last of them
  /// repeat from there on.
  int32_t numDelays, period;
  /// Iterations that each repetition adds.
  int32_t iterationsEach;
  /// One entry per replica.
  const VersionDesc *versions;
  /// checkOverlap(), which other programs do not link.
  void (*check)(const Executable &, const ProgramDesc &);
};

/// The delay of a micro-batch in a list of an OverlapDesc.
inline int32_t delayOf(const OverlapDesc &overlap, const int16_t *delays,
                       int64_t microbatch) {
  return delays[microbatch < overlap.numDelays
                    ? microbatch
                    : overlap.numDelays - overlap.period +
                          (microbatch - overlap.numDelays) % overlap.period];
}

/// The largest delay of any task.
inline int32_t maxDelay(const OverlapDesc &overlap,
                        const VersionDesc &versions) {
  int32_t most = 0;
  for (int32_t m = 0; m < overlap.numDelays; ++m)
    for (const int16_t *delays :
         {versions.forward, versions.backward, versions.recompute})
      most = delays[m] > most ? delays[m] : most;
  return most;
}

//===----------------------------------------------------------------------===//
// A program.
//===----------------------------------------------------------------------===//

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

/// The norm of all gradients; null: the program does not compute it.
inline const CollectiveDesc *findNorm(const ProgramDesc &program) {
  for (int32_t c = 0; c < program.numCollectives; ++c)
    if (program.collectives[c].kind == CollectiveKind::GradientNorm)
      return &program.collectives[c];
  return nullptr;
}
/// Whether a program's steps await the norm of all gradients, without which
/// they can neither clip them nor see that one is not finite.
inline bool computesNorm(const ProgramDesc &program) {
  return findNorm(program) != nullptr;
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
  const CollectiveDesc *norm = findNorm(program);
  return norm ? norm->delay : 0;
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_PROGRAM_TABLES_H
