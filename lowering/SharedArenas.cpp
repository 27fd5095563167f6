//===- SharedArenas.cpp - One arena for the programs of an executable -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/Lowering.h"
#include "lowering/MemoryPlan.h"

#include <algorithm>

namespace rondo {

/// [replica]: bytes that hold the data of every schedule.
static std::vector<int64_t>
sharedDataBytes(const std::vector<LoweredSchedule> &schedules) {
  std::vector<int64_t> most(schedules.front().plan.buffers.size(), 0);
  for (const LoweredSchedule &each : schedules)
    for (size_t s = 0; s < most.size(); ++s) {
      const int64_t slot =
          each.plan.buffers[s][static_cast<int>(BufferKind::Data)];
      const int64_t bytes =
          (slot + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
      most[s] = std::max(most[s], bytes * each.problem.replicas[s].numTaken(
                                              each.problem.microbatchesEach()));
    }
  return most;
}

namespace {

/// Address of a buffer: the rank of its arena and the offsets of its slots.
using Addresses = std::pair<int32_t, std::vector<int64_t>>;

Addresses addressesOf(const Program &program, int32_t replica,
                      BufferKind kind) {
  Addresses addresses(-1, {});
  const Place &place = program.place(replica, kind);
  if (place.pool < 0)
    return addresses;
  const Pool &pool = program.pools[place.pool];
  addresses.first = pool.rank;
  for (int32_t slot : place.slotOf)
    addresses.second.push_back(pool.offset + slot * pool.slotBytes);
  return addresses;
}

std::string textOf(const Addresses &addresses) {
  if (addresses.first < 0)
    return "nowhere";
  return "at byte " + std::to_string(addresses.second.front()) + " of rank " +
         std::to_string(addresses.first);
}

/// Finds state at another place than in `first`.
std::optional<Fault> findMovedState(const Program &program,
                                    const LoweredProgram &first) {
  for (int32_t replica = 0; replica < first.executing.replicas.size();
       ++replica)
    for (const BufferTraits &traits : bufferTable) {
      // Data are filled in before each run, so their place may differ.
      if (!traits.isState() || traits.owner != Owner::Stage ||
          traits.slotPer == SlotPer::Microbatch)
        continue;
      const Addresses here = addressesOf(program, replica, traits.kind),
                      there = addressesOf(first.program, replica, traits.kind);
      if (here != there)
        return makeFault<FaultKind::MovedState>(
            traits.keyword, first.executing.replicas[replica].stage,
            textOf(here), wordsFor(first.kind), textOf(there));
    }
  return std::nullopt;
}

/// Finds staging at another place than in an earlier program. `offsets[rank]`:
/// the offset found so far, or -1.
std::optional<Fault> findMovedStaging(const Program &program,
                                      std::vector<int64_t> &offsets) {
  for (size_t rank = 0; rank < program.staging.size(); ++rank) {
    if (program.staging[rank] < 0)
      continue;
    const int64_t offset = program.pools[program.staging[rank]].offset;
    if (offsets[rank] >= 0 && offsets[rank] != offset)
      return makeFault<FaultKind::MovedStaging>(rank, offset, offsets[rank]);
    offsets[rank] = offset;
  }
  return std::nullopt;
}

/// [rank]: staging bytes of a program of kind `kind`: 0 if it needs none on the
/// rank, else the largest need of any schedule there.
std::vector<int64_t>
sharedStaging(const std::vector<LoweredSchedule> &schedules,
              const PlanFigures &plan, ProgramKind kind) {
  std::vector<int64_t> bytes = plan.stagingOf(kind);
  for (size_t rank = 0; rank < bytes.size(); ++rank)
    for (const LoweredSchedule &other : schedules)
      if (bytes[rank] > 0 && rank < other.plan.stagingBytes.size())
        bytes[rank] = std::max(bytes[rank], other.plan.stagingBytes[rank]);
  return bytes;
}

} // namespace

std::optional<Fault> findMoved(const Program &program,
                               const LoweredProgram &first) {
  std::vector<int64_t> offsets(program.staging.size(), -1);
  if (std::optional<Fault> moved = findMovedStaging(first.program, offsets))
    return moved;
  if (std::optional<Fault> moved = findMovedStaging(program, offsets))
    return moved;
  return findMovedState(program, first);
}

namespace {

/// [rank]: the end of what lives throughout: state, workspace and staging.
std::vector<int64_t> stateEnds(const Program &program, int32_t numReplicas,
                               size_t numRanks) {
  std::vector<int64_t> ends(numRanks, 0);
  auto count = [&](int32_t number) {
    if (number < 0)
      return;
    const Pool &pool = program.pools[number];
    ends[pool.rank] =
        std::max(ends[pool.rank], pool.offset + pool.slotBytes * pool.slots);
  };
  for (int32_t replica = 0; replica < numReplicas; ++replica)
    for (const BufferTraits &traits : bufferTable)
      if (traits.isState())
        count(program.place(replica, traits.kind).pool);
  for (int32_t pool : program.staging)
    count(pool);
  return ends;
}

/// A program of an executable, and the fault of planning its memory.
struct Planned {
  size_t schedule = 0, program = 0;
  std::optional<Fault> fault;
};

} // namespace

std::optional<MemoryFault> planMemory(std::vector<LoweredSchedule> &schedules,
                                      const ForEach &forEach) {
  const Problem &first = schedules.front().problem;
  // A single schedule needs no shared size; planMemory() reports a size that is
  // too large.
  std::vector<int64_t> dataBytes;
  if (schedules.size() > 1)
    dataBytes = sharedDataBytes(schedules);
  VersionMemory versions;
  for (const LoweredSchedule &each : schedules)
    versions = sharedVersions(versions, each.plan.versions);
  std::vector<std::vector<ReplicaBuffers>> buffers;
  std::vector<Planned> all;
  for (size_t i = 0; i < schedules.size(); ++i) {
    buffers.push_back(schedules[i].plan.buffers);
    for (const LoweredSchedule &other : schedules)
      buffers[i] = withSharedControl(buffers[i], other.plan.buffers);
    buffers[i] = withVersionMemory(buffers[i], versions);
    for (size_t p = 0; p < schedules[i].programs.size(); ++p)
      all.push_back({i, p, std::nullopt});
  }
  fromTheLast(forEach, all.size(), [&](size_t n) {
    Planned &one = all[n];
    const LoweredSchedule &schedule = schedules[one.schedule];
    LoweredProgram &lowered = schedules[one.schedule].programs[one.program];
    if (lowered.program.arenaBytes.empty())
      one.fault = planMemory(
          {lowered.executing,
           first.replicas,
           first.numRanks(),
           buffers[one.schedule],
           {dataBytes, sharedStaging(schedules, schedule.plan, lowered.kind),
            versions.weightSlots},
           &schedule.plan.buffersByMicrobatch,
           &schedule.plan.devices},
          lowered.program, forEach, &lowered.withoutPlaces);
  });
  std::vector<int64_t> arena(first.numRanks(), 0), hostArena;
  for (Planned &one : all) {
    if (one.fault)
      return MemoryFault{one.schedule, one.program, std::move(*one.fault)};
    const std::vector<int64_t> &bytes =
        schedules[one.schedule].programs[one.program].program.arenaBytes;
    if (bytes.size() != arena.size())
      return MemoryFault{
          one.schedule, one.program,
          makeFault<FaultKind::ArenaCount>(bytes.size(), arena.size())};
    const std::vector<int64_t> &room = schedules[one.schedule].plan.roomBytes;
    std::vector<int64_t> ends(arena.size(), 0);
    if (!room.empty())
      ends = stateEnds(schedules[one.schedule].programs[one.program].program,
                       first.numReplicas(), arena.size());
    for (size_t rank = 0; rank < arena.size(); ++rank)
      arena[rank] = std::max({arena[rank], bytes[rank],
                              room.empty() ? 0 : ends[rank] + room[rank]});
    const std::vector<int64_t> &hostBytes =
        schedules[one.schedule].programs[one.program].program.hostArenaBytes;
    hostArena.resize(std::max(hostArena.size(), hostBytes.size()), 0);
    for (size_t rank = 0; rank < hostBytes.size(); ++rank)
      hostArena[rank] = std::max(hostArena[rank], hostBytes[rank]);
  }
  std::vector<int64_t> staging(arena.size(), -1);
  for (size_t i = 0; i < schedules.size(); ++i)
    for (size_t p = 0; p < schedules[i].programs.size(); ++p) {
      Program &program = schedules[i].programs[p].program;
      if (std::optional<Fault> moved = findMovedStaging(program, staging))
        return MemoryFault{i, p, std::move(*moved)};
      if (std::optional<Fault> moved =
              findMovedState(program, schedules.front().programs.front()))
        return MemoryFault{i, p, std::move(*moved)};
      program.arenaBytes = arena;
      program.hostArenaBytes = hostArena;
    }
  return std::nullopt;
}

} // namespace rondo
