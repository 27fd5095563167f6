//===- rank.h - Runs the actions of one rank of a program -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_RANK_H
#define RONDO_RUNTIME_EXECUTION_RANK_H

#include "runtime/execution/action_ring.h"
#include "runtime/execution/fault.h"
#include "runtime/execution/local_shard.h"
#include "runtime/execution/rank_actions.h"
#include "runtime/execution/span.h"
#include "runtime/execution/state.h"
#include "runtime/execution/trace_event.h"
#include "runtime/optimizer/rule.h"
#include "runtime/transport/transport.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace rondo::runtime {

/// What a rank does, one at a time.
using ActionKind = rondo::ActionKind;
/// `0F3`, `send 0F3`, `recv 1I0`, `all_reduce 0`, `await 0`, `step 2`, `unshard
/// 2, unit 0`.
std::string actionName(ActionKind kind, Message message, int64_t subject,
                       int64_t microbatch);

/// How long a replica's task or step took.
struct WorkTime {
  int32_t replica;
  ActionKind kind;
  int64_t ns;
};

/// Constants of a run that the optimizer and its clipping use.
struct OptimizerConfig {
  UpdateRule rule;
  /// Largest norm of the gradients, of all or of a stage; 0: no limit.
  double maxNorm = 1;
  /// Steps over which the learning rates of stages that read old weights rise
  /// to the common one; 0: they have it from the start. Only where iterations
  /// overlap.
  int64_t delayAnneal = 0;
  /// What changeDecay() looks back by.
  double extrapolationDecay = 0.1353352832366127;
};

/// What a replica has done in a run whose iterations overlap. Its rank's thread
/// writes; others may read what belongs to the first `steps` iterations.
struct ReplicaRecord {
  /// By micro-batch of the run; only where the loss is made.
  std::vector<float> losses;
  /// By iteration: when its step had ended, on the host's clock, and whether it
  /// was skipped, since a gradient was not finite.
  std::vector<int64_t> endNs;
  std::vector<uint8_t> skipped;
  std::atomic<int64_t> steps{0};
};

/// How a program's ranks are connected: the channels and collectives that it
/// needs, as it numbers them.
struct Wiring {
  std::vector<ChannelParams> channels;
  /// A norm that is `delay` iterations late is under way for as many at once,
  /// and has as many entries, one after another.
  std::vector<CollectiveParams> collectives;
  /// By collective of the program, its first entry.
  std::vector<int32_t> firstEntry;
  /// By entry: a number that tells what moves the state of a group from others,
  /// since its parts have no address; -1: it moves none.
  std::vector<int32_t> moves;
  /// By entry: whether it is a norm, of which only the total is needed.
  std::vector<bool> areTotals;
  /// By rank.
  std::vector<StagingParams> staging;
  /// [from * ranks + to]; -1: no messages.
  std::vector<int32_t> channelOf;
};
/// Channels for the messages of all edges between different ranks,
/// and the collectives' parts. Throws Error where a collective names a tensor
/// that its stages do not have.
Wiring wire(const State &state, const ProgramDesc &program);

/// The most micro-batches that may be under way at once on an edge.
int64_t maxAtOnce(const ProgramDesc &program);

/// Executes actions; one thread at a time. Buffer addresses come from tables
/// made at construction, so an action costs its host much less than 1 us.
class RunningRank final : public Rank {
public:
  RunningRank(State &state, const ProgramDesc &program, const Wiring &wiring,
              Transport &transport, int32_t rank,
              const OptimizerConfig &optimizer, ActionRing &ring,
              FaultPoint *fault);

  /// What the next run does. No thread may be running it.
  void begin(const Span &span);
  /// Runs the emitted function once: a run. Returns when every send and all
  /// work on the device have ended.
  void run();

  void forward(int64_t replica, int64_t microbatch) override;
  void inputGrad(int64_t replica, int64_t microbatch) override;
  void weightGrad(int64_t replica, int64_t microbatch) override;
  void recompute(int64_t replica, int64_t microbatch) override;
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

