//===- weights.h - Which weights the tasks of a replica read ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which weights a task reads follows from the tables alone. That the rank's
// order has made and kept them by then is checked.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_EXECUTION_WEIGHTS_H
#define RONDO_RUNTIME_EXECUTION_WEIGHTS_H

#include "runtime/execution/messages.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace rondo::runtime {

/// The weights that the tasks of a replica read.
class WeightSource {
public:
  virtual ~WeightSource();
  /// For a task of a micro-batch of the run; null if the stage has none. Throws
  /// Error if they are not there.
  virtual char *weights(ActionKind kind, int64_t microbatch) = 0;
  /// The mean of the changes of these weights, for tasks that move them back.
  virtual const char *changes(ActionKind kind, int64_t microbatch);
};

/// The newest weights: iterations do not overlap.
class ResidentWeights final : public WeightSource {
public:
  ResidentWeights(const ReplicaBinding &binding, const BufferPlace &place)
      : binding(binding), place(place) {}
  char *weights(ActionKind, int64_t) override {
    return place.at(binding.version);
  }

private:
  const ReplicaBinding &binding;
  const BufferPlace place;
};

/// The weights and the means of their changes that the replicas have had in a
/// run, in memory outside the arenas, on the device of the rank that runs the
/// reference: it reads the versions that the tables name, whatever its pipeline
/// keeps in slots.
class WeightHistory {
public:
  /// Begins a run of a pipeline whose iterations overlap: version 0 are the
  /// weights that all replicas have now. This process holds all. The state must
  /// outlive it.
  WeightHistory(State &state, const ProgramDesc &pipeline);

  /// Keeps what a replica's step has made, in the place of the version that no
  /// later iteration reads.
  void add(int32_t replica);
  /// The weights of version 0 or a later one. Throws Error if they are not
  /// kept.
  char *weights(int32_t replica, int64_t version);
  const char *changes(int32_t replica, int64_t version);

  /// Keeps the sum of squares of all gradients of the run's next iteration.
  void addSum(const double *sum) {
    device.copy(sumOf(numSums++), sum, sizeof *sum);
  }
  /// The sum of an iteration which a step clips by, in the device's memory.
  const double *sum(int64_t iteration) const { return sumOf(iteration); }

private:
  struct Replica {
    /// Places for `most` versions, each the weights and then the changes, both
    /// aligned like the arena's buffers. 0 bytes: there are none.
    std::unique_ptr<Arena> memory;
    int64_t weightBytes = 0, changeBytes = 0;
    int64_t most = 1, newest = 0;
  };
  void begin(int32_t replica);
  /// The memory of a version. Throws Error if it is not kept.
  char *find(int32_t replica, int64_t version) const;
  char *placeOf(const Replica &kept, int64_t version) const {
    return kept.memory->base() +
           version % kept.most * (kept.weightBytes + kept.changeBytes);
  }

  State &state;
  /// Device of the rank that runs the reference.
  Device &device;
  std::vector<Replica> replicas;
  double *sumOf(int64_t iteration) const {
    return reinterpret_cast<double *>(sums->base()) + iteration % mostSums;
  }
  /// Sums of the last `mostSums` iterations.
  std::unique_ptr<Arena> sums;
  const int64_t mostSums;
  int64_t numSums = 0;
};

/// The version that the tables of overlapping iterations name, in a slot of the
/// arena or, for a reference, in a history.
class VersionedWeights final : public WeightSource {
public:
  /// For a run that begins now. `overlap`: of the program, or of the pipeline
  /// that it emulates.
  VersionedWeights(const RankContext &context, int32_t replica,
                   const BufferPlace &place, const OverlapDesc &overlap,
                   const Emulation &emulation);
  char *weights(ActionKind kind, int64_t microbatch) override;
  const char *changes(ActionKind kind, int64_t microbatch) override;

private:
  /// Counted from the run's start.
  int64_t versionOf(ActionKind kind, int64_t microbatch) const;
  int64_t newest() const { return binding.version - firstVersion; }
  [[noreturn]] void fail(ActionKind kind, int64_t microbatch,
                         const std::string &why) const;

  const RankContext context;
  const int32_t replica;
  const ReplicaBinding &binding;
  const BufferPlace place;
  const OverlapDesc &overlap;
  const Emulation emulation;
  /// Version of the state when the run began.
  const int64_t firstVersion;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_WEIGHTS_H
