//===- batch_programs.h - Programs for batches of documents -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program with limits (BatchLimitsDesc) runs each batch in an order of its
// own. The order in which gradients are added depends on the batch alone: a
// search of a fixed effort finds it, without a clock, and the rows of the batch
// are then numbered in this order. Further searches keep it, so how long they
// may take changes the time of an iteration, but no bit. So checkpoints store
// no orders.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_ADAPTIVE_BATCH_PROGRAMS_H
#define RONDO_RUNTIME_ADAPTIVE_BATCH_PROGRAMS_H

#include "runtime/adaptive/found_program.h"
#include "runtime/data/documents.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace rondo::runtime {

/// A batch and its program.
struct PlannedBatch {
  /// Its rows in the order in which their gradients are added.
  PackedBatch batch;
  /// [micro-batch]: the number of its row as packed.
  std::vector<int32_t> order;
  std::shared_ptr<const FoundProgram> program;
  /// The search that found the program's schedule.
  enum class Source : uint8_t {
    /// The compiled order and places: no other order has fitted the arenas.
    Compiled,
    /// The search that has found the order of sums.
    Early,
    /// A longer search under this order of sums.
    Searched,
  } source = Source::Compiled;
};
/// `compiled`, `early`, `searched`.
constexpr const char *nameOf(PlannedBatch::Source source) {
  constexpr const char *names[] = {"compiled", "early", "searched"};
  return names[static_cast<int>(source)];
}

/// Makes programs for batches; of one executable, on one thread at a time.
class BatchPlanner {
public:
  virtual ~BatchPlanner() = default;
  /// The order of sums, and the best schedule of a search that always takes the
  /// same effort. Throws Error if the batch exceeds the limits.
  virtual PlannedBatch early(PackedBatch batch) = 0;
  /// A faster program of the same batch and order of sums, by a search of
  /// `effort`, in units of 1,000 tasks; null: it has found none. `interrupt`
  /// ends it.
  virtual std::shared_ptr<const FoundProgram>
  improve(const PlannedBatch &planned, int64_t effort, uint64_t seed,
          const std::atomic<bool> &interrupt) = 0;
  /// The program of another kind for a batch: the sequential reference, or an
  /// evaluation.
  virtual std::shared_ptr<const FoundProgram>
  ofKind(ProgramKind kind, const PackedBatch &batch) = 0;
};

/// In librondo_search.a.
struct BatchSearch {
  std::unique_ptr<BatchPlanner> (*makePlanner)(const Executable &executable);
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_ADAPTIVE_BATCH_PROGRAMS_H
