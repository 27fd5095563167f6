//===- program_run.h - Runs a program ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_PROGRAM_RUN_H
#define RONDO_RUNTIME_EXECUTION_PROGRAM_RUN_H

#include "runtime/base/clock.h"
#include "runtime/execution/rank.h"
#include "runtime/execution/team.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rondo::runtime {

/// A rank's wait.
struct RankWait {
  Waiting::For what = Waiting::For::Nothing;
  /// The rank that has not come yet; -1: it waits for nobody.
  int32_t onRank = -1;
  /// `1I0`, `all_reduce 0`.
  std::string name;
};

/// A rank's current action or wait.
struct RankStatus {
  /// Never decreases.
  uint64_t progress = 0;
  /// The rank it waits for; -1: none; `ended`: none, since it has nothing to
  /// do.
  int32_t waitsFor = -1;
  static constexpr int32_t ended = -2;
  /// `rank 0 waits for 1I0 of rank 1`.
  std::string text;
};
/// Starts at the first rank that waits, and ends at a rank already listed or
/// one that does not wait.
std::string describeChain(const std::vector<RankStatus> &ranks);

/// The ranks of one program that this process holds, and their transport.
class ProgramRun {
public:
  /// The connections, the program and its BatchSizes, if it has any, must
  /// outlive it. Several may exist at the same time; their iterations take
  /// turns.
  ProgramRun(Connections &connections, const ProgramDesc &program);

  const ProgramDesc &program() const { return desc; }
  /// Must be held by this process.
  RunningRank &rank(int32_t r) { return *ranks[r]; }
  /// The ranks that this process holds.
  const std::vector<int32_t> &heldRanks() const { return held; }

  /// Runs one iteration, or a span of them, on the team's threads. Meanwhile
  /// calls `look` about every 100 ms, on the thread of the caller. Throws Error
  /// if a rank fails, with the rank's own exit code, or with Exit::RunFailure
  /// if there is no progress; this object and the connections are unusable
  /// afterwards.
  void iterate(Team &team, const Span &span = {},
               const std::function<void()> &look = {});

  /// The wait of a rank of this process.
  RankWait waitOf(int32_t rank) const;
  /// `rank 0 waits for 1I0 of rank 1 -> rank 1 runs 1F0`.
  std::string describeWaits() const;

  /// Address of the data of a stage's micro-batch; null if it has none.
  char *data(int32_t replica, int64_t microbatch) const;

private:
  class Watchdog;
  RankStatus statusOf(int32_t rank) const;
  /// Grows while the rank's thread or its device does something.
  uint64_t progressOf(int32_t rank) const {
    return ranks[rank]->actionsBegun() + state.device(rank).progress() +
           ranks[rank]->copiesToHost().progress();
  }
  uint64_t heldProgress() const;
  std::vector<RankStatus> allStatuses() const;

  State &state;
  const ProgramDesc &desc;
  const ProgramOptions options;
  Transport &transport;
  const Wiring &wiring;
  /// Null if another process holds the rank.
  std::vector<std::unique_ptr<RunningRank>> ranks;
  std::vector<int32_t> held;
  /// Distinguishes the memory of runs that overlap from all others.
  int64_t memoryNumber = 0;
};

/// The first program of a kind. Throws Error if there is none.
const ProgramDesc &findProgram(const Executable &executable, ProgramKind kind);
/// The first program of a kind with the same number and size of micro-batches
/// as `like`; if Sequential, the one that computes the same bits. Throws like
/// the above.
const ProgramDesc &findProgram(const Executable &executable, ProgramKind kind,
                               const ProgramDesc &like);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_PROGRAM_RUN_H
