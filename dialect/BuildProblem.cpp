//===- BuildProblem.cpp - What a plan asks to be scheduled ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"

#include "kinds/Shares.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

static_assert(int(pipe::Protocol::Eager) == int(rondo::Protocol::Eager) &&
                  int(pipe::Protocol::Rendezvous) ==
                      int(rondo::Protocol::Rendezvous),
              "the dialect's protocols are the core's, in the same order");

static_assert(int(pipe::LoadBefore::InputGrad) ==
                      int(rondo::LoadBefore::InputGrad) &&
                  int(pipe::LoadBefore::WeightGrad) ==
                      int(rondo::LoadBefore::WeightGrad) &&
                  int(pipe::LoadBefore::Recompute) ==
                      int(rondo::LoadBefore::Recompute),
              "the dialect's tasks that need loads are the core's, in the same "
              "order");

static rondo::Link linkOf(LinkAttr link) {
  return {link.getLatencyNs(), link.getBytesPerUs()};
}

std::vector<int64_t> rondo::pipe::deviceBytes(PlanOp plan) {
  std::vector<int64_t> bytes;
  for (DeviceOp device : plan.lookupCluster().getDevices())
    bytes.push_back(device.getMemoryBytes());
  return bytes;
}

bool rondo::pipe::declaresWeights(PlanOp plan) {
  return llvm::any_of(replicaBuffers(plan), [](const ReplicaBuffers &buffers) {
    return buffers[int(BufferKind::Weights)] > 0;
  });
}

