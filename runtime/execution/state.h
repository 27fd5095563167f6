//===- state.h - The arenas and their contents ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_STATE_H
#define RONDO_RUNTIME_EXECUTION_STATE_H

#include "runtime/backend/backend.h"
#include "runtime/bodies/body.h"
#include "runtime/bodies/custom.h"
#include "runtime/model/executable.h"
#include "runtime/optimizer/control.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace rondo::runtime {

/// A layer of a stage; offsets count bytes from the start of the stage's
/// buffers.
struct LayerBinding {
  const LayerDesc *desc = nullptr;
  LayerBody body{};
  LayerSizes sizes{};
  /// LayerArgs::state.
  void *state = nullptr;
  int64_t weightsOffset = 0, gradientsOffset = 0, dataOffset = 0;
  /// In each of the moments.
  int64_t momentsOffset = 0;
  /// Offset of the weights in the layer's dtype in the gathered weights of a
  /// replica with a shard; -1: they follow the layer's weights, or are these.
  int64_t copyOffset = -1;
  /// In what F keeps, or in what R restores if the layer recomputes.
  int64_t savedForInputGradOffset = 0, savedForWeightGradOffset = 0;
  /// In what copies take.
  int64_t awayForInputGradOffset = 0, awayForWeightGradOffset = 0;
  int64_t keptForWeightGradOffset = 0;
  /// Offset of the layer's input among the checkpoints, which copies take or
  /// nobody; -1: it is none.
  int64_t checkpointOffset = -1;
  /// Whether F replaces some of its weights.
  bool isRunning = false;
};

/// A replica of a stage and its state, at the same place in every program.
struct ReplicaBinding {
  const ReplicaDesc *replica = nullptr;
  const StageDesc *desc = nullptr;
  const ShareDesc *share = nullptr;
  /// Elements of the shard that it keeps of its stage's weights, and of its
  /// gradients; 0: it keeps all of its state.
  int64_t shard = 0;
  /// Elements of the shard that it keeps of each of the moments, if it keeps
  /// all of the weights and gradients; 0: as of these.
  int64_t momentShard = 0;
  std::vector<LayerBinding> layers;
  /// Layers for a part of the samples; empty if the replica takes all.
  std::vector<LayerDesc> shared;
  /// Bytes of one activation between layers of the stage, and their number.
  int64_t innerBytes = 0;
  int32_t numInner = 0;
  /// In the workspace: what F saves in vain, unkeptBytes() at its end.
  int64_t unkeptOffset = 0;
  /// Version v of the weights is in weights[v % weights.size()]; empty if there
  /// are none, or if another process holds them.
  std::vector<char *> weights;
  /// Optimizer steps since the state was initialised: the version that tasks
  /// read.
  int64_t version = 0;
  char *gradients = nullptr, *moments = nullptr;
  /// Laid out like the gradients; null: no program moves weights back.
  char *changes = nullptr;
  /// Memory for the logits of F of the head; null: they are not kept.
  char *logits = nullptr;
  ControlView control;
  /// The optimizer's tensors.
  StageTensors optimized;
  /// Indices into State::tensors: [firstTensor, lastTensor).
  int32_t firstTensor = 0, lastTensor = 0;

  /// Takes the tensors of the same replica for another size of micro-batches.
  void takeTensors(const ReplicaBinding &other) {
    optimized = other.optimized;
    firstTensor = other.firstTensor;
    lastTensor = other.lastTensor;
  }
};

/// Samples of a micro-batch; 1 where nobody counts them.
inline int32_t samplesOf(const ProgramDesc &program) {
  return std::max(program.samples, 1);
}

/// Bytes of the weights of a replica's largest layer, moved back for its I:
/// scratch at the end of its workspace.
int64_t movedBytes(const LayerDesc *layers, int32_t count);

/// The layers of a replica, for its samples.
std::vector<LayerDesc> layersOf(const Executable &exe,
                                const ProgramDesc &program, int32_t replica);

/// The place of a replica's buffer.
inline const PlaceDesc &placeOf(const ProgramDesc &program, int32_t replica,
                                Buffer buffer) {
  return program.places[replica * numBuffers + static_cast<int>(buffer)];
}

