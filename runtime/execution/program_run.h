//===- program_run.h - A program that can be run ----------------*- C++ -*-===//

#ifndef RONDO_RUNTIME_EXECUTION_PROGRAM_RUN_H
#define RONDO_RUNTIME_EXECUTION_PROGRAM_RUN_H

#include "runtime/base/clock.h"
#include "runtime/execution/rank.h"
#include "runtime/execution/team.h"

#include <memory>
#include <string>
#include <vector>

namespace rondo::runtime {

struct ProgramOptions {
  ImposedLink link;
  OptimizerConfig optimizer;
  /// The run fails where no rank begins an action, and no device ends a
  /// message, for timeoutSeconds.
  TransportOptions transport;
  /// What timeoutSeconds is measured by; null: an AwakeClock.
  std::shared_ptr<Clock> clock;
};

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
  ProgramRun(State &state, const ProgramDesc &program,
             const ProgramOptions &options);

  const ProgramDesc &program() const { return desc; }
  /// Held by this process.
  Rank &rank(int32_t r) { return *ranks[r]; }
  /// The ranks that this process holds.
  const std::vector<int32_t> &heldRanks() const { return held; }

  /// Runs one iteration on the team's threads. Throws Error with
  /// Exit::RunFailure where a rank fails or nothing goes on; this object is of
  /// no use afterwards.
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
