//===- weights.cpp - Which weights the tasks of a replica read ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/weights.h"

#include "runtime/base/error.h"

#include <cstring>

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

char *WeightHistory::Version::alignedWeights() {
  const auto address = reinterpret_cast<uintptr_t>(weights.data());
  return weights.data() + alignedBytes(static_cast<int64_t>(address)) -
         static_cast<int64_t>(address);
}

WeightHistory::WeightHistory(const State &state, const OverlapDesc &overlap)
    : state(state), replicas(state.replicas().size()) {
  for (size_t h = 0; h < replicas.size(); ++h) {
    replicas[h].most = maxDelay(overlap, overlap.versions[h]) + 1;
    replicas[h].versions.push_back(copyOf(static_cast<int32_t>(h)));
  }
}

WeightHistory::Version WeightHistory::copyOf(int32_t replica) const {
  const ReplicaBinding &binding = state.replicas()[replica];
  auto bytesOf = [&](Buffer buffer) {
    return binding.share->bytes[static_cast<int>(buffer)];
  };
  Version version;
  if (!binding.weights.empty()) {
    const int64_t bytes = bytesOf(Buffer::Weights);
    version.weights.resize(bytes + bufferAlignment);
    const int64_t slots = static_cast<int64_t>(binding.weights.size());
    state.read(replica, version.alignedWeights(),
               binding.weights[binding.version % slots], bytes);
  }
  if (binding.changes) {
    version.changes.resize(bytesOf(Buffer::WeightChanges));
    state.read(replica, version.changes.data(), binding.changes,
               static_cast<int64_t>(version.changes.size()));
  }
  return version;
}

void WeightHistory::add(int32_t replica) {
  Replica &kept = replicas[replica];
  kept.versions.push_back(copyOf(replica));
  while (static_cast<int64_t>(kept.versions.size()) > kept.most) {
    kept.versions.pop_front();
    ++kept.first;
  }
}

WeightHistory::Version &WeightHistory::find(int32_t replica, int64_t version) {
  Replica &kept = replicas[replica];
  const int64_t end = kept.first + static_cast<int64_t>(kept.versions.size());
  if (version < kept.first || version >= end)
    throw Error("the reference of stage '" +
                std::string(state.replicas()[replica].desc->name) +
                "' needs version " + std::to_string(version) +
                " of the run's weights, but keeps " +
                std::to_string(kept.first) + " to " + std::to_string(end - 1));
  return kept.versions[version - kept.first];
}

char *WeightHistory::weights(int32_t replica, int64_t version) {
  Version &found = find(replica, version);
  return found.weights.empty() ? nullptr : found.alignedWeights();
}

const char *WeightHistory::changes(int32_t replica, int64_t version) {
  Version &found = find(replica, version);
  return found.changes.empty() ? nullptr : found.changes.data();
}
