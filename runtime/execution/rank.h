//===- rank.h - Runs the actions of one rank of a program -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_RANK_H
#define RONDO_RUNTIME_EXECUTION_RANK_H

#include "runtime/execution/actions.h"
#include "runtime/execution/collectives.h"
#include "runtime/execution/copies.h"
#include "runtime/execution/messages.h"
#include "runtime/execution/moment_shard.h"
#include "runtime/execution/rank_log.h"
#include "runtime/execution/run_tables.h"
#include "runtime/execution/weights.h"

#include <atomic>
#include <memory>
#include <vector>

namespace rondo::runtime {

/// Record of a replica in a run whose iterations overlap. Its rank's thread
/// writes; others may read what belongs to the first `steps` iterations. If the
/// device enqueues its work, the record is filled when the run has ended.
struct ReplicaRecord {
  /// Indexed by micro-batch of the run; only for the stage with the loss.
  std::vector<float> losses;
  /// Indexed by iteration: the end of its step, on the host's clock, and
  /// whether it was skipped, since a gradient was not finite.
  std::vector<int64_t> endNs;
  std::vector<uint8_t> skipped;
  std::atomic<int64_t> steps{0};
};

/// Executes actions; one thread at a time. Buffer addresses come from tables
/// made at construction, so an action costs its host much less than 1 us.
class RunningRank final : public Rank, public RankLog {
public:
  RunningRank(const RankContext &context, const OptimizerConfig &optimizer,
              ActionRing &ring, FaultPoint *fault, HostLinks *links = nullptr);

  /// Sets the next run. No thread may be running it. Returns whether its work
  /// has other addresses than that of the run before, so that no earlier
  /// recording may be repeated.
  bool begin(const Span &span);
  /// Runs with the same number may repeat each other's recording.
  void setVariant(int64_t number) { variant = number; }
  /// Reads the results of a run that has ended.
  void finish();
  /// Runs the emitted function once: a run. Returns when every send and all
  /// work on the device have ended.
  void run();

  void forward(int64_t replica, int64_t microbatch) override;
  void inputGrad(int64_t replica, int64_t microbatch) override;
  void weightGrad(int64_t replica, int64_t microbatch) override;
  void backward(int64_t replica, int64_t microbatch) override;
  void recompute(int64_t replica, int64_t microbatch) override;
  void save(int64_t replica, int64_t microbatch) override;
  void load(int64_t replica, int64_t microbatch) override;
  void send(Message message, int64_t replica, int64_t to,
            int64_t microbatch) override;
  void receive(Message message, int64_t replica, int64_t to,
               int64_t microbatch) override;
  void allReduce(int64_t collective, int64_t step) override;
  void await(int64_t collective, int64_t step) override;
  void step(int64_t replica, int64_t step) override;
  void unshard(int64_t replica, int64_t unit) override;
  void reshard(int64_t replica, int64_t unit) override;
  void reduceGrad(int64_t replica, int64_t unit) override;
  int64_t repetitions() override;

  /// The program's collective of an entry of its wiring.
  int64_t collectiveOf(int64_t entry) const {
    return collectives.collectiveOf(entry);
  }
  Copies &copiesToHost() { return copies; }
  const Copies &copiesToHost() const { return copies; }
  /// Record of a run whose iterations overlap, or of its reference. Null if
  /// another rank has the replica.
  const ReplicaRecord *record(int32_t replica) const {
    return replicas[replica].record.get();
  }

  /// Whether B runs as I and then W also if bodies have a function for it, so
  /// that the time of each is known.
  bool splitsBackward = false;

private:
  /// Arguments of a layer's tasks: constant fields, and those that a task
  /// writes before each call.
  struct LayerCalls {
    LayerArgs forward{}, inputGrad{}, weightGrad{}, recompute{};
  };
  /// The layers of a replica for micro-batches of one size.
  struct SizedCalls {
    const ReplicaBinding *binding = nullptr;
    std::vector<LayerCalls> calls;
  };
  struct LocalReplica {
    /// Null if another rank runs it.
    const ReplicaBinding *binding = nullptr;
    /// Indexed by sizeOf().
    std::vector<SizedCalls> sizes;
    const BufferPlace *places = nullptr;
    const ReplicaTensors *tensors = nullptr;
    /// One of the three below.
    WeightSource *weights = nullptr;
    std::unique_ptr<ResidentWeights> resident;
    std::unique_ptr<VersionedWeights> versioned;
    std::unique_ptr<ShardedReplica> shard;
    /// Null: it keeps all moments of the weights that it keeps.
    std::unique_ptr<MomentShard> moments;
    double lossScale = 0;
    /// Whether a layer has a function for I and W at once.
    bool hasBackward = false;
    /// The first layer whose F replaces some of its weights; null: none. And
    /// the micro-batch that is next, since the values depend on the order.
    const LayerDesc *running = nullptr;
    int64_t nextForward = 0;
    /// The tensors of its step.
    StageTensors optimized;
    std::unique_ptr<ReplicaRecord> record;
    // The rest is for iterations that overlap.
    /// Steps of the run that have been called.
    int64_t stepsBegun = 0;
    /// On a device that enqueues its work.
    std::unique_ptr<RunTables> tables;
    /// Which weights its tasks read; null: the newest.
    const VersionDesc *versions = nullptr;
    /// The mean delays of the latest replica of its stage: all of them step
    /// together, with one rate and one decay.
    double stageForward = 0, stageBackward = 0;
    /// Memory for the weights of a layer moved back, and the number of steps
    /// for I and for R; null and 0: the weights are read in place.
    char *moved = nullptr;
    float stepsBack = 0, stepsBackAgain = 0;
    /// The headers of tensors that other stages share, in the device's memory.
    std::unique_ptr<Arena> sharedHeaders;
    /// Indexed by tensor: its header there, and the largest delay of these
    /// stages; null and 0 for the others.
    std::vector<ControlHeader *> ownHeaders;
    std::vector<double> ownDelays;

