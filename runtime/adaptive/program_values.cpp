//===- program_values.cpp - A program as the core knows it ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/adaptive/program_values.h"

#include "runtime/base/error.h"
#include "runtime/execution/actions.h"
#include "runtime/model/saved_parts.h"
#include "schedule/model/BufferNumbers.h"

#include <algorithm>
#include <map>
#include <utility>

using namespace rondo;
using namespace rondo::runtime;

namespace {

/// Writes down what a rank does.
class Recorder final : public Rank {
public:
  Recorder(const Problem &problem, int32_t rank, Schedule &order)
      : problem(problem), rank(rank), order(order) {}

  void forward(int64_t replica, int64_t microbatch) override {
    order.append({ActionKind::Forward, replica, microbatch});
  }
  void inputGrad(int64_t replica, int64_t microbatch) override {
    order.append({ActionKind::InputGrad, replica, microbatch});
  }
  void weightGrad(int64_t replica, int64_t microbatch) override {
    order.append({ActionKind::WeightGrad, replica, microbatch});
  }
  void backward(int64_t replica, int64_t microbatch) override {
    inputGrad(replica, microbatch);
    weightGrad(replica, microbatch);
  }
  void recompute(int64_t replica, int64_t microbatch) override {
    order.append({ActionKind::Recompute, replica, microbatch});
  }
  void save(int64_t replica, int64_t microbatch) override {
    order.append({ActionKind::Save, replica, microbatch});
  }
  void load(int64_t replica, int64_t microbatch) override {
    order.append({ActionKind::Load, replica, microbatch});
  }
  void send(Message message, int64_t replica, int64_t to,
            int64_t microbatch) override {
    order.append({ActionKind::Send,
                  edgeOf(message, replica, to,
                         [this](const Edge &edge) {
                           return problem.rankOf(edge.from) == rank;
                         }),
                  microbatch});
  }
  void receive(Message message, int64_t replica, int64_t to,
               int64_t microbatch) override {
    order.append({ActionKind::Recv,
                  edgeOf(message, replica, to,
                         [this](const Edge &edge) {
                           return problem.rankOf(edge.to) == rank;
                         }),
                  microbatch});
  }
  void allReduce(int64_t collective, int64_t /*step*/) override {
    order.append({ActionKind::AllReduce, collective, 0});
  }
  void await(int64_t collective, int64_t unit) override {
    order.append({ActionKind::Await, collective, unit});
  }
  void unshard(int64_t replica, int64_t unit) override {
    order.append({ActionKind::Unshard, replica, unit});
  }
  void reshard(int64_t replica, int64_t unit) override {
    order.append({ActionKind::Reshard, replica, unit});
  }
  void reduceGrad(int64_t replica, int64_t unit) override {
    order.append({ActionKind::ReduceGrad, replica, unit});
  }
  int64_t repetitions() override { return 1; }
  void step(int64_t replica, int64_t /*step*/) override {
    order.append({ActionKind::Step, replica, 0});
  }

private:
  /// The edge between ranks that a message belongs to.
  template <typename IsHere>
  int64_t edgeOf(Message message, int64_t replica, int64_t to,
                 IsHere isHere) const {
    for (size_t e = 0; e < problem.edges.size(); ++e) {
      const Edge &edge = problem.edges[e];
      if (edge.from == replica && edge.message() == message &&
          (to < 0 || edge.to == to) && isHere(edge) &&
          problem.rankOf(edge.from) != problem.rankOf(edge.to))
        return static_cast<int64_t>(e);
    }
    throw Error("rank " + std::to_string(rank) +
                " names a message that no other rank needs");
  }

  const Problem &problem;
  const int32_t rank;
  Schedule &order;
};

} // namespace

static void addReplicas(const Executable &exe, const ProgramDesc &program,
                        Replicas &replicas) {
  for (int32_t h = 0; h < exe.numReplicas;) {
    std::vector<Share> shares;
    std::vector<int32_t> ranks;
    const int32_t first = h;
    for (; h < exe.numReplicas &&
           exe.replicas[h].stage == exe.replicas[first].stage;
         ++h) {
      ranks.push_back(program.rankOfReplica[h]);
      shares.push_back({ranks.back(), program.shares[h].samples});
    }
    if (program.shares[first].turns > 1)
      replicas.addRoundRobinStage(ranks, program.shares[first].samples);
    else
      replicas.addStage(shares, exe.replicas[first].shards);
  }
}