std::vector<int64_t> rondo::pipe::stateBytes(PlanOp plan) {
  // More than any device has, and sums stay far below 2^63.
  constexpr int64_t most = int64_t(1) << 60;
  auto aligned = [most](int64_t bytes) {
    bytes = std::clamp<int64_t>(bytes, 0, most);
    return (bytes + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
  };
  const size_t ranks = plan.lookupCluster().getDevices().size();
  std::vector<int64_t> state(ranks), workspace(ranks);
  for (auto [replica, buffers] :
       llvm::zip_equal(plan.getReplicas(), replicaBuffers(plan))) {
    const int32_t rank = replica.rank;
    for (const BufferTraits &traits : bufferTable) {
      if (!traits.isState() || traits.owner != Owner::Stage)
        continue;
      int64_t bytes = aligned(buffers[int(traits.kind)]);
      if (traits.slotPer == SlotPer::Microbatch &&
          llvm::MulOverflow(bytes, replica.numTaken(plan.getMicrobatches()),
                            bytes))
        bytes = most;
      state[rank] = std::min(most, state[rank] + std::min(most, bytes));
    }
    workspace[rank] =
        std::max(workspace[rank], aligned(buffers[int(BufferKind::Workspace)]));
  }
  const std::vector<int64_t> staging = stagingOfRanks(plan);
  for (size_t rank = 0; rank < ranks; ++rank)
    state[rank] += workspace[rank] + aligned(staging[rank]);
  return state;
}

void rondo::pipe::takeState(PlanOp plan, Problem &problem) {
  problem.devices.clear();
  for (auto [cap, device, state] : llvm::zip_equal(
           problem.memoryCaps, deviceBytes(plan), stateBytes(plan))) {
    problem.devices.push_back({device, state});
    cap = device == noMemoryCap ? noMemoryCap
                                : std::max<int64_t>(0, device - state);
  }
  limitToTokens(plan, problem);
}

/// The most replicas of a stage that divide the samples of a micro-batch; 0 if
/// stages have some but not all of their ranks in common, so that no group of
/// ranks can take other stages, or if they state shares.
static int64_t mostReplicasOfGroups(PlanOp plan) {
  int64_t most = 1;
  llvm::DenseMap<int64_t, StageOp> known;
  for (StageOp stage : plan.getStages()) {
    if (!stage.getRoundRobin())
      most = std::max(most, int64_t(stage.getRanks().size()));
    StageOp first;
    for (int64_t rank : stage.getRanks())
      if (StageOp other = known.lookup(rank))
        first = other;
    if (stage.getShares() ||
        (first && !llvm::equal(first.getRanks(), stage.getRanks())))
      return 0;
    for (int64_t rank : stage.getRanks())
      known[rank] = stage;
  }
  return most;
}

std::string rondo::pipe::optionsForOtherPlans(PlanOp plan) {
  if (plan.isUneven())
    return {};
  const int64_t replicas = mostReplicasOfGroups(plan);
  if (replicas == 0)
    return {};
  std::string options;
  if (plan.isChain())
    options += " --placement auto";
  const bool isOfOneSize =
      llvm::any_of(plan.lookupModel().getLayers(), [](LayerOp layer) {
        const CustomAttr custom = layer.getCustomAttr();
        return custom && custom.getSamples().size() < 2;
      });
  // Timed layers have a size of micro-batches that is not known.
  const int64_t samples = plan.getSamplesOfMicrobatch();
  if (!isOfOneSize && (samples == 0 || samples > replicas))
    options += " --microbatches LIST";
  return options;
}

/// The buffer that R begins with.
static Recomputation recomputationOf(StageOp stage,
                                     const std::vector<int32_t> &inputs) {
  if (stage.getAcross())
    return Recomputation::FromStage;
  auto first = cast<FlatSymbolRefAttr>(stage.getLayers()[0]);
  // If checkpoints leave, the stage's input is one of them.
  const bool leaves = stage.getOffloadAttr() &&
                      stage.getBefore() == rondo::pipe::LoadBefore::Recompute;
  return !inputs.empty() && stage.recomputes(first.getAttr()) && !leaves
             ? Recomputation::FromInput
             : Recomputation::FromCheckpoint;
}

/// The costs of a stage are those on the first of its ranks; they take longer,
/// or shorter, on devices that state another speed.
static void slowDown(const std::vector<int64_t> &flopsPerUs, Problem &problem,
                     int32_t stage) {
  const ReplicaRange replicas = problem.replicas.of(stage);
  const int64_t usual = flopsPerUs[replicas.begin()->rank];
  for (const Replica &replica : replicas) {
    const int64_t own = flopsPerUs[replica.rank];
    if (own == usual || own == 0 || usual == 0)
      continue;
    for (const ActionTraits &traits : actionTable.rows)
      if (traits.isTask()) {
        int64_t &ns = problem
                          .cost(problem.replicas.numberOf(stage, replica.index),
                                traits.kind)
                          .ns;
        const long double slower = static_cast<long double>(usual) / own;
        ns = static_cast<int64_t>(
            std::min<long double>(ns * slower + 0.5L, maxSum));
      }
  }
}

/// Reports a fault of a plan's problem: at the stage that it is about, where it
/// is about one.
static InFlightDiagnostic emitProblemFault(const Fault &fault, PlanOp plan) {
  if (fault.kind != FaultKind::MessageToSelf &&
      fault.kind != FaultKind::RoundRobinToSelf)
    return plan.emitError() << describe(fault) << " [P3]";
  SmallVector<StageOp, 0> stages = plan.getStages();
  StageOp stage = stages[std::get<int64_t>(fault.parts[3])],
          other = stages[std::get<int64_t>(fault.parts[0])];
  InFlightDiagnostic error = stage.emitError() << describe(fault) << " [P3]";
  error.attachNote(other.getLoc())
      << "stage @" << other.getSymName() << " is here";
  return error;
}

/// Links between devices and their hosts, and the hosts' memory.
static void addHosts(ClusterOp cluster,
                     const DenseMap<StringAttr, int32_t> &rankOf,
                     HostMemory &hosts) {
  SmallVector<DeviceOp, 0> devices = cluster.getDevices();
  if (llvm::any_of(devices, [](DeviceOp device) {
        return device.getHostMemoryBytes() != noMemoryCap;
      }))
    for (DeviceOp device : devices)
      hosts.caps.push_back(device.getHostMemoryBytes());
  if (llvm::none_of(devices,
                    [](DeviceOp device) { return device.getHostLink(); }))
    return;
  for (DeviceOp device : devices) {
    hosts.links.emplace_back();
    if (HostLinkAttr link = device.getHostLink())
      hosts.links.back() =
          rondo::HostLink{link.getLatencyNs(), link.getBytesPerUs(),
                          link.getDuplex() == Duplex::Half};
  }
  SmallVector<HostLinkOp, 0> shared = cluster.getHostLinks();
  if (!shared.empty())
    hosts.sharedOf.assign(devices.size(), -1);
  for (auto [number, link] : llvm::enumerate(shared)) {
    for (auto name : link.getDevices().getAsRange<FlatSymbolRefAttr>())
      hosts.sharedOf[rankOf.lookup(name.getAttr())] =
          static_cast<int32_t>(number);
    hosts.shared.push_back({link.getFigures().getBytesPerUs(),
                            link.getFigures().getDuplex() == Duplex::Half});
  }
}

/// Devices, links, NICs and channels.
static void addCluster(ClusterOp cluster, Problem &problem) {
  DenseMap<StringAttr, int32_t> rankOf;
  for (auto [rank, device] : llvm::enumerate(cluster.getDevices())) {
    rankOf[device.getSymNameAttr()] = static_cast<int32_t>(rank);
    problem.memoryCaps.push_back(device.getMemoryBytes());
  }
  if (auto link = cluster.getLink())
    problem.link = linkOf(*link);
  for (LinkOp link : cluster.getBody().getOps<LinkOp>())
    problem.links[{rankOf.lookup(link.getFromAttr().getAttr()),
                   rankOf.lookup(link.getToAttr().getAttr())}] =
        linkOf(link.getFigures());
  SmallVector<NicOp, 0> nics = cluster.getNics();
  if (!nics.empty())
    problem.nics.ofRank.assign(problem.memoryCaps.size(), -1);
  for (NicOp nic : nics) {
    for (auto name : nic.getDevices().getAsRange<FlatSymbolRefAttr>())
      problem.nics.ofRank[rankOf.lookup(name.getAttr())] = problem.nics.count();
    problem.nics.bytesPerUs.push_back(nic.getFigures().getBytesPerUs());
    problem.nics.servers.push_back(
        static_cast<int32_t>(nic.getFigures().getServer().value_or(-1)));
  }
  if (auto channels = cluster.getChannels()) {
    problem.channels.protocol =
        static_cast<rondo::Protocol>(channels->getProtocol());
    problem.channels.receiveSlots =
        static_cast<int32_t>(channels->getReceiveSlots());
  }
  addHosts(cluster, rankOf, problem.hostMemory);
}

/// Copies of a stage whose other costs are set. Without `offload_bytes`, all
/// that may leave.
static void addCopies(StageOp stage, int32_t number, int64_t microbatch,
                      Problem &problem) {
  if (!stage.getOffloadAttr())
    return;
  const StageCosts costs = stage.getCosts()->of(microbatch);
  const auto before = static_cast<rondo::LoadBefore>(stage.getBefore());
  int64_t bytes = costs.activationBytes - costs.recomputedBytes;
  if (before == rondo::LoadBefore::WeightGrad)
    bytes -= costs.inputGradFreesBytes;
  else if (before == rondo::LoadBefore::Recompute)
    bytes = costs.checkpointBytes;
  problem.setCopies(number, {costs.offloadBytes.value_or(bytes), before,
                             std::nullopt, std::nullopt});
}

/// Gradients are smaller than outputs by `without[stage]`.
static void shortenGradients(const std::vector<int64_t> &output,
                             const std::vector<int64_t> &without,
                             Problem &problem) {
  for (Edge &edge : problem.edges) {
    if (edge.producer != ActionKind::InputGrad)
      continue;
    const Replica &from = problem.replicas[edge.from],
                  &to = problem.replicas[edge.to];
    const int32_t first = std::max(from.firstSample, to.firstSample),
                  end = std::min(from.firstSample + from.samples,
                                 to.firstSample + to.samples);
    edge.bytes = partBetween(output[to.stage] - without[to.stage], first, end,
                             problem.samples);
  }
}

/// The costs of the stages for a micro-batch, and the messages between them.
static void addStages(PlanOp plan, int64_t microbatch, Problem &problem) {
  std::vector<int64_t> flopsPerUs;
  for (DeviceOp device : plan.lookupCluster().getDevices())
    flopsPerUs.push_back(device.getFlopsPerUs());
  SmallVector<StageOp, 0> stages = plan.getStages();
  std::vector<int64_t> outputBytes, withoutGrad;
  problem.replicas = plan.getReplicas();
  problem.costs.resize(size_t(problem.numReplicas()) * numCostColumns);
  const std::vector<std::vector<int32_t>> inputs = plan.getInputs();
  for (auto [number, stage] : llvm::enumerate(stages)) {
    const StageCosts costs = stage.getCosts()->of(microbatch);
    problem.setStageCost(static_cast<int32_t>(number), costs.forwardNs,
                         costs.inputGradNs, costs.weightGradNs,
                         costs.activationBytes, costs.inputGradFreesBytes);
    problem.keepForWeightGrad(static_cast<int32_t>(number),
                              costs.inputGradKeepsBytes);
    for (int32_t replica = problem.replicas.numberOf(number);
         replica < problem.numReplicas() &&
         problem.replicas[replica].stage == int(number);
         ++replica)
      problem.cost(replica, ActionKind::Step).ns = costs.stepNs;
    if (stage.getRecomputeAttr())
      problem.setRecomputation(
          static_cast<int32_t>(number), recomputationOf(stage, inputs[number]),
          costs.recomputeNs, costs.recomputedBytes, costs.checkpointBytes);
    slowDown(flopsPerUs, problem, static_cast<int32_t>(number));
    addCopies(stage, static_cast<int32_t>(number), microbatch, problem);
    outputBytes.push_back(costs.outputBytes);
    withoutGrad.push_back(costs.outputWithoutGradBytes);
  }
  if (!problem.recomputation.empty())
    problem.recomputation.resize(problem.numReplicas());
  problem.makeGraph(inputs, outputBytes);
  shortenGradients(outputBytes, withoutGrad, problem);
  problem.addRecomputedEdges();
}

/// The same for all micro-batches, which differ.
static void addUnevenStages(PlanOp plan, Problem &problem) {
  const int64_t count = problem.microbatches;
  const Problem empty = problem;
  addStages(plan, /*microbatch=*/0, problem);
  std::vector<Cost> costs(problem.costs.size() * count);
  std::vector<int64_t> bytes(problem.edges.size() * count);
  for (int64_t i = 0; i < count; ++i) {
    Problem one = empty;
    addStages(plan, i, one);
    for (auto [row, cost] : llvm::enumerate(one.costs))
      costs[row * count + i] = cost;
    for (auto [number, edge] : llvm::enumerate(one.edges))
      bytes[number * count + i] = edge.bytes;
  }
  problem.setUneven(std::move(costs), std::move(bytes));
}

/// Gathers and reductions of sharded stages.
static void addShards(PlanOp plan, Problem &problem) {
  for (auto [number, stage] : llvm::enumerate(plan.getStages()))
    if (auto sharded = stage.getSharded();
        sharded && !stage.shardsMomentsAlone()) {
      const std::vector<ReplicaBuffers> buffers = stage.buffersByReplica();
      auto bytes = [&](BufferKind kind) {
        return buffers.empty() ? 0 : buffers.front()[int(kind)];
      };
      // Weights travel as gradients do, in fp32. Copies of them in another
      // dtype only take memory.
      problem.setShards(static_cast<int32_t>(number),
                        static_cast<rondo::ShardedState>(sharded->getState()),
                        bytes(BufferKind::UnreducedGradients),
                        bytes(BufferKind::UnreducedGradients));
      for (int32_t replica = problem.replicas.numberOf(number);
           replica < problem.numReplicas() &&
           problem.replicas[replica].stage == int(number);
           ++replica)
        if (problem.replicas[replica].isSharded())
          problem.cost(replica, ActionKind::Unshard).acquireBytes =
              problem.cost(replica, ActionKind::Reshard).releaseBytes =
                  bytes(BufferKind::GatheredWeights);
    }
}

Result<Problem> rondo::pipe::problemOf(PlanOp plan) {
  Problem problem;
  problem.name = plan.getSymName().str();
  problem.microbatches = static_cast<int32_t>(plan.getMicrobatches());
  if (const int64_t samples = plan.getSamplesOfMicrobatch()) {
    problem.samples =
        static_cast<int32_t>(std::min<int64_t>(samples, maxSamples));
    problem.statesSamples = true;
  }
  addCluster(plan.lookupCluster(), problem);
  if (plan.isUneven())
    addUnevenStages(plan, problem);
  else
    addStages(plan, /*microbatch=*/0, problem);
  addShards(plan, problem);
  if (declaresWeights(plan)) {
    takeState(plan, problem);
    problem.tiedStages = tiedStages(plan);
  } else {
    limitToTokens(plan, problem);
  }
  if (std::optional<Fault> fault = problem.check())
    return std::move(*fault);
  return problem;
}

FailureOr<Problem> rondo::pipe::buildProblem(PlanOp plan) {
  if (!plan.lookupCluster() || !plan.lookupModel())
    return plan.emitError() << "plan @" << plan.getSymName()
                            << " names an unknown model or cluster";
  for (StageOp stage : plan.getStages()) {
    if (stage.getCosts())
      continue;
    InFlightDiagnostic error = stage.emitError()
                               << "the costs of stage @" << stage.getSymName()
                               << " are not known";
    error.attachNote() << "write costs<...>, or let pipe-resolve-stages "
                          "estimate them";
    return error;
  }
  Result<Problem> problem = problemOf(plan);
  if (!problem)
    return emitProblemFault(problem.fault(), plan);
  return std::move(*problem);
}

std::vector<std::vector<ReplicaBuffers>>
rondo::pipe::buffersByMicrobatch(PlanOp plan) {
  std::vector<std::vector<ReplicaBuffers>> result;
  const std::vector<ReplicaBuffers> most = replicaBuffers(plan);
  size_t first = 0;
  for (StageOp stage : plan.getStages()) {
    const std::vector<ReplicaBuffers> own = stage.buffersByMicrobatch();
    const size_t replicas = stage.getRanks().size(),
                 count = own.size() / replicas;
    if (!own.empty())
      result.resize(count, most);
    for (auto [k, buffers] : llvm::enumerate(own))
      result[k % count][first + k / count] = buffers;
    first += replicas;
  }
  return result;
}

std::vector<ReplicaBuffers> rondo::pipe::replicaBuffers(PlanOp plan) {
  std::vector<ReplicaBuffers> result;
  for (StageOp stage : plan.getStages()) {
    std::vector<ReplicaBuffers> own = stage.buffersByReplica();
    own.resize(stage.getRanks().size());
    llvm::append_range(result, own);
  }
  return result;
}