/// An executable's state: one arena per rank, allocated at start.
class State {
public:
  /// Runs task(r) for each rank r of this process, on the rank's thread.
  using OnRanks = std::function<void(const std::function<void(int32_t)> &task)>;

  /// Checks the executable's tables, makes a device for each rank and
  /// allocates; with `onRanks` each arena on its rank's thread, so that its
  /// pages are near that thread. Throws Error if buffers are smaller than the
  /// layers need, go past the arena's end, or hold state but move between
  /// programs, or if two tensors have one name. Stages and tensors of ranks
  /// that other processes hold have their sizes and names here, but null
  /// addresses.
  explicit State(const Executable &executable, const World &world = {},
                 const OnRanks &onRanks = {});

  const World &world() const { return processes; }
  /// Whether this process holds a replica's state.
  bool holds(int32_t replica) const {
    return processes.holds(exe.replicas[replica].rank);
  }
  /// The replica that owns the stage's tensors: its first; where state lies in
  /// shards, together with the others of its group.
  int32_t ownerOf(int32_t stage) const { return owners[stage]; }
  bool isOwner(int32_t replica) const {
    return ownerOf(exe.replicas[replica].stage) ==
           groupOf(exe.replicas, replica);
  }

  const Executable &executable() const { return exe; }
  /// As in the first program.
  const std::vector<ReplicaBinding> &replicas() const {
    return bindings.front();
  }
  /// The same replicas with the layers and sizes of a program of this
  /// executable.
  const std::vector<ReplicaBinding> &
  replicas(const ProgramDesc &program) const {
    return replicas(program, /*size=*/0);
  }
  /// If micro-batches differ: for those of one size.
  const std::vector<ReplicaBinding> &replicas(const ProgramDesc &program,
                                              int32_t size) const {
    const auto batch = batches.find(program.uneven);
    return batch == batches.end() ? bindings[sizesOf[program.id][size]]
                                  : (*batch->second)[size];
  }
  /// In global order: by layer, and within a layer in the order of its weights.
  const std::vector<Tensor> &tensors() const { return allTensors; }
  /// Elements of a tensor, or of its moments, that a replica holds.
  struct Part {
    int32_t replica;
    /// Addresses of element `first`.
    float *values;
    int64_t first, count;
  };
  /// The parts of a tensor's values: all at the group's first replica, or in
  /// the shards of the replicas that have some.
  std::vector<Part> partsOf(const Tensor &tensor, float *Tensor::*values) const;
  /// The part that the tensor's own replica holds.
  static Part partHere(const Tensor &tensor, float *Tensor::*values);
  bool holds(const PoolDesc &pool) const { return processes.holds(pool.rank); }
  /// This process must hold the pool's rank.
  char *address(const PoolDesc &pool, int32_t slot) const {
    const Arena &arena =
        pool.isOnHost ? *hostArenas[pool.rank] : *arenas[pool.rank];
    return arena.base() + pool.offset + slot * pool.slotBytes;
  }
  Arena &arena(int32_t rank) { return *arenas[rank]; }
  Device &device(int32_t rank) { return *devices[rank]; }
  /// Copies between the host and a replica's buffers.
  void read(int32_t replica, void *host, const void *device,
            int64_t bytes) const {
    arenas[exe.replicas[replica].rank]->read(host, device, bytes);
  }
  void write(int32_t replica, void *device, const void *host, int64_t bytes) {
    arenas[exe.replicas[replica].rank]->write(device, host, bytes);
  }
  /// Bytes of all arenas allocated in this process.
  int64_t allocatedBytes() const;
  /// Bytes in use of the memory of this process's devices, by all programs; -1
  /// if it is the host's.
  int64_t bytesInUse() const;

  /// The part of a norm that a replica's step writes, for a norm that is
  /// awaited some iterations later: one of as many places as are in flight at
  /// once. Outside the arena; null if another process holds the replica.
  double *normParts(int32_t replica, int32_t place) const {
    return holds(replica)
               ? reinterpret_cast<double *>(lateParts[replica][place]->base())
               : nullptr;
  }

