//===- batch_candidates.h - Programs of the next batch ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Process 0 finds ever faster programs for the next batch, and sends each to
// the other processes when it is found. Every process makes them ready to run
// in a thread of its own, while its ranks train. So between two iterations
// process 0 only says which of them comes next.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TRAINER_BATCH_CANDIDATES_H
#define RONDO_RUNTIME_TRAINER_BATCH_CANDIDATES_H

#include "runtime/adaptive/batch_background.h"
#include "runtime/trainer/extras.h"

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

namespace rondo::runtime {

/// Every process has one and makes the same calls.
class BatchCandidates {
public:
  struct Options {
    /// The batch of an iteration; in process 0.
    std::function<PackedBatch(int64_t iteration)> pack;
    /// Called with each candidate on the thread that has made it.
    std::function<void(BatchRun &)> prepare;
    /// As for BackgroundPlanner.
    int64_t effort = 0;
  };
  BatchCandidates(const Executable &executable, const World &world,
                  Options options);
  /// Ends the search.
  ~BatchCandidates();

  /// Begins the batch of an iteration; the one before must have been taken.
  void begin(int64_t iteration);
  /// The best candidate by now. Waits for the first one, in process 0 for
  /// `waitNs`. Throws what packing or planning has thrown.
  std::unique_ptr<BatchRun> take(int64_t &waitNs);

private:
  using List = std::vector<std::unique_ptr<BatchRun>>;

  void receive();
  void receive(int64_t of);
  /// Keeps the current exception for take().
  void fail();
  void add(int64_t of, std::unique_ptr<BatchRun> next);

  const Executable &exe;
  const World &world;
  const Options options;

  // Both sides use these, under `thread.mutex`.
  /// Whose batch is planned, and its candidates.
  int64_t iteration = 0;
  List candidates;
  /// Candidates that were not taken, until the thread destroys them.
  List old;
  bool hasRequest = false;
  std::exception_ptr failure;
  /// Receives candidates; in all processes but the first.
  BackgroundThread thread;
  /// In process 0.
  std::unique_ptr<BackgroundPlanner> planner;
};

/// Gives all processes a batch of process 0.
void shareBatch(const World &world, const Executable &executable,
                const std::string &name, BatchRun &batch);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_BATCH_CANDIDATES_H