  /// Actions begun so far, and the last one. Any thread.
  uint64_t actionsBegun() const {
    return begun.load(std::memory_order_relaxed);
  }
  std::string currentAction() const;
  /// Whether it has done all of its run. Any thread.
  bool hasEnded() const { return ring.isIdle(); }
  /// Of the program, what one of the view's is.
  int64_t collectiveOf(int64_t entry) const;

  /// Of a run whose iterations overlap, or of its reference. Null where another
  /// rank has the replica.
  const ReplicaRecord *record(int32_t replica) const {
    return records[replica].get();
  }

  /// Filled by iterations while `keepTrace`; the caller clears it.
  std::vector<TraceEvent> trace;
  bool keepTrace = false;
  /// The same while `keepTimes`: how long tasks and steps took without their
  /// waits. Only on devices that run them at once.
  std::vector<WorkTime> workTimes;
  bool keepTimes = false;

private:
  /// Where a buffer lies; base is null where the replica has none.
  struct Place {
    char *base = nullptr;
    int64_t slotBytes = 0;
    PlaceDesc slots;
    /// Of slot 0, into `fences`.
    int32_t firstFence = 0;

    /// Of a micro-batch; of weights, of a version.
    int32_t slot(int64_t number) const { return slotOf(slots, number); }
    char *at(int64_t number) const {
      return base ? base + slot(number) * slotBytes : nullptr;
    }
  };
  /// What the tasks of a layer are called with: fields that stay, and those
  /// that a task writes before each call.
  struct LayerCalls {
    LayerArgs forward{}, inputGrad{}, weightGrad{}, recompute{};
  };
  /// What a replica takes from another stage or makes for it: one tensor, of
  /// which each edge carries a part.
  struct LocalTensor {
    /// The number of the place.
    int32_t number = -1;
    Place place;
    std::vector<int32_t> edges;
  };
  struct LocalReplica {
    const ReplicaBinding *binding = nullptr;
    int32_t stage = 0;
    Place places[numBuffers];
    /// What its tasks take and make, by the stages at the other end, in order.
    std::vector<LocalTensor> inputs, outputGrads, inputGrads;
    /// What R begins with, where that is not what F has taken.
    std::vector<LocalTensor> recomputedInputs;
    double lossScale = 0;
    std::vector<LayerCalls> calls;
    /// What its step works on.
    StageTensors optimized;
    LocalShard shard;
    // The rest is for iterations that overlap.
    /// Which weights its tasks read; null: the newest.
    const VersionDesc *versions = nullptr;
    /// Of the state, when the run began.
    int64_t firstVersion = 0;
    /// Where the weights of a layer are moved back, and how far for I and for
    /// R; null, and 0: these read them where they are.
    char *moved = nullptr;
    float stepsBack = 0, stepsBackAgain = 0;
    /// By tensor: the headers of those that other stages share, and by how much
    /// the slowest of these is late; null, and 0, for the others.
    std::vector<const ControlHeader *> ownHeaders;
    std::vector<double> ownDelays;

    const Place &place(Buffer buffer) const {
      return places[static_cast<int>(buffer)];
    }
  };
  /// Where a replica's tensors for the backward of a micro-batch lie.
  struct Saved {
    Saved(const LocalReplica &replica, int64_t microbatch)
        : kept(replica.place(Buffer::SavedForInputGrad).at(microbatch)),
          keptForWeights(
              replica.place(Buffer::SavedForWeightGrad).at(microbatch)),
          again(replica.place(Buffer::RecomputedForInputGrad).at(microbatch)),
          againForWeights(
              replica.place(Buffer::RecomputedForWeightGrad).at(microbatch)) {}

    char *forInputGrad(const LayerBinding &layer) const {
      char *base = layer.desc->recomputes ? again : kept;
      return base ? base + layer.savedForInputGradOffset : nullptr;
    }
    char *forWeightGrad(const LayerBinding &layer) const {
      char *base = layer.desc->recomputes ? againForWeights : keptForWeights;
      return base ? base + layer.savedForWeightGradOffset : nullptr;
    }