static void addEdges(const Executable &exe, const ProgramDesc &program,
                     Problem &problem) {
  int32_t stageEdge = -1;
  for (int32_t e = 0; e < exe.numEdges; ++e) {
    const EdgeDesc &desc = program.edges[e];
    const Edge edge{desc.from, desc.to, traitsOf(desc.message).producer,
                    desc.bytes, 0};
    // Parts of an edge between stages follow each other.
    auto stages = [&](const Edge &of) {
      return std::make_tuple(exe.replicas[of.from].stage,
                             exe.replicas[of.to].stage, of.producer);
    };
    if (e == 0 || stages(edge) != stages(problem.edges.back()))
      ++stageEdge;
    problem.edges.push_back(edge);
    problem.edges.back().stageEdge = stageEdge;
  }
}

/// The task that needs what the copies of a stage bring back.
static LoadBefore loadBefore(const ProgramDesc &program,
                             const StageDesc &stage) {
  uint64_t parts = 0;
  for (int32_t l = 0; l < stage.numLayers; ++l)
    parts |= program.layers[stage.firstLayer + l].offloads;
  return parts & checkpointLeaves        ? LoadBefore::Recompute
         : parts & leavesUntilWeightGrad ? LoadBefore::WeightGrad
                                         : LoadBefore::InputGrad;
}

/// The links to the hosts, and the stages that may copy. Nothing if no program
/// of the executable copies. Ranks have no memory caps here, so of the waits
/// between lanes those remain that tasks and slots need.
static void addHosts(const Executable &exe, const ProgramDesc &program,
                     Problem &problem) {
  HostMemory &host = problem.hostMemory;
  if (!exe.hostLinks) {
    problem = problem.withoutCopies();
    return;
  }
  for (int32_t r = 0; r < exe.numRanks; ++r) {
    const HostLinkDesc &desc = exe.hostLinks[r];
    HostLink link{desc.latencyNs, desc.bytesPerUs, false};
    for (int32_t p = 0; p < exe.numPrograms; ++p)
      if (const RankCopiesDesc *copies = exe.programs[p].copies)
        link.isHalf |= copies[r].isHalf;
    host.links.emplace_back(link);
    host.sharedOf.push_back(desc.shared);
    if (desc.shared >= static_cast<int32_t>(host.shared.size()))
      host.shared.resize(desc.shared + 1);
    if (desc.shared >= 0)
      host.shared[desc.shared].isHalf = desc.isSharedHalf;
  }
  host.caps.assign(exe.hostArenaBytes, exe.hostArenaBytes + exe.numRanks);
  host.loads.resize(exe.numReplicas);
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    if (program.shares[h].bytes[static_cast<int>(Buffer::OnHost)] == 0)
      continue;
    host.loads[h] = loadBefore(program, exe.stages[exe.replicas[h].stage]);
    for (ActionKind kind : {ActionKind::Save, ActionKind::Load})
      problem.cost(h, kind).lane = traitsOf(kind).lane;
  }
}

static Problem problemOf(const Executable &exe, const ProgramDesc &program) {
  Problem problem;
  problem.name = program.name;
  problem.microbatches = program.microbatches;
  problem.samples = std::max(1, program.samples);
  problem.memoryCaps.assign(program.numRanks, noMemoryCap);
  addReplicas(exe, program, problem.replicas);
  addEdges(exe, program, problem);
  problem.costs.resize(static_cast<size_t>(exe.numReplicas) * numCostColumns);
  if (program.workNs)
    for (size_t k = 0; k < problem.costs.size(); ++k)
      problem.costs[k].ns = program.workNs[k];
  for (int32_t l = 0; l < exe.numLinks; ++l)
    problem.links[{exe.links[l].from, exe.links[l].to}] = {
        exe.links[l].latencyNs, exe.links[l].bytesPerUs};
  addHosts(exe, program, problem);
  return problem;
}

/// Adds the places of buffers: the simulator needs them to find buffers that
/// wait for sends.
static void addPlaces(const ProgramDesc &desc, Program &program) {
  for (int32_t p = 0; p < desc.numPools; ++p)
    program.pools.push_back({desc.pools[p].rank, desc.pools[p].offset,
                             desc.pools[p].slotBytes, desc.pools[p].slots,
                             desc.pools[p].isOnHost});
  for (int32_t p = 0; p < desc.numPlaces; ++p) {
    const PlaceDesc &place = desc.places[p];
    Place &added = program.places.emplace_back();
    added.pool = place.pool;
    if (place.pool < 0)
      continue;
    const int32_t count = place.numLater > 0
                              ? std::max(desc.microbatches, numListed(place))
                              : place.period;
    for (int32_t i = 0; i < count; ++i)
      added.slotOf.push_back(slotOf(place, i));
    if (place.spans)
      added.spans.assign(place.spans, place.spans + desc.microbatches);
  }
  if (desc.staging)
    program.staging.assign(desc.staging, desc.staging + desc.numRanks);
}

