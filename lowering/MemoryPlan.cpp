//===- MemoryPlan.cpp - A compile-time slot for every buffer --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/MemoryPlan.h"

#include "lowering/BufferLives.h"
#include "lowering/CopySlots.h"
#include "lowering/RaggedPlacement.h"
#include "lowering/SlotTables.h"
#include "schedule/order/EqualMicrobatches.h"

#include <algorithm>
#include <functional>

using namespace rondo;

namespace {

int64_t aligned(int64_t bytes) {
  return (bytes + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
}

class Planner {
public:
  Planner(const MemoryRequest &request, Program &program,
          const ForEach &forEach)
      : problem(request.executing), replicas(request.replicas),
        buffers(request.buffers), byMicrobatch(request.byMicrobatch),
        kept(request.kept), program(program), forEach(forEach),
        numbers(problem), arenas(request.numRanks, program) {}

  /// `simulation`: see `withoutPlaces` of planMemory().
  std::optional<Fault> run(ProgramSimulation &simulation);

private:
  int64_t bytesOf(int32_t replica, BufferKind kind) const {
    return aligned(buffers[replica][static_cast<int>(kind)]);
  }
  int32_t slotsOf(int32_t replica, SlotPer what) const {
    return what == SlotPer::Microbatch
               ? static_cast<int32_t>(
                     replicas[replica].numTaken(problem.microbatchesEach()))
           : what == SlotPer::Version && !kept.weightSlots.empty()
               ? kept.weightSlots[replica]
               : 1;
  }
  bool isRagged() const { return byMicrobatch && !byMicrobatch->empty(); }
  int64_t bytesOf(const Life &life) const {
    return aligned(rondo::bytesOf(problem, numbers[life.buffer],
                                  (*byMicrobatch)[life.index]));
  }
  Result<std::vector<NeededPool>> assignWhole(std::vector<Life> lives,
                                              int32_t rank);
  std::optional<Fault> placeState();
  PoolUse useOf(BufferKind kind) const;
  Result<std::vector<NeededPool>>
  assignWithCopies(std::vector<Life> lives, const LaneWaits &waits,
                   const ProgramSimulation &simulation, int32_t rank);
  void measure();
  std::optional<Fault> placeTransient(const ProgramSimulation &simulation);

  const Problem &problem;
  /// The ranks that hold state.
  const Replicas &replicas;
  const std::vector<ReplicaBuffers> &buffers;
  /// Null or empty: micro-batches have equal buffers.
  const std::vector<std::vector<ReplicaBuffers>> *byMicrobatch;
  const KeptBytes &kept;
  Program &program;
  const ForEach &forEach;
  const BufferNumbers numbers;
  Arenas arenas;
  /// Indexed by buffer.
  std::vector<SlotSize> sizes;
};

std::optional<Fault> Planner::placeState() {
  for (int32_t h = 0; h < replicas.size(); ++h)
    for (const BufferTraits &traits : bufferTable) {
      if (!traits.isState() || traits.owner != Owner::Stage)
        continue;
      const BufferKind kind = traits.kind;
      int64_t bytes = bytesOf(h, kind);
      if (bytes == 0)
        continue;
      int32_t slots = slotsOf(h, traits.slotPer);
      if (slots > maxSlots)
        return tooManySlots(replicas[h].rank, slots, bytes);
      Place &place = program.place(h, kind);
      const int64_t begin = arenas.end(replicas[h].rank);
      place.pool = arenas.addPool(replicas[h].rank, bytes, slots);
      if (kind == BufferKind::Data && !kept.data.empty())
        arenas.extend(replicas[h].rank, begin + kept.data[h]);
      const bool isByMicrobatch = traits.slotPer == SlotPer::Microbatch;
      // Data are written before each task that reads them, so an iteration may
      // reuse the slots of the previous one.
      place.slotOf.resize(isByMicrobatch ? problem.microbatchesEach() : slots);
      for (int32_t i = 0; i < static_cast<int32_t>(place.slotOf.size()); ++i)
        place.slotOf[i] =
            isByMicrobatch ? std::min(i / replicas[h].turns, slots - 1) : i;
    }
  program.staging.assign(kept.staging.size(), -1);
  for (int32_t rank = 0; rank < static_cast<int32_t>(kept.staging.size());
       ++rank)
    if (kept.staging[rank] > 0)
      program.staging[rank] =
          arenas.addPool(rank, aligned(kept.staging[rank]), 1);
  for (int32_t rank = 0; rank < arenas.count(); ++rank) {
    auto workspaceOf = [&](int32_t replica) {
      return replicas[replica].rank == rank
                 ? bytesOf(replica, BufferKind::Workspace)
                 : 0;
    };
    int64_t bytes = 0;
    for (int32_t h = 0; h < replicas.size(); ++h)
      bytes = std::max(bytes, workspaceOf(h));
    if (bytes == 0)
      continue;
    const int32_t pool = arenas.addPool(rank, bytes, 1);
    for (int32_t h = 0; h < replicas.size(); ++h)
      if (workspaceOf(h) != 0)
        program.place(h, BufferKind::Workspace) = {pool, {0}, {}};
  }
  return std::nullopt;
}

/// Without copies, what could be copied is as any other activation.
PoolUse Planner::useOf(BufferKind kind) const {
  if (traitsOf(kind).slotPer == SlotPer::Unit)
    return PoolUse::Moved;
  if (kind == BufferKind::OnHost)
    return PoolUse::OnHost;
  return program.order.hasCopies() && (isOffloaded(kind) || isLoaded(kind))
             ? PoolUse::Copied
             : PoolUse::Any;
}

void Planner::measure() {
  for (int32_t number = 0; number < numbers.count(); ++number) {
    const BufferNumbers::Buffer &buffer = numbers[number];
    sizes.push_back({replicas[buffer.replica].rank,
                     aligned(rondo::bytesOf(problem, buffer, buffers)),
                     useOf(buffer.kind)});
  }
}

/// Assigns slots to the lives of a rank, none of whose buffers are copied.
Result<std::vector<NeededPool>> Planner::assignWhole(std::vector<Life> lives,
                                                     int32_t rank) {
  if (!isRagged())
    return assignSlots(std::move(lives), sizes, program.order.rank(rank).size(),
                       problem.microbatches, program);
  return assignRagged(
      lives, sizes, [&](const Life &life) { return bytesOf(life); },
      problem.microbatches, program);
}

/// Assigns slots to the lives of a rank, some of whose buffers are copied.
Result<std::vector<NeededPool>>
Planner::assignWithCopies(std::vector<Life> lives, const LaneWaits &waits,
                          const ProgramSimulation &simulation, int32_t rank) {
  const auto copied =
      std::stable_partition(lives.begin(), lives.end(), [&](const Life &life) {
        return sizes[life.buffer].use != PoolUse::Copied &&
               sizes[life.buffer].use != PoolUse::OnHost;
      });
  const std::vector<Life> ofCopies(copied, lives.end());
  lives.erase(copied, lives.end());
  auto needed = assignWhole(std::move(lives), rank);
  if (!needed)
    return needed;
  std::function<int64_t(const Life &)> ragged;
  if (isRagged())
    ragged = [&](const Life &life) { return bytesOf(life); };
  auto others = assignCopySlots(ofCopies, sizes, problem, waits, simulation,
                                rank, program, ragged);
  if (!others)
    return others;
  needed->insert(needed->end(), others->begin(), others->end());
  return needed;
}

/// Assigns slots to all buffers except state.
std::optional<Fault>
Planner::placeTransient(const ProgramSimulation &simulation) {
  const auto numRanks = static_cast<size_t>(program.order.numRanks());
  std::vector<Result<std::vector<NeededPool>>> needed(numRanks);
  const BufferLives lives(problem, replicas, program, simulation, numbers,
                          sizes);
  const LaneWaits waits = laneWaitsOf(problem, program);
  forEach(numRanks, [&](size_t r) {
    const auto rank = static_cast<int32_t>(r);
    const ActionRange actions = program.order.rank(rank);
    if (problem.iterations > 1) {
      needed[r] = assignRings(lives.of(rank), sizes, actions.size(), program);
      return;
    }
    if (program.order.hasCopies()) {
      needed[r] = assignWithCopies(lives.of(rank), waits, simulation, rank);
      return;
    }
    if (isRagged()) {
      needed[r] = assignWhole(lives.of(rank), rank);
      return;
    }
    const ActionRange first =
        firstOfEqualMicrobatches(actions, problem.microbatches);
    needed[r] = first.empty()
                    ? assignSlots(lives.of(rank), sizes, actions.size(),
                                  problem.microbatches, program)
                    : assignSlots(lives.ofFirstMicrobatch(rank, first), sizes,
                                  first.size(), /*microbatches=*/1, program);
  });
  for (const auto &ofRank : needed) {
    if (!ofRank)
      return ofRank.fault();
    for (const NeededPool &pool : *ofRank) {
      const int32_t number =
          pool.size.use == PoolUse::OnHost
              ? arenas.addHostPool(pool.size.rank, pool.size.bytes, pool.slots)
              : arenas.addPool(pool.size.rank, pool.size.bytes, pool.slots);
      for (int32_t buffer : pool.buffers)
        program.places[buffer].pool = number;
    }
  }
  return std::nullopt;
}

std::optional<Fault> Planner::run(ProgramSimulation &simulation) {
  for (int32_t h = 0; h < problem.numReplicas(); ++h)
    for (int k = 0; k < numBufferKinds; ++k)
      if (buffers[h][k] < 0 || buffers[h][k] > maxArenaBytes)
        return makeFault<FaultKind::BufferSize>(problem.replicas[h].stage,
                                                bufferTable[k].keyword)
            .withFigures(buffers[h][k], maxArenaBytes);
  program.pools.clear();
  program.places.clear();
  if (!simulation.complete)
    simulation = simulateWithoutPlaces(problem, program);
  program.places.assign(numbers.count(), Place());
  if (std::optional<Fault> wrong = placeState())
    return wrong;
  measure();
  if (std::optional<Fault> wrong = placeTransient(simulation))
    return wrong;
  if (arenas.overfullRank() >= 0)
    return makeFault<FaultKind::ArenaTooLarge>()
        .withRank(arenas.overfullRank())
        .withFigures(0, maxArenaBytes);
  for (int32_t e = 0; e < static_cast<int32_t>(problem.edges.size()); ++e) {
    const Edge &edge = problem.edges[e];
    // A consumer on the producer's rank reads the producer's buffer.
    if (problem.rankOf(edge.from) == problem.rankOf(edge.to) &&
        problem.isWhole(edge))
      program.places[numbers.received(e)] = program.places[numbers.sent(e)];
  }
  forEach(program.places.size(), [&](size_t number) {
    std::vector<int32_t> &slots = program.places[number].slotOf;
    fillGaps(slots);
    if (program.places[number].spans.empty())
      shortenToPeriod(slots);
  });
  program.arenaBytes = arenas.ends();
  program.hostArenaBytes.clear();
  if (program.order.hasCopies())
    program.hostArenaBytes = arenas.hostEnds();
  return std::nullopt;
}

} // namespace

/// planMemory() needs times only to decide when the buffer of a send or of a
/// copy is free.
/// Without places no action waits for a slot, so every send ends as early as it
/// can.
ProgramSimulation rondo::simulateWithoutPlaces(const Problem &executing,
                                               const Program &program) {
  const ActionRange actions = program.order.all();
  const bool needsTimes =
      program.order.hasCopies() ||
      std::any_of(actions.begin(), actions.end(), [](Action action) {
        return action.kind() == ActionKind::Send;
      });
  return needsTimes ? simulateProgram(executing, program, /*resident=*/0)
                    : ProgramSimulation();
}

/// Lowers each cap by `times` the bytes by which the arena exceeds its device.
/// Returns whether any arena does.
static bool lowerCaps(const std::vector<int64_t> &arenaBytes,
                      const std::vector<int64_t> &devices, int64_t times,
                      Problem &problem) {
  bool exceeds = false;
  for (size_t rank = 0; rank < arenaBytes.size(); ++rank) {
    if (devices[rank] == noMemoryCap || arenaBytes[rank] <= devices[rank])
      continue;
    exceeds = true;
    int64_t &cap = problem.memoryCaps[rank];
    cap = std::max<int64_t>(0, std::min(cap, devices[rank]) -
                                   times * (arenaBytes[rank] - devices[rank]));
  }
  return exceeds;
}

std::optional<Fault> rondo::planMemory(const MemoryRequest &request,
                                       Program &program, const ForEach &forEach,
                                       ProgramSimulation *withoutPlaces) {
  ProgramSimulation own;
  std::optional<Fault> fault = Planner(request, program, forEach)
                                   .run(withoutPlaces ? *withoutPlaces : own);
  if (fault || !request.devices || !program.order.hasCopies())
    return fault;
  // Waits that places add make up for those of the caps.
  constexpr int tries = 10;
  Problem lower = request.executing;
  Program again = program;
  MemoryRequest with = {
      lower,           request.replicas, request.numRanks,
      request.buffers, request.kept,     request.byMicrobatch};
  for (int i = 0; i < tries; ++i) {
    if (!lowerCaps(again.arenaBytes, *request.devices, int64_t(1) << i,
                   lower)) {
      program = std::move(again);
      return std::nullopt;
    }
    ProgramSimulation times;
    if (Planner(with, again, forEach).run(times))
      return std::nullopt;
  }
  return std::nullopt;
}
