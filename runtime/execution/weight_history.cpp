//===- weight_history.cpp - Earlier versions of weights, for references ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/weight_history.h"

#include "runtime/base/error.h"

#include <cstring>

using namespace rondo::runtime;

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