/// Derives from the order which part of a stage's state is sharded: a stage
/// that gathers or reduces more than once an iteration frees weights or
/// gradients between.
static void addSharded(ProgramValues &values) {
  Problem &problem = values.problem;
  if (!problem.replicas.areSharded())
    return;
  problem.sharded.assign(problem.numStages(), ShardedState::None);
  for (int32_t h = 0; h < problem.numReplicas(); ++h) {
    if (!problem.replicas[h].isSharded())
      continue;
    problem.sharded[problem.replicas[h].stage] = ShardedState::Optimizer;
    for (ActionKind kind : {ActionKind::Unshard, ActionKind::ReduceGrad})
      problem.cost(h, kind).lane = traitsOf(kind).lane;
  }
  for (Action action : values.program.order.all()) {
    if (!action.traits().movesState() || action.index == 0)
      continue;
    ShardedState &state =
        problem.sharded[problem.replicas[action.subject].stage];
    state = std::max(state, action.kind() == ActionKind::ReduceGrad
                                ? ShardedState::Gradients
                                : ShardedState::Weights);
  }
}

/// Orders of copies over shared host links; the directions of a link are
/// independent.
static void addCopyOrders(const Executable &executable, const ProgramDesc &desc,
                          Schedule &order) {
  for (int32_t r = 0; desc.copies && r < desc.numRanks; ++r)
    for (int32_t c = 0; c < desc.copies[r].numCopies; ++c)
      if (desc.copies[r].copies[c].turn >= 0)
        order.copyOrders[executable.hostLinks[r].shared];
  for (auto &[link, copies] : order.copyOrders) {
    std::map<std::pair<size_t, int32_t>, Action> sorted;
    for (int32_t r = 0; r < desc.numRanks; ++r)
      for (int32_t c = 0; executable.hostLinks[r].shared == link &&
                          c < desc.copies[r].numCopies;
           ++c) {
        const CopyDesc &copy = desc.copies[r].copies[c];
        sorted[{executable.hostLinks[r].laneOfShared(copy.kind), copy.turn}] =
            Action(copy.kind, copy.replica, copy.microbatch);
      }
    for (const auto &[turn, copy] : sorted)
      copies.push_back(copy);
  }
}

ProgramValues rondo::runtime::valuesOf(const Executable &executable,
                                       const ProgramDesc &desc) {
  ProgramValues values{problemOf(executable, desc), Program()};
  Program &program = values.program;
  program.resident = residentOf(desc);
  for (int32_t c = 0; c < desc.numCollectives; ++c) {
    const CollectiveDesc &collective = desc.collectives[c];
    program.collectives.push_back(
        {collective.kind, collective.tensor,
         std::vector<int32_t>(collective.replicas,
                              collective.replicas + collective.numReplicas),
         collective.ns});
  }
  addPlaces(desc, program);
  for (int32_t r = 0; r < desc.numRanks; ++r) {
    Recorder recorder(values.problem, r, program.order);
    desc.ranks[r].run(recorder, desc.ranks[r].row);
    program.order.endRank();
  }
  addCopyOrders(executable, desc, program.order);
  addSharded(values);
  // R makes what I needs only where a replica recomputes.
  for (int32_t r = 0; r < desc.numRanks; ++r)
    for (Action action : program.order.rank(r))
      if (action.kind() == ActionKind::Recompute) {
        values.problem.recomputation.resize(executable.numReplicas,
                                            Recomputation::None);
        values.problem.recomputation[action.subject] =
            values.problem.hostMemory.mayCopy(
                static_cast<int32_t>(action.subject)) &&
                    values.problem.hostMemory.loads[action.subject] ==
                        LoadBefore::Recompute
                ? Recomputation::FromCheckpoint
                : Recomputation::FromInput;
      }
  for (const Edge &edge : values.problem.edges)
    if (edge.producer == ActionKind::Recompute &&
        !values.problem.recomputation.empty())
      values.problem.recomputation[edge.to] = Recomputation::FromStage;
  return values;
}
