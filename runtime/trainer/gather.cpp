//===- gather.cpp - Moves state between processes -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/gather.h"

#include "runtime/base/error.h"
#include "runtime/launch/store.h"

#include <cstring>

using namespace rondo::runtime;

std::string rondo::runtime::keyOf(const State &state, int32_t replica,
                                  const std::string &name) {
  const int32_t stage = state.executable().replicas[replica].stage;
  return state.ownerOf(stage) == replica
             ? name
             : name + " of replica " + std::to_string(replica);
}

bool rondo::runtime::takesPart(const State &state, int32_t replica) {
  return state.world().isFirst() || state.holds(replica);
}

static std::string takeExactly(const State &state, const std::string &key,
                               int64_t bytes) {
  std::string data = state.world().store->take(key);
  if (static_cast<int64_t>(data.size()) != bytes)
    throw Error("'" + key + "' came with " + std::to_string(data.size()) +
                    " bytes instead of " + std::to_string(bytes),
                Exit::RunFailure);
  return data;
}

void rondo::runtime::gather(const State &state, int32_t replica,
                            const std::string &key, const void *device,
                            void *host, int64_t bytes) {
  enter(state.world(), Phase::Gather);
  if (state.holds(replica)) {
    state.read(replica, host, device, bytes);
    if (!state.world().isFirst())
      state.world().store->give(key,
                                std::string(static_cast<const char *>(host),
                                            static_cast<size_t>(bytes)));
  } else if (state.world().isFirst()) {
    std::string data = takeExactly(state, key, bytes);
    std::memcpy(host, data.data(), data.size());
  }
}

void rondo::runtime::scatter(State &state, int32_t replica,
                             const std::string &key, void *device,
                             const void *host, int64_t bytes) {
  if (!state.holds(replica)) {
    if (state.world().isFirst())
      state.world().store->give(key,
                                std::string(static_cast<const char *>(host),
                                            static_cast<size_t>(bytes)));
  } else if (state.world().isFirst()) {
    state.write(replica, device, host, bytes);
  } else {
    std::string data = takeExactly(state, key, bytes);
    state.write(replica, device, data.data(), bytes);
  }
}
