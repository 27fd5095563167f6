//===- connections.cpp - The connections of an executable's ranks ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/connections.h"

#include "runtime/base/error.h"
#include "runtime/execution/copies.h"

#include <algorithm>
#include <map>

using namespace rondo;
using namespace rondo::runtime;

//===----------------------------------------------------------------------===//
// A program's channels and collectives.
//
// Everything is added in the order of the model's tensors, so that the result
// does not depend on how many ranks there are.
//===----------------------------------------------------------------------===//

int64_t rondo::runtime::maxAtOnce(const ProgramDesc &program) {
  int64_t most = program.microbatches;
  for (int32_t p = 0; program.overlap && p < program.numPlaces; ++p)
    if (program.places[p].pool >= 0)
      most = std::max<int64_t>(most, program.places[p].period);
  return most;
}

/// The replica's copy of a shared tensor, by its own global name or by the one
/// that it is shared under; null where it has none.
static const Tensor *findShared(const State &state, int32_t replica,
                                const std::string &name) {
  const ReplicaBinding &binding = state.replicas()[replica];
  for (int32_t t = binding.firstTensor; t < binding.lastTensor; ++t) {
    const Tensor &tensor = state.tensors()[t];
    if (tensor.name == name || tensor.sharedWith == name)
      return &tensor;
  }
  return nullptr;
}

static PartParams partOf(const State &state, const ProgramDesc &program,
                         const CollectiveDesc &desc, int32_t replica) {
  const ReplicaBinding &binding = state.replicas()[replica];
  PartParams part{program.rankOfReplica[replica], nullptr, 0,
                  allReplicasContribute(desc.kind) || state.isOwner(replica)};
  switch (desc.kind) {
  case CollectiveKind::ReplicaGradients:
    part.data = binding.gradients;
    part.count = binding.optimized.gradientBytes / int64_t(sizeof(float));
    break;
  case CollectiveKind::TiedGradients: {
    const Tensor *tensor = findShared(state, replica, desc.tensor);
    if (!tensor)
      throw Error("stage '" + std::string(binding.desc->name) +
                  "' has no tensor '" + desc.tensor +
                  "' whose gradients could be added");
    const bool isPart = desc.numElements > 0;
    const int64_t first = isPart ? desc.firstElement : 0;
    part.count = isPart ? desc.numElements : tensor->layout.count;
    if (first < tensor->first ||
        part.count > tensor->first + tensor->count - first)
      throw Error("elements " + std::to_string(first) + " to " +
                  std::to_string(first + part.count) + " of tensor '" +
                  desc.tensor + "' shall be added, of which replica " +
                  std::to_string(replica) + " of stage '" + binding.desc->name +
                  "' has " + std::to_string(tensor->first) + " to " +
                  std::to_string(tensor->first + tensor->count));
    if (tensor->gradients)
      part.data = tensor->gradients + (first - tensor->first);
    break;
  }
  case CollectiveKind::GatherWeights:
  case CollectiveKind::ScatterGradients:
    part.count = binding.replica->shards * binding.shard;
    break;
  case CollectiveKind::GatherUpdates:
    part.count = binding.desc->momentShards * binding.momentShard;
    break;
  case CollectiveKind::GradientNorm:
    part.data = binding.control.partials;
    if (part.contributes)
      part.count = binding.optimized.numPartials;
    break;
  }
  return part;
}

/// Memory in which a rank's collectives receive what they add; `needed` has the
/// bytes of each rank. State has checked the pools.
static std::vector<StagingParams>
findStaging(const State &state, const ProgramDesc &program,
            const std::map<int32_t, int64_t> &needed) {
  std::vector<StagingParams> staging(program.numRanks);
  for (int32_t r = 0; program.staging && r < program.numRanks; ++r)
    if (program.staging[r] >= 0) {
      const PoolDesc &pool = program.pools[program.staging[r]];
      staging[r] = {state.holds(pool) ? state.address(pool, 0) : nullptr,
                    pool.slotBytes};
    }
  for (const auto &[rank, bytes] : needed)
    if (staging[rank].bytes < bytes)
      throw Error("program '" + std::string(program.name) + "': rank " +
                  std::to_string(rank) + " plans " +
                  std::to_string(staging[rank].bytes) +
                  " bytes of staging for its collectives, they need " +
                  std::to_string(bytes));
  return staging;
}

