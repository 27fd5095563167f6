//===- disk_phase.h - A phase whose length the disk decides -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_DISKPHASE_H
#define RONDO_RUNTIME_TRAINER_DISKPHASE_H

#include "runtime/base/clock.h"
#include "runtime/launch/store.h"
#include "runtime/launch/world.h"

#include <cstdint>
#include <string>
#include <utility>

namespace rondo::runtime {

/// A phase whose duration depends on the disk, such as saving. Processes that
/// are done wait in an exchange with Patience::WhileReported: the time-out
/// counts from the last progress() of the others, not from the begin of the
/// phase.
class DiskPhase {
public:
  /// `what` the process does, after its rank: `writes its checkpoint`.
  DiskPhase(const World &world, std::string what)
      : world(world), what(std::move(what)) {
    progress();
  }

  /// Call it after each part of the work that ends in bounded time. Throws as
  /// Store::check() does.
  void progress() {
    ++steps;
    if (world.isAlone())
      return;
    const int64_t now = nowNs();
    if (now - lastNs < everyNs)
      return;
    lastNs = now;
    world.store->check();
    // As a RankStatus is written.
    world.store->report(std::to_string(steps) + " -1 rank " +
                        std::to_string(world.process) + " " + what);
  }

private:
  static constexpr int64_t everyNs = 20'000'000;

  const World &world;
  const std::string what;
  int64_t steps = 0, lastNs = INT64_MIN / 2;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_DISKPHASE_H