    const BufferPlace &place(Buffer buffer) const {
      return places[static_cast<int>(buffer)];
    }
  };
  /// Addresses of a replica's tensors for the backward of a micro-batch.
  struct Saved {
    const LocalReplica &replica;
    int64_t microbatch;
    /// Whether the parts that may leave are where LOAD puts them.
    bool isLoaded = false;

    /// Null if the replica has no such buffer.
    char *at(Buffer buffer, int64_t offset = 0) const {
      char *base = replica.place(buffer).at(microbatch);
      return base ? base + offset : nullptr;
    }
    char *away(int64_t offset = 0) const {
      return at(isLoaded ? Buffer::LoadedForInputGrad
                         : Buffer::OffloadedForInputGrad,
                offset);
    }
    /// Sets what a task of a layer reads or writes of it; W needs the second.
    void setForInputGrad(const LayerBinding &layer, LayerArgs &args) const {
      args.awayForInputGrad = away(layer.awayForInputGradOffset);
      args.savedForInputGrad =
          layer.sizes.awayForInputGrad == layer.sizes.savedForInputGrad
              ? args.awayForInputGrad
              : at(Buffer::SavedForInputGrad, layer.savedForInputGradOffset);
      if (layer.desc->recomputes)
        args.savedForInputGrad =
            at(Buffer::RecomputedForInputGrad, layer.savedForInputGradOffset);
    }
    void setForWeightGrad(const LayerBinding &layer, LayerArgs &args) const {
      args.awayForWeightGrad = at(isLoaded ? Buffer::LoadedForWeightGrad
                                           : Buffer::OffloadedForWeightGrad,
                                  layer.awayForWeightGradOffset);
      args.savedForWeightGrad =
          layer.sizes.awayForWeightGrad == layer.sizes.savedForWeightGrad
              ? args.awayForWeightGrad
              : at(Buffer::SavedForWeightGrad, layer.savedForWeightGradOffset);
      if (layer.desc->recomputes)
        args.savedForWeightGrad =
            at(Buffer::RecomputedForWeightGrad, layer.savedForWeightGradOffset);
    }
    /// Checkpoints of the replica, which all stay or all may leave.
    char *checkpoints() const {
      char *staying = at(Buffer::Checkpoints);
      return staying ? staying : away();
    }
    /// Memory of a layer that I leaves for W.
    char *keptByInputGrad(const LayerBinding &layer) const {
      return at(Buffer::KeptForWeightGrad, layer.keptForWeightGradOffset);
    }
  };

