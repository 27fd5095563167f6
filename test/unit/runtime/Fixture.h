//===- Fixture.h - Hand-written executables ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_RUNTIME_FIXTURE_H
#define RONDO_TEST_UNIT_RUNTIME_FIXTURE_H

#include "runtime/rondo_runtime.h"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace rondo::runtime::test {

/// One action of a rank's list.
struct Act {
  enum Kind : int64_t {
    F,
    I,
    W,
    B,
    R,
    Send,
    Recv,
    /// Issues a collective and awaits it.
    AllReduce,
    Issue,
    Await,
    Step,
    Unshard,
    Reshard,
    Reduce,
    Throw,
    /// Memory is not enough.
    Exhaust
  } kind;
  int64_t stage = 0, microbatch = 0;
  Message message = Message::Activation;
};
/// The action lists of all ranks of a program.
using Lists = std::vector<std::vector<Act>>;

/// Overlap of a pipeline's iterations: one F and one B in turn, without a
/// flush.
struct Overlap {
  enum Policy {
    None,
    /// F reads the newest weights, B those of its F.
    Stash,
    /// Both read the newest.
    Live,
    /// The same, and B moves them back.
    Extrapolated,
    /// All tasks are one update late.
    TwoVersions,
  } policy = None;
  /// Whether R reads what the backward reads.
  bool recomputesAnew = false;
  /// Iterations of each repetition.
  int each = 1;
  /// I, and all W of an iteration at its end.
  bool split = false;
  /// Whether steps await the norm of all gradients, and of how many iterations
  /// before.
  bool norm = false;
  int normDelay = 0;
  /// Whether each rank is as far ahead as if it ran an F and a B at once.
  bool spatial = false;
  /// Updates by which the tables' backward is later than the policy says.
  int addedDelay = 0;
};

/// Stages with several replicas, which take consecutive samples of each
/// micro-batch, and may keep shards of the stage's state. What a rank's list
/// says of a stage, several ranks do, each for its own home: home j of a stage
/// on rank r is on rank r * replicas + j.
struct Sharding {
  /// Replicas of each stage.
  int replicas = 1;
  /// A group has as many replicas as there are shards.
  int shards = 1;
  /// The most tasks of a replica, one after another, that a gather serves.
  int tasksEach = 1;
  /// Micro-batches whose gradients are reduced together.
  int unit = 1;
  /// Whether the next gather of another replica is issued before a replica's
  /// tasks.
  bool isEarly = false;
  /// Whether a sum is awaited only before the replica's next one.
  bool isLate = false;
  /// Slots of gradients that are not reduced yet.
  int slots = 1;
};

/// Input from which an executable is made.
struct Spec {
  int microbatches = 4;
  std::vector<LayerDesc> layers;
  /// One entry per stage: the number of layers, and the rank.
  std::vector<int> layersOfStage, rankOfStage;
  /// Slots of message and saved buffers; 0: one per micro-batch.
  int messageSlots = 0, savedSlots = 0;
  /// Slots of the weights, which versions use in turn.
  int weightSlots = 1;
  /// The pipeline's overlap, instead of its lists.
  Overlap overlap;
  Sharding sharding;
  /// Whether there are optimizer steps.
  bool steps = true;
  /// Whether data lie before the staging, as the compiler places them.
  bool hasDataFirst = false;
  /// Whether there is room for moving weights back.
  bool keepsChanges = false;
  /// Slots of a buffer that lives as long as the program.
  int stateSlots(int buffer) const {
    return buffer == static_cast<int>(Buffer::Data)      ? microbatches
           : buffer == static_cast<int>(Buffer::Weights) ? weightSlots
                                                         : 1;
  }
  /// The pipeline's lists; empty: oneForwardOneBackward().
  Lists pipeline;
  /// Pipelines after the first, with the same number of samples per iteration.
  struct Other {
    const char *name;
    int microbatches = 4, samples = 0;
    Lists (*lists)(const Spec &) = nullptr;
  };
  std::vector<Other> others;
};

/// An embedding, `blocks` blocks and a head.
std::vector<LayerDesc> gptLayers(int blocks, bool tied);
/// Timed layers with weights and messages.
std::vector<LayerDesc> syntheticLayers(int count, int64_t ns);
/// One such layer per rank, each task taking `ns`, as oneForwardOneBackward().
Spec timedOnRanks(int ranks, int64_t ns, int microbatches = 4);