  /// Fills all arenas with NaNs, to make reads of unwritten buffers visible.
  /// Call initialise() next.
  void poison();
  /// Whether it has been called: then copies also poison what they have copied
  /// away.
  bool isPoisoned() const { return poisoned; }
  /// Weights from (seed, tensor name), moments and gradients 0.
  void initialise(uint64_t seed);
  /// Makes the next version of a replica's weights, initially equal to the
  /// current one, the version that tensors name and tasks read. Called before
  /// the optimizer's step by the thread of the rank that runs it, with that
  /// rank's device.
  void nextVersion(int32_t replica, Device &device);
  /// Moves the newest weights to the slot of version 0, which they become:
  /// every run of a device that repeats recordings begins in the same slots.
  /// Called like nextVersion(), with no task under way.
  void returnToFirstSlot(int32_t replica, Device &device);
  /// Call this after the host has written weights.
  void weightsWritten();

  /// Makes F of a replica's last layer, a head, leave the logits of the last
  /// micro-batch in memory of their own, outside the arena. Call it before
  /// programs are made; replicas of other processes get none.
  void keepLogits(int32_t replica);
  /// Logits of `count` tokens of the replica's first sample, from token `first`
  /// on, one row of the vocabulary's size after another. Held by this process.
  std::vector<float> readLogits(int32_t replica, int64_t first,
                                int64_t count) const;

private:
  friend class BatchSizes;
  void checkProgram(const ProgramDesc &program) const;
  void checkStages(const ProgramDesc &program) const;
  void checkOverlap(const ProgramDesc &program) const;
  void checkReplicas() const;
  void checkGroups() const;
  void checkShards(const ProgramDesc &program) const;
  void checkShares(const ProgramDesc &program) const;
  /// Custom layers for other numbers of samples than exe.layers have.
  void checkOtherSizes(const ProgramDesc &program) const;
  /// checkCustomLayer() if the layer is custom.
  void checkCustom(const LayerDesc &layer) const;
  void checkTensorNames() const;
  void checkRunningTensors() const;
  void checkEdges(const ProgramDesc &program) const;

  ReplicaBinding bindReplica(int32_t replica, const ProgramDesc &program);
  /// Places for partial norms in the control memory of its stage.
  int64_t numPartials(const ReplicaDesc &replica) const;
  int32_t numberIn(const ReplicaBinding &binding,
                   const std::string &name) const;
  void bindTensors(int32_t replica);
  /// Loads the bodies of custom layers for the ranks of this process.
  void loadBodies(std::vector<ReplicaBinding> &replicas,
                  std::vector<std::unique_ptr<LoadedBody>> &bodies);
  /// Lets devices prepare the layers of each rank, in all sizes, while arenas
  /// have no content; they are zero again afterwards.
  void prepareDevices();
  bool prepare(const ReplicaBinding &replica, int64_t rowTokens = 0);
  void moveTensors(int32_t replica, int64_t version);

  const Executable &exe;
  const World processes;
  /// Indexed by rank, null if another process holds it; an arena is destroyed
  /// before its device.
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<Arena>> arenas;
  /// Indexed by rank: its arena on the host; empty if no program copies.
  std::vector<std::unique_ptr<Arena>> hostArenas;
  bool poisoned = false;
  /// Indexed by replica and place.
  std::vector<std::vector<std::unique_ptr<Arena>>> lateParts;
  /// Indexed by replica, null without keepLogits().
  std::vector<std::unique_ptr<Arena>> logits;
  /// For each micro-batch size, by replica; and for each program the index of
  /// its size or, if its micro-batches differ, of each of theirs.
  std::vector<std::vector<ReplicaBinding>> bindings;
  std::vector<std::unique_ptr<LoadedBody>> loadedBodies;
  /// [tables]: the bindings of BatchSizes.
  std::map<const UnevenDesc *, const std::vector<std::vector<ReplicaBinding>> *>
      batches;
  std::vector<std::vector<int32_t>> sizesOf;
  /// Indexed by stage.
  std::vector<int32_t> owners;
  std::vector<Tensor> allTensors;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_STATE_H