  /// The tensors of a micro-batch for its backward.
  Saved savedOf(int64_t h, int64_t microbatch) const {
    return {replicas[h], microbatch, copies.areOf(h, microbatch)};
  }
  /// Waits for the copies that a task awaits.
  void awaitCopies(int64_t h, int64_t microbatch, ActionKind kind,
                   Action &action) {
    if (copies.await(kind, h, microbatch))
      action.restart();
  }
  /// Calls the program's function, and waits for its sends.
  void act();
  void addReplica(int32_t replica);
  void listStarts();
  void makeCalls(LocalReplica &replica, SizedCalls &sized) const;
  SizedCalls &sizedOf(LocalReplica &replica, int64_t microbatch) const {
    return replica.sizes[sizeOf(program, microbatch)];
  }
  /// Waits for what F or R reads. Returns the samples of its micro-batch; null:
  /// no layer of the stage reads any.
  char *awaitInputs(ActionKind kind, int64_t replica, int64_t microbatch,
                    const std::vector<LocalTensor> &inputs, Action &action);
  /// Waits for what I and B read and write, and sets where it is.
  void beginInputGrad(int64_t replica, int64_t microbatch, Action &action);
  /// The arguments of I and of W of a layer, all but the weights.
  LayerArgs &inputGradArgs(LocalReplica &replica, SizedCalls &sized,
                           size_t layer, const Saved &saved,
                           int64_t microbatch);
  LayerArgs &weightGradArgs(LocalReplica &replica, SizedCalls &sized,
                            size_t layer, const Saved &saved,
                            int64_t microbatch);
  /// Sets what differs by micro-batch in all tasks of a layer.
  void setTime(const LocalReplica &replica, LayerArgs &args,
               int64_t microbatch) const {
    if (const DocumentsDesc *documents = documentsOf(program, microbatch)) {
      const int32_t *onDevice = replica.binding->control.starts;
      args.documentStarts =
          onDevice ? onDevice + firstStart[microbatch] : documents->starts;
      args.numDocuments = documents->count;
      args.lossScale = documents->lossShare;
    }
    args.seed = span.seed;
    args.iteration = iterationOf(microbatch);
    if (replica.tables && program.overlap)
      args.iterationOnDevice =
          &replica.tables->before(microbatch / program.microbatches);
  }
  /// The number of a micro-batch's iteration in the training, from 0; -1 in an
  /// evaluation.
  int64_t iterationOf(int64_t microbatch) const {
    return program.kind == ProgramKind::Evaluation
               ? -1
               : span.before + microbatch / program.microbatches;
  }
  LocalReplica &local(int64_t replica, int64_t microbatch);
  void checkOrder(LocalReplica &replica, int64_t microbatch) const;
  ShardedReplica &sharded(ActionKind kind, int64_t replica, int64_t unit);
  [[noreturn]] void failOnReplica(int64_t replica, int64_t microbatch) const;

  // For iterations that overlap.
  void prepare(int32_t replica);
  bool fillTables(int32_t replica);
  void finish(LocalReplica &replica);
  /// Writes the samples that F and R read.
  void writeData(int32_t replica, int64_t microbatch);
  void keepLoss(LocalReplica &replica, int64_t microbatch);
  void keepStep(LocalReplica &replica, int64_t step);
  /// Step number and learning rate of a stage whose forward is late.
  StepControl controlOf(int64_t step, double delay) const;
  void prepareMoves(LocalReplica &replica, const ShareDesc &share);
  void findShared(int32_t replica);
  void checkSteps() const;
  /// Whether an action belongs to an iteration after the run's end.
  bool isLeftOut(int64_t microbatch) const {
    return program.overlap &&
           microbatch >= span.iterations * program.microbatches;
  }
  bool isStepLeftOut(int64_t step) const {
    return program.overlap && step >= span.iterations;
  }
  /// The weights of a layer, moved back by some steps.
  char *movedWeightsOf(const LocalReplica &replica, const LayerBinding &layer,
                       const char *weights, const char *changes, float steps);

  // In rank_steps.cpp.
  /// The program whose steps these are.
  const ProgramDesc &stepped() const {
    return span.emulation.pipeline ? *span.emulation.pipeline : program;
  }
  bool clipsByStage() const { return overlap && !computesNorm(stepped()); }
  /// Whether steps do without a collective, since they are those of another
  /// program.
  bool isUnused(int64_t collective) const {
    return clipsByStage() &&
           program.collectives[collective].kind == CollectiveKind::GradientNorm;
  }
  void prepareStep(LocalReplica &replica, int64_t step);
  /// Completes the weights that the steps of a group have made.
  void finishUpdates(const CollectiveDesc &desc);
  /// Calls run(header, delay) for the header of the stage, and for those of
  /// tensors that other stages share.
  template <typename Run>
  static void forHeaders(const LocalReplica &replica, Run run) {
    run(replica.binding->control.header, replica.stageForward);
    for (size_t t = 0; t < replica.ownHeaders.size(); ++t)
      if (ControlHeader *own = replica.ownHeaders[t])
        run(own, replica.ownDelays[t]);
  }
  /// `parts`: where the replica's part of the norm goes; null: nowhere.
  void clipByStage(LocalReplica &replica, double *parts);
  /// Clips by the norm of an earlier iteration, if there is one.
  void clipByEarlier(LocalReplica &replica, int64_t step);

  const RankContext context;
  State &state;
  const ProgramDesc &program;
  Device &device;
  Transport &transport;
  const int32_t me;
  const OptimizerConfig optimizer;
  Messages messages;
  Copies copies;
  Collectives collectives;
  std::vector<LocalReplica> replicas;
  std::vector<ShardedReplica *> shards;
  Span span;
  /// The tables of the program or of the pipeline that it emulates; null: none.
  const OverlapDesc *overlap = nullptr;
  /// The starts of the documents of all micro-batches, for
  /// ControlView::starts, and the place of the first of each micro-batch; empty
  /// if the device reads the host's memory.
  std::vector<int32_t> starts;
  std::vector<int64_t> firstStart;
  /// Memory in which a reference moves weights back.
  std::unique_ptr<Arena> movedWeights;
  int64_t variant = 0;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_RANK_H