    char *const kept, *const keptForWeights, *const again,
                                                 *const againForWeights;
  };
  /// An edge with an end on this rank.
  struct LocalEdge {
    /// Without a base where that end is on another rank.
    Place sent, received;
    /// Of messages between ranks, else -1.
    int32_t channel = -1;
    /// Whether the consumer copies it from the producer's buffer on this rank.
    bool isCopied = false;
    /// Whether an end takes some micro-batches only.
    bool isRoundRobin = false;
    /// By micro-batch modulo their number, as many as may be posted at once:
    /// the ticket of the posted receive, -1 where none is.
    std::vector<int64_t> tickets;

    int64_t &ticket(int64_t microbatch) {
      return tickets[microbatch % static_cast<int64_t>(tickets.size())];
    }
  };
  /// A send that still reads a slot; the message is for the trace.
  struct Fence {
    int32_t channel = -1;
    Transport::Ticket ticket = 0;
    int32_t edge = -1, microbatch = 0;
  };
  class Action;

  LocalReplica &local(int64_t replica, int64_t microbatch);
  void acquire(const Place &place, int64_t microbatch, Action &action);
  Place placeOf(const State &state, int32_t number);
  void addEdge(int32_t number, const Wiring &wiring);
  void addPart(std::vector<LocalTensor> &tensors, int32_t place, int32_t edge);
  int32_t stageOf(int64_t replica) const { return replicas[replica].stage; }
  /// Whether an edge has a message of a micro-batch: both ends take it.
  bool carries(int32_t edge, int64_t microbatch) const {
    return !edges[edge].isRoundRobin ||
           (takes(program.shares[edgeDescs[edge].from], microbatch) &&
            takes(program.shares[edgeDescs[edge].to], microbatch));
  }
  int32_t edgeOf(Message message, int64_t replica, int64_t to,
                 int64_t microbatch) const;
  MessageName nameOfMessage(int32_t edge, int64_t microbatch) const;
  void awaitMessage(int32_t edge, int64_t microbatch, Action &action);
  void awaitTensors(const std::vector<LocalTensor> &tensors, int64_t microbatch,
                    Action &action);
  void addOutputGrads(const LocalReplica &replica, int64_t microbatch);
  void makeCalls(LocalReplica &replica) const;

  // In rank_overlap.cpp.
  void prepare(int64_t replica);
  void findShared(int64_t replica);
  void checkEnd() const;
  /// Whether what an action names belongs to an iteration behind the run's end.
  bool isLeftOut(int64_t microbatch) const {
    return program.overlap &&
           microbatch >= span.iterations * program.microbatches;
  }
  bool isStepLeftOut(int64_t step) const {
    return program.overlap && step >= span.iterations;
  }
  /// The version that a task reads, counted from the run's start.
  int64_t versionOf(int64_t replica, ActionKind kind, int64_t microbatch) const;
  /// The weights that a task reads.
  char *weightsOf(int64_t replica, ActionKind kind, int64_t microbatch);
  /// Of a replica that moves its weights back: the mean of their changes.
  const char *changesOf(int64_t replica, ActionKind kind, int64_t microbatch);
  /// The weights of a layer, moved back by so many steps.
  char *movedWeightsOf(const LocalReplica &replica, const LayerBinding &layer,
                       const char *weights, const char *changes, float steps);

  // In rank_shards.cpp, for replicas that keep a shard of their state.
  void setUpShard(int32_t replica);
  /// Nothing is gathered, and nothing under way.
  void beginShards();
  void checkShards() const;
  LocalReplica &sharded(ActionKind kind, int64_t replica, int64_t unit);
  char *gatheredWeights(int64_t replica, ActionKind kind,
                        int64_t microbatch) const;
  /// Where W adds; the first one of a unit finds zeros.
  char *unreducedGradients(int64_t replica);
  void beginGradients(int64_t replica);
  void endGradients(int64_t replica);
  void reduceHere(int64_t replica);
  void issue(ActionKind kind, int64_t replica, int32_t collective,
             int64_t unit);
  bool isHere(int64_t collective, int64_t unit) const;
  void finishShard(int32_t collective);
  /// What tasks read in another dtype, of the weights that are gathered.
  void copyGathered(const LocalReplica &replica, int64_t unit);
  [[noreturn]] void failOnShard(int64_t replica, const std::string &what) const;