Wiring rondo::runtime::wire(const State &state, const ProgramDesc &program) {
  const int32_t ranks = program.numRanks;
  Wiring wiring;
  wiring.channelOf.assign(int64_t(ranks) * ranks, -1);
  auto connect = [&](int32_t from, int32_t to) {
    int32_t &channel = wiring.channelOf[from * ranks + to];
    if (channel < 0) {
      channel = static_cast<int32_t>(wiring.channels.size());
      wiring.channels.push_back({from, to, 0});
    }
    // If iterations overlap, that many are in flight at once; twice that, so
    // that a number is not used again before its buffer is.
    wiring.channels[channel].messages +=
        program.overlap ? 2 * maxAtOnce(program) : program.microbatches;
    wiring.channels[channel].isEndless |= program.overlap != nullptr;
  };
  for (int32_t e = 0; e < state.executable().numEdges; ++e) {
    const EdgeDesc &edge = state.executable().edges[e];
    const int32_t from = program.rankOfReplica[edge.from],
                  to = program.rankOfReplica[edge.to];
    if (from != to)
      connect(from, to);
  }

  // A rank's collectives run one after another and use one place.
  std::map<int32_t, int64_t> needed;
  const SumLimits limits = backendOf(state.executable()).sums;
  for (int32_t c = 0; c < program.numCollectives; ++c) {
    const CollectiveDesc &desc = program.collectives[c];
    CollectiveParams parts;
    for (int32_t i = 0; i < desc.numReplicas; ++i)
      parts.push_back(partOf(state, program, desc, desc.replicas[i]));
    for (const auto &[rank, bytes] : stagingBytes(desc.kind, parts, limits))
      needed[rank] = std::max(needed[rank], bytes);
    wiring.firstEntry.push_back(
        static_cast<int32_t>(wiring.collectives.size()));
    // Each that is under way at once has parts of its own.
    for (int32_t k = 0; k < desc.delay; ++k) {
      for (int32_t i = 0; i < desc.numReplicas; ++i)
        parts[i].data = state.normParts(desc.replicas[i], k);
      wiring.collectives.push_back(parts);
      wiring.moves.push_back(-1);
      wiring.areTotals.push_back(desc.kind == CollectiveKind::GradientNorm);
    }
    if (desc.delay > 0)
      continue;
    wiring.collectives.push_back(std::move(parts));
    wiring.areTotals.push_back(desc.kind == CollectiveKind::GradientNorm);
    wiring.moves.push_back(
        movesState(desc.kind) || readsSteps(desc.kind)
            ? 2 * desc.replicas[0] +
                  (desc.kind != CollectiveKind::ScatterGradients)
            : -1);
  }
  wiring.staging = findStaging(state, program, needed);
  return wiring;
}

//===----------------------------------------------------------------------===//
// The connections of all programs.
//===----------------------------------------------------------------------===//

static bool isSame(const CollectiveParams &a, const CollectiveParams &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const PartParams &x, const PartParams &y) {
                      return x.rank == y.rank && x.data == y.data &&
                             x.count == y.count &&
                             x.contributes == y.contributes;
                    });
}

Connections::Connections(State &state, const ProgramOptions &options)
    : options(options), replica(state), fault(options.fault) {
  const Executable &exe = state.executable();
  const World &world = state.world();
  TransportParams params;
  params.imposeLinks = options.imposeLinks;
  params.checks = options.checksMessages;
  params.edges = edgeNamesOf(exe);
  for (int32_t p = 0; p < exe.numPrograms; ++p) {
    wirings.emplace_back();
    params.ranksOfProgram.push_back(0);
    params.residentOfProgram.emplace_back();
    if (const int32_t *resident = exe.programs[p].resident)
      params.residentOfProgram.back().assign(
          resident, resident + exe.programs[p].numRanks);
    // The reference runs all stages in one process.
    if (world.isAlone() || exe.programs[p].numRanks == world.processes)
      add(exe.programs[p], params);
  }
  rings.resize(params.ranks);
  std::vector<Device *> devices;
  for (int32_t r = 0; r < params.ranks; ++r)
    devices.push_back(world.holds(r) ? &state.device(r) : nullptr);
  allChannels = params.channels;
  all = backendOf(exe).makeTransport(params, devices, options.transport, world);
  if (const CopySupport *copies = exe.extras.copies)
    linksToHost = copies->connectLinks(exe, world, options.imposesHostLinks);
}

void Connections::add(const ProgramDesc &program, TransportParams &params) {
  Wiring &wiring = wirings[program.id];
  wiring = wire(replica, program);
  params.ranksOfProgram[program.id] = program.numRanks;
  params.ranks = std::max(params.ranks, program.numRanks);
  for (const ChannelParams &channel : wiring.channels) {
    auto same = std::find_if(params.channels.begin(), params.channels.end(),
                             [&](const ChannelParams &other) {
                               return other.from == channel.from &&
                                      other.to == channel.to;
                             });
    wiring.channelNumbers.push_back(
        static_cast<int32_t>(same - params.channels.begin()));
    if (same == params.channels.end()) {
      params.channels.push_back(channel);
      continue;
    }
    same->messages = std::max(same->messages, channel.messages);
    same->isEndless |= channel.isEndless;
  }
  params.staging.resize(params.ranks);
  for (int32_t r = 0; r < program.numRanks; ++r) {
    const StagingParams own = wiring.staging[r];
    StagingParams &known = params.staging[r];
    if (own.bytes > 0 && known.bytes > 0 && own.data != known.data)
      throw Error("the staging of rank " + std::to_string(r) +
                  " lies at another place in program '" + program.name +
                  "' than in the programs before it");
    if (own.bytes > known.bytes)
      known = own;
  }
  for (size_t c = 0; c < wiring.collectives.size(); ++c) {
    const CollectiveParams &parts = wiring.collectives[c];
    size_t same = 0;
    while (same < params.collectives.size() &&
           !(allMoves[same] == wiring.moves[c] &&
             isSame(parts, params.collectives[same])))
      ++same;
    wiring.collectiveNumbers.push_back(static_cast<int32_t>(same));
    if (same < params.collectives.size()) {
      // Parts of other processes have no address here, so collectives that
      // other processes distinguish may look equal.
      if (!wiring.areTotals[c])
        params.areTotals[same] = false;
      continue;
    }
    params.collectives.push_back(parts);
    params.areTotals.push_back(wiring.areTotals[c]);
    allMoves.push_back(wiring.moves[c]);
  }
}

const Wiring &Connections::wiringFor(const ProgramDesc &program) const {
  const int32_t processes = replica.world().processes;
  if (!replica.world().isAlone() && program.numRanks != processes)
    throw Error("program '" + std::string(program.name) + "' has " +
                std::to_string(program.numRanks) + " ranks, but there are " +
                std::to_string(processes) + " processes");
  return wirings[program.id];
}
