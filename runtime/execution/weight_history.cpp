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
    : state(state), homes(state.homes().size()) {
  for (size_t h = 0; h < homes.size(); ++h) {
    homes[h].most = mostDelay(overlap, overlap.versions[h]) + 1;
    homes[h].versions.push_back(copyOf(static_cast<int32_t>(h)));
  }
}

WeightHistory::Version WeightHistory::copyOf(int32_t home) const {
  const HomeBinding &binding = state.homes()[home];
  auto bytesOf = [&](Buffer buffer) {
    return binding.share->bytes[static_cast<int>(buffer)];
  };
  Version version;
  if (!binding.weights.empty()) {
    const int64_t bytes = bytesOf(Buffer::Weights);
    version.weights.resize(bytes + bufferAlignment);
    const int64_t slots = static_cast<int64_t>(binding.weights.size());
    state.read(home, version.alignedWeights(),
               binding.weights[binding.version % slots], bytes);
  }
  if (binding.changes) {
    version.changes.resize(bytesOf(Buffer::WeightChanges));
    state.read(home, version.changes.data(), binding.changes,
               static_cast<int64_t>(version.changes.size()));
  }
  return version;
}

void WeightHistory::add(int32_t home) {
  Home &kept = homes[home];
  kept.versions.push_back(copyOf(home));
  while (static_cast<int64_t>(kept.versions.size()) > kept.most) {
    kept.versions.pop_front();
    ++kept.first;
  }
}

WeightHistory::Version &WeightHistory::find(int32_t home, int64_t version) {
  Home &kept = homes[home];
  const int64_t end = kept.first + static_cast<int64_t>(kept.versions.size());
  if (version < kept.first || version >= end)
    throw Error("the reference of stage '" +
                std::string(state.homes()[home].desc->name) +
                "' needs version " + std::to_string(version) +
                " of the run's weights, but keeps " +
                std::to_string(kept.first) + " to " + std::to_string(end - 1));
  return kept.versions[version - kept.first];
}

char *WeightHistory::weights(int32_t home, int64_t version) {
  Version &found = find(home, version);
  return found.weights.empty() ? nullptr : found.alignedWeights();
}

const char *WeightHistory::changes(int32_t home, int64_t version) {
  Version &found = find(home, version);
  return found.changes.empty() ? nullptr : found.changes.data();
}