  // In rank_steps.cpp.
  /// The program whose steps these are.
  const ProgramDesc &stepped() const {
    return span.emulation.pipeline ? *span.emulation.pipeline : program;
  }
  bool clipsByStage() const { return overlap && !computesNorm(stepped()); }
  void prepareStep(LocalReplica &replica, int64_t step);
  /// `parts`: where the replica's part of the norm goes; null: nowhere.
  void clipByStage(LocalReplica &replica, double *parts);
  /// Clips by the norm of an iteration before, where there is one.
  void clipByEarlier(LocalReplica &replica, int64_t step);
  /// Of an iteration of the run. Not a number where it has not begun.
  double normOf(int64_t step) const;
  /// The entry of a collective that a step's runs as.
  int32_t entryOf(int64_t collective, int64_t step) const;
  // They throw Error.
  [[noreturn]] void failOnReplica(int64_t replica, int64_t microbatch) const;
  [[noreturn]] void failOnUnposted(int32_t edge, int64_t microbatch) const;
  [[noreturn]] void failOnMessage(const char *verb, Message message,
                                  int64_t replica, int64_t microbatch,
                                  const char *why) const;
  [[noreturn]] void failOnVersion(int64_t replica, ActionKind kind,
                                  int64_t microbatch,
                                  const std::string &why) const;
  void checkCollective(ActionKind kind, int64_t collective) const;
  /// Whether steps do without it, since they are those of another program.
  bool isUnused(int64_t collective) const;
  void startCollective(int32_t collective, int64_t step);
  void finishCollective(int32_t collective, int64_t step);
  std::vector<ControlHeader *> headers() const;

  State &state;
  const ProgramDesc &program;
  Device &device;
  Transport &transport;
  const int32_t me;
  const OptimizerConfig optimizer;
  void *const stream;
  /// Without a binding where another rank runs it.
  std::vector<LocalReplica> replicas;
  /// [numMessageKinds * replica + message]: edges with such a message of the
  /// replica.
  std::vector<std::vector<int32_t>> edgesFrom;
  /// By edge.
  const EdgeDesc *const edgeDescs;
  std::vector<LocalEdge> edges;
  /// By pool, that of its first slot; -1: not used on this rank.
  std::vector<int32_t> firstFence;
  /// As many a slot as sends may read it at once.
  int32_t fencesPerSlot = 1;
  std::vector<Fence> fences;
  /// Of an entry of a collective, at the last step that it was issued for.
  struct Progress {
    enum : uint8_t { NotIssued, Issued, Awaited } state = NotIssued;
    int64_t step = -1;
  };
  std::vector<Progress> progress;
  const std::vector<int32_t> firstEntry;
  /// Of a norm that is late: by entry the sum, and by iteration the norm.
  std::vector<double> lateSums, lateNorms;

  ActionRing &ring;
  /// For tests; null: none.
  FaultPoint *const fault;
  Span span;
  /// Of the program, or of the pipeline that it emulates; null: neither.
  const OverlapDesc *overlap = nullptr;
  /// By replica.
  std::vector<std::unique_ptr<ReplicaRecord>> records;
  /// The headers of tensors that stages share, by replica and tensor.
  std::vector<std::vector<ControlHeader>> sharedHeaders;
  /// Where a reference moves weights back.
  std::vector<char> movedWeights;

  std::atomic<uint64_t> begun{0};
  /// kind | message | stage or collective | micro-batch.
  std::atomic<uint64_t> current{0};
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_RANK_H
