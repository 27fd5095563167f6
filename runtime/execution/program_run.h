//===- program_run.h - A program that can be run ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_PROGRAM_RUN_H
#define RONDO_RUNTIME_EXECUTION_PROGRAM_RUN_H

#include "runtime/base/clock.h"
#include "runtime/execution/connections.h"
#include "runtime/execution/team.h"

#include <memory>
#include <string>
#include <vector>

namespace rondo::runtime {

/// What a rank does at a moment.
struct RankStatus {
  /// Only grows.
  uint64_t progress = 0;
  /// The rank that it waits for; -1: none.
  int32_t waitsFor = -1;
  /// `rank 0 waits for 1I0 of rank 1`.
  std::string text;
};
/// From the first rank that waits, until a rank that stands there already or
/// one that does not wait.
std::string describeChain(const std::vector<RankStatus> &ranks);

/// The ranks of one program that this process holds, and their transport.
class ProgramRun {
public:
  /// The connections outlive it. Several may live at the same time; their
  /// iterations take turns.
  ProgramRun(Connections &connections, const ProgramDesc &program);

  const ProgramDesc &program() const { return desc; }
  /// Held by this process.
  Rank &rank(int32_t r) { return *ranks[r]; }
  /// The ranks that this process holds.
  const std::vector<int32_t> &heldRanks() const { return held; }

  /// Runs one iteration on the team's threads. Throws Error with
  /// Exit::RunFailure where a rank fails or nothing goes on; this object
  /// and the connections are of no use afterwards.
  void iterate(Team &team);

  /// `rank 0 waits for 1I0 of rank 1 -> rank 1 runs 1F0`.
  std::string describeWaits() const;

  /// Where the data of a stage's micro-batch are staged; null where it has
  /// none.
  char *data(int32_t home, int64_t microbatch) const;

private:
  class Watchdog;
  RankStatus statusOf(int32_t rank) const;
  uint64_t heldProgress() const;
  std::vector<RankStatus> allStatuses() const;

  State &state;
  const ProgramDesc &desc;
  const ProgramOptions options;
  /// A view of the connections.
  std::unique_ptr<Transport> transport;
  /// Null where another process holds the rank.
  std::vector<std::unique_ptr<Rank>> ranks;
  std::vector<int32_t> held;
};

/// The first program of a kind. Throws Error where there is none.
const ProgramDesc &findProgram(const Executable &executable, ProgramKind kind);
/// The first of a kind with the micro-batches of `like`, in number and size: of
/// kind Sequential the one that computes the same bits. Throws as above.
const ProgramDesc &findProgram(const Executable &executable, ProgramKind kind,
                               const ProgramDesc &like);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_PROGRAM_RUN_H
