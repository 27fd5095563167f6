//===- executable.h - The tables of an emitted program ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Codegen writes one Executable, and the runtime reads it.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_MODEL_EXECUTABLE_H
#define RONDO_RUNTIME_MODEL_EXECUTABLE_H

#include "kinds/Actions.h"
#include "kinds/Collectives.h"
#include "runtime/model/buffers.h"
#include "runtime/model/layer.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>

/// The version of these tables and of the functions that emitted code calls
/// (runtime/execution/actions.h). Raise it with every change of either: an
/// emitted program compiles only against the version that it was written for.
#define RONDO_TABLES_VERSION 18

namespace rondo {
struct AffineCost;
}
namespace rondo::runtime {

struct Executable;
struct ProgramDesc;

/// Takes the actions of a rank's function; see runtime/execution/actions.h.
class Rank;

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

/// A directed link between two ranks, as the plan assumed it.
struct LinkDesc {
  int32_t from, to;
  int64_t latencyNs;
  /// 0: a message does not occupy it.
  int64_t bytesPerUs;
};

/// A copy of activations to the host (SAVE) or back (LOAD).
struct CopyDesc {
  rondo::ActionKind kind;
  int32_t replica, microbatch;
  /// Its place among the copies of an iteration over the host link that its
  /// rank shares, in its direction (laneOfShared()); -1: the schedule states
  /// none.
  int32_t turn = -1;
};

/// A task or copy that begins after the end of an action on another lane of its
/// rank.
struct LaneWaitDesc {
  rondo::ActionKind kind;
  int32_t replica, microbatch;
  rondo::ActionKind awaitedKind;
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
  size_t laneOfShared(rondo::ActionKind kind) const {
    return 2 * static_cast<size_t>(shared) +
           (kind == rondo::ActionKind::Load && !isSharedHalf);
  }
};

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

/// The tables of micro-batches of one size, like those of a ProgramDesc.
struct MicrobatchDesc {
  const LayerDesc *layers;
  const ShareDesc *shares;
  const EdgeDesc *edges;
};

/// The documents of a micro-batch: `count` + 1 starts in its row of tokens, and
/// rowShare() of its tokens (documents.h).
struct DocumentsDesc {
  int32_t count;
  const int32_t *starts;
  double lossShare;
  /// Tokens of the last documents that are padding: they have no target
  /// (noTarget).
  int32_t padding = 0;
};

/// Limits of the batches of a program that draws documents and finds a schedule
/// for each batch. Its tables have the largest batch that these allow, so its
/// order and its slots serve any other one, too.
struct BatchLimitsDesc {
  /// The most tokens of a micro-batch, and of a document, which is cut there.
  int64_t rowTokens, documentTokens;
  int32_t microbatches;
  /// Tokens for whose activations a rank has memory in each of its stages, at
  /// least those of one micro-batch.
  int64_t inFlightTokens;
  /// One entry per rank: bytes of these activations, or what its device leaves
  /// of them: the cap of a search.
  const int64_t *activationBytes;
  /// Predicted ns of a task or step of each replica, as ProgramDesc::workNs:
  /// [replica * numCostColumns + costColumn(kind)]. Those of B are empty: it
  /// takes the sum of its I and W.
  const rondo::AffineCost *workNs;
};

/// Micro-batches of a program that differ.
struct UnevenDesc {
  int32_t numSizes;
  const MicrobatchDesc *sizes;
  /// One entry per micro-batch: its size.
  const int32_t *sizeOf;
  /// One entry per micro-batch; null: these are samples.
  const DocumentsDesc *documents;
  /// checkUneven(), which other programs do not link.
  void (*check)(const Executable &, const ProgramDesc &);
  /// Null: all iterations have the documents above.
  const BatchLimitsDesc *limits = nullptr;
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

/// The devices that an executable runs on. Each target other than the CPU has
/// its own library next to the runtime, which defines the object that the
/// emitted program names: without that library the program does not link.
/// Opaque to emitted code; see runtime/backend/backend.h.
struct Backend;
/// The CPU; several processes have a rank each and connect by TCP.
extern const Backend tcpBackend;
/// In librondo_mpi.a: the CPU; several processes have a rank each and connect
/// by MPI.
extern const Backend mpiBackend;
/// In librondo_cuda.a.
extern const Backend cudaBackend;

// Optional parts of the runtime (runtime/trainer/extras.h). A program names the
// objects that its tables can use, and the linker takes their code alone.

/// Searches for schedules while a program trains. In librondo_search.a; see
/// runtime/adaptive/program_values.h.
struct ScheduleSearch;
extern const ScheduleSearch scheduleSearch;
/// Changes the schedule while a program trains.
struct AdaptiveRuns;
extern const AdaptiveRuns adaptiveRuns;
/// Imposes links, for experiments.
struct LinkEmulation;
extern const LinkEmulation linkEmulation;
/// Checks the gradients of custom layers.
struct BodyCheck;
extern const BodyCheck bodyCheck;
/// Copies activations to the host and back (runtime/execution/copies.h).
struct CopySupport;
extern const CopySupport activationCopies;
/// In librondo_cuda.a.
extern const CopySupport activationCopiesOfGpus;
/// Finds a schedule for each batch of documents. In librondo_search.a.
struct BatchSearch;
extern const BatchSearch batchSearch;
/// Draws documents and packs a batch of them for each iteration.
struct BatchRuns;
extern const BatchRuns batchRuns;
/// Reads samples of declared streams (runtime/streams/streams.h).
struct StreamReading;
extern const StreamReading streamReading;
/// Continues a text.
struct TextGeneration;
extern const TextGeneration textGeneration;

/// Null: the program cannot do it.
struct Extras {
  /// In an executable whose pipelines were chosen for a network that changes,
  /// so that it adapts by default.
  const ScheduleSearch *search = nullptr;
  /// With several pipelines or a search.
  const AdaptiveRuns *adaptive = nullptr;
  /// On demand of the command line, or with a search.
  const LinkEmulation *links = nullptr;
  /// With custom layers.
  const BodyCheck *bodyCheck = nullptr;
  /// With a head whose logits are known.
  const TextGeneration *generation = nullptr;
  /// With copies of activations.
  const CopySupport *copies = nullptr;
  /// Both with limits of batches (BatchLimitsDesc).
  const BatchSearch *batchSearch = nullptr;
  const BatchRuns *batches = nullptr;
  /// With layers that declare streams.
  const StreamReading *streams = nullptr;
};

/// A model's state and a list of programs over it.
struct Executable {
  const char *name;
  /// Sized for the first program's micro-batches.
  int32_t numLayers;
  const LayerDesc *layers;
  int32_t numStages;
  const StageDesc *stages;
  /// Ordered by stage, and within a stage by replica. The first of a stage owns
  /// its tensors: it counts for the norm and writes the checkpoint.
  int32_t numReplicas;
  const ReplicaDesc *replicas;
  /// Edges of activations come before those of gradients, and these before
  /// those of what R makes. A task takes its inputs, and adds its output
  /// gradients, in this order.
  int32_t numEdges;
  const EdgeDesc *edges;
  /// Ranks that hold state; each has an arena.
  int32_t numRanks;
  /// Bytes of each rank's arena: the most that any program needs.
  const int64_t *arenaBytes;
  int32_t numPrograms;
  const ProgramDesc *programs;
  /// Null: the CPU, with all ranks in one process.
  const Backend *backend = nullptr;
  /// The links that carry messages of a pipeline, as the plan assumed them.
  int32_t numLinks = 0;
  const LinkDesc *links = nullptr;
  /// Moments of each weight that arenas have room for: what the optimizer that
  /// memory was planned for keeps (kinds/Optimizers.h).
  int32_t moments = 2;
  Extras extras = {};
  /// Bytes of each rank's arena on its host; null: no program copies.
  const int64_t *hostArenaBytes = nullptr;
  /// One entry per rank; null: no program copies.
  const HostLinkDesc *hostLinks = nullptr;
};

/// Micro-batches of the program that has most of them.
inline int64_t maxMicrobatches(const Executable &executable) {
  int64_t most = 0;
  for (int32_t p = 0; p < executable.numPrograms; ++p)
    if (executable.programs[p].microbatches > most)
      most = executable.programs[p].microbatches;
  return most;
}

/// Runs what the command line asks for and returns the exit code.
int run_executable(const Executable &executable, int argc, char **argv);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_EXECUTABLE_H
