//===- weights.cpp - Which weights the tasks of a replica read ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/weights.h"

#include "runtime/base/error.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::runtime;

WeightSource::~WeightSource() = default;

const char *WeightSource::changes(ActionKind, int64_t) { return nullptr; }

//===----------------------------------------------------------------------===//
// Versions.
//===----------------------------------------------------------------------===//

VersionedWeights::VersionedWeights(const RankContext &context, int32_t replica,
                                   const BufferPlace &place,
                                   const OverlapDesc &overlap,
                                   const Emulation &emulation)
    : context(context), replica(replica),
      binding(context.state.replicas(context.program)[replica]), place(place),
      overlap(overlap), emulation(emulation), firstVersion(binding.version) {}

int64_t VersionedWeights::versionOf(ActionKind kind, int64_t microbatch) const {
  const int64_t microbatches = context.program.microbatches;
  const int64_t number = microbatch + emulation.iteration * microbatches;
  return number / microbatches -
         delayOf(overlap, overlap.versions[replica].delaysOf(kind), number);
}

char *VersionedWeights::weights(ActionKind kind, int64_t microbatch) {
  const int64_t version = versionOf(kind, microbatch);
  if (emulation.history)
    return emulation.history->weights(replica, version);
  const int64_t slots = place.base ? place.slots.period : 1;
  // Without weights there is nothing to read.
  if (place.base && version > newest())
    fail(kind, microbatch,
         "which is not made yet: the newest is " + std::to_string(newest()));
  if (place.base && (version < 0 || newest() - version >= slots))
    fail(kind, microbatch,
         "which is overwritten: the newest is " + std::to_string(newest()) +
             ", and there is room for " + std::to_string(slots));
  return place.at(firstVersion + version);
}

const char *VersionedWeights::changes(ActionKind kind, int64_t microbatch) {
  const int64_t version = versionOf(kind, microbatch);
  if (emulation.history)
    return emulation.history->changes(replica, version);
  if (version != newest())
    fail(kind, microbatch,
         "but the mean of changes is that of version " +
             std::to_string(newest()));
  return binding.changes;
}

void VersionedWeights::fail(ActionKind kind, int64_t microbatch,
                            const std::string &why) const {
  throw Error(
      "stage '" + std::string(binding.desc->name) + "': " +
      actionName(kind, Message::None, context.stageOf(replica), microbatch) +
      " reads version " + std::to_string(versionOf(kind, microbatch)) +
      " of the run's weights, " + why);
}

//===----------------------------------------------------------------------===//
// Histories.
//===----------------------------------------------------------------------===//

WeightHistory::WeightHistory(State &state, const ProgramDesc &pipeline)
    : state(state), device(state.device(0)), replicas(state.replicas().size()),
      mostSums(normDelay(pipeline) + 1) {
  sums = device.makeArena(int64_t(sizeof(double)) * mostSums);
  const OverlapDesc &overlap = *pipeline.overlap;
  for (size_t h = 0; h < replicas.size(); ++h) {
    replicas[h].most = maxDelay(overlap, overlap.versions[h]) + 1;
    begin(static_cast<int32_t>(h));
  }
}

/// The address of the newest weights; null: the stage has none.
static const char *newestWeights(const ReplicaBinding &binding) {
  return binding.weights.empty()
             ? nullptr
             : binding.weights[binding.version % binding.weights.size()];
}

void WeightHistory::begin(int32_t replica) {
  const ReplicaBinding &binding = state.replicas()[replica];
  Replica &kept = replicas[replica];
  auto bytesOf = [&](Buffer buffer) {
    return alignedBytes(binding.share->bytes[static_cast<int>(buffer)]);
  };
  const char *weights = newestWeights(binding);
  kept.weightBytes = weights ? bytesOf(Buffer::Weights) : 0;
  kept.changeBytes = binding.changes ? bytesOf(Buffer::WeightChanges) : 0;
  kept.memory =
      device.makeArena(kept.most * (kept.weightBytes + kept.changeBytes));
  auto copy = [&](const char *from, int64_t bytes, int64_t offset) {
    std::vector<char> values(bytes);
    state.read(replica, values.data(), from, bytes);
    kept.memory->write(kept.memory->base() + offset, values.data(), bytes);
  };
  if (weights)
    copy(weights, kept.weightBytes, 0);
  if (binding.changes)
    copy(binding.changes, kept.changeBytes, kept.weightBytes);
}

void WeightHistory::add(int32_t replica) {
  const ReplicaBinding &binding = state.replicas()[replica];
  Replica &kept = replicas[replica];
  char *place = placeOf(kept, ++kept.newest);
  if (kept.weightBytes > 0)
    device.copy(place, newestWeights(binding), kept.weightBytes);
  if (kept.changeBytes > 0)
    device.copy(place + kept.weightBytes, binding.changes, kept.changeBytes);
}

char *WeightHistory::find(int32_t replica, int64_t version) const {
  const Replica &kept = replicas[replica];
  const int64_t first = std::max<int64_t>(0, kept.newest - kept.most + 1);
  if (version < first || version > kept.newest)
    throw Error("the reference of stage '" +
                std::string(state.replicas()[replica].desc->name) +
                "' needs version " + std::to_string(version) +
                " of the run's weights, but keeps " + std::to_string(first) +
                " to " + std::to_string(kept.newest));
  return placeOf(kept, version);
}

char *WeightHistory::weights(int32_t replica, int64_t version) {
  char *place = find(replica, version);
  return replicas[replica].weightBytes > 0 ? place : nullptr;
}

const char *WeightHistory::changes(int32_t replica, int64_t version) {
  const Replica &kept = replicas[replica];
  const char *place = find(replica, version);
  return kept.changeBytes > 0 ? place + kept.weightBytes : nullptr;
}
