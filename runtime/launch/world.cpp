//===- world.cpp - The processes of a run and what they are doing ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/world.h"

#include "runtime/base/clock.h"
#include "runtime/launch/store.h"

using namespace rondo::runtime;

/// Indexed by Phase.
static const char *const names[] = {
    "join",           "data",   "connect", "meet",   "iterate",
    "take transfers", "switch", "save",    "gather", "leave"};

const char *rondo::runtime::nameOf(Phase phase) {
  return names[static_cast<size_t>(phase)];
}

std::optional<Phase> rondo::runtime::phaseNamed(const std::string &name) {
  for (size_t p = 0; p < sizeof names / sizeof *names; ++p)
    if (name == names[p])
      return static_cast<Phase>(p);
  return std::nullopt;
}

void rondo::runtime::enter(const World &world, Phase phase) {
  if (world.store)
    world.store->enter(phase);
}

std::string rondo::runtime::ranksText(const std::vector<int32_t> &ranks) {
  constexpr size_t most = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size() && i < most; ++i)
    text += (i ? ", " : "") + std::to_string(ranks[i]);
  if (ranks.size() > most)
    text += " and " + std::to_string(ranks.size() - most) + " more";
  return text;
}

void DiskPhase::progress() {
  ++steps;
  if (world.isAlone())
    return;
  constexpr int64_t everyNs = 20'000'000;
  const int64_t now = nowNs();
  if (now - lastNs < everyNs)
    return;
  lastNs = now;
  world.store->check();
  // In the form of a RankStatus.
  world.store->report(std::to_string(steps) + " -1 rank " +
                      std::to_string(world.process) + " " + what);
}