/// Builders of lists. Receives come before the task that needs them, sends
/// after the task that makes them, collectives and steps at the end. With
/// `split`, B is I, and all W come at the end in index order.
Lists oneForwardOneBackward(const Spec &spec, bool split);
/// All F, then all B, one stage after another; also for stages that come back
/// to a rank.
Lists forwardThenBackward(const Spec &spec);

// Lists of an executable's other programs.
Lists sequentialLists(const Spec &spec, const std::vector<int> &ranks);
Lists evaluationLists(const Spec &spec);
bool isTied(const Spec &spec);
int numRanks(const std::vector<int> &rankOfStage);

/// A collective, before it has a number and an address.
struct Collective {
  CollectiveKind kind;
  std::vector<int32_t> replicas;
  int64_t firstElement = 0, numElements = 0;
};
/// Those of stages with several replicas.
std::vector<Collective> shardedCollectives(const Spec &spec);
/// Lists of replicas, made of lists that name stages, with gathers and
/// reductions. `ranks`: of each replica; `all`: those of shardedCollectives().
Lists shardedLists(const Spec &spec, const Lists &lists,
                   const std::vector<int> &ranks,
                   const std::vector<Collective> &all, bool trains);

/// A rank's actions where iterations overlap: what begins a run, and what
/// repeats, with larger numbers each time.
struct Loop {
  std::vector<Act> before, again;
  int64_t microbatches = 0, steps = 0;
};
Loop overlapped(const Spec &spec, int rank);
/// Delays of a stage, one entry per micro-batch.
struct Delays {
  std::vector<int16_t> forward, backward;
  double meanForward = 0, meanBackward = 0;
};
Delays delaysOf(const Spec &spec, int stage);

/// Owns the tables of an executable with the programs sequential, pipeline and
/// evaluation, and three more for each further pipeline.
class Program {
public:
  explicit Program(const Spec &spec);
  Program(const Program &) = delete;

  Executable exe{};
  /// Listed by the executable.
  std::vector<ProgramDesc> programs;

private:
  /// Layers and stages for one micro-batch size.
  struct Sizes {
    std::vector<LayerDesc> layers;
    std::vector<StageDesc> stages;
    /// One entry per replica.
    std::vector<ShareDesc> shares;
    std::vector<EdgeDesc> edges;
  };
  struct ProgramTables {
    std::vector<RankDesc> ranks;
    std::vector<std::vector<int64_t>> rows;
    std::vector<int32_t> rankOfReplica;
    std::vector<PoolDesc> pools;
    std::vector<PlaceDesc> places;
    std::deque<std::vector<uint16_t>> slots;
    std::vector<CollectiveDesc> collectives;
    std::vector<int64_t> peaks;
    std::vector<int32_t> staging;
    std::deque<Delays> delays;
    std::vector<VersionDesc> versions;
    OverlapDesc overlap{};
  };
  const Sizes &addSizes(const Spec &spec, int maxMicrobatches);
  void addPrograms(const Spec &spec, const char *name, const Sizes &sizes);
  void addProgram(const Spec &spec, ProgramKind kind, const char *name,
                  const Sizes &sizes, const std::vector<int> &rankOfStage,
                  const Lists &lists);
  void addOverlap(const Spec &spec, ProgramTables &tables);
  void addCollectives(const Spec &spec, bool overlaps, ProgramTables &tables);
  void place(const Spec &spec, const std::vector<ShareDesc> &shares,
             ProgramTables &tables, bool hasRings);
  /// For the collectives, on any kind of device.
  std::map<int32_t, int64_t> stagingOf(const Spec &spec,
                                       const std::vector<ShareDesc> &shares,
                                       const ProgramTables &tables) const;

  std::deque<std::string> names;
  std::deque<Sizes> allSizes;
  std::vector<ReplicaDesc> replicas;
  std::vector<int64_t> arenaBytes;
  std::vector<int32_t> allStages, tiedStages;
  /// With several replicas of a stage.
  std::vector<Collective> sharded;
  std::deque<ProgramTables> storage;
};

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_RUNTIME_FIXTURE_H
