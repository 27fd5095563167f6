//===- collectives.h - A rank's collectives ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_COLLECTIVES_H
#define RONDO_RUNTIME_EXECUTION_COLLECTIVES_H

#include "runtime/execution/rank_log.h"

#include <cstdint>
#include <vector>

namespace rondo::runtime {

/// Starts and awaits the collectives of a rank's program, each once a step.
class Collectives {
public:
  Collectives(const RankContext &context, double maxNorm);

  void beginRun(const Span &span);
  void beginIteration();
  /// Throws Error if a collective has been issued and not awaited.
  void checkEnd() const;

  /// Throws Error if the program does not have it.
  void check(ActionKind kind, int64_t collective) const;
  /// Starts a sum of gradients or a norm.
  void issueSum(int64_t collective, int64_t step);
  /// Starts a gather of weights or a sum of gradients of a group, of shards in
  /// `whole`. Throws Error through `fail` if the one before is not awaited.
  template <typename Fail>
  void issueShards(int64_t collective, int64_t unit, float *whole, Fail fail) {
    Progress &last = progress[firstEntry[collective]];
    if (last.state == Progress::Issued)
      fail(last.step);
    last = {Progress::Issued, unit};
    startShards(collective, whole);
  }
  /// Waits for what has been issued for the step; false: it has been awaited.
  bool await(int64_t collective, int64_t step);
  /// The norm of an iteration of the run that is awaited later; NaN before it
  /// is known.
  double lateNorm(int64_t step) const { return lateNorms[step]; }
  /// The program's collective of an entry of its wiring.
  int64_t collectiveOf(int64_t entry) const;

private:
  /// The state of an entry at the last step that it was issued for.
  struct Progress {
    enum State : uint8_t { NotIssued, Issued, Awaited } state = NotIssued;
    int64_t step = -1;
  };

  /// The entry of a collective that a step's runs as.
  int32_t entryOf(int64_t collective, int64_t step) const;
  /// The transport's number.
  int32_t numberOf(int32_t entry) const {
    return context.wiring.collectiveNumbers[entry];
  }
  void start(int64_t collective, int64_t step);
  void startShards(int64_t collective, float *whole);
  void finish(int64_t collective, int64_t step);

  const RankContext context;
  const ProgramDesc &program;
  const double maxNorm;
  Emulation emulation;
  /// The replicas of this rank, and their control headers.
  std::vector<int32_t> replicas;
  std::vector<ControlHeader *> headers;
  const std::vector<int32_t> &firstEntry;
  std::vector<Progress> progress;
  /// Norms that are awaited later: the sum of each entry, and the norm of each
  /// iteration.
  std::vector<double> lateSums, lateNorms;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_COLLECTIVES_H
