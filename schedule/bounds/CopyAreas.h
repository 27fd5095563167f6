//===- CopyAreas.h - What copies take off a rank's memory -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A micro-batch that is copied to the host takes less of its rank's memory: its
// bytes times the time from the end of SAVE to the start of LOAD. At most, that
// is the path from the end of F to the task that needs LOAD, less both copies:
// a longer life holds at least as much more. The copies of a rank share its
// lanes and the memory of its host.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_BOUNDS_COPYAREAS_H
#define RONDO_SCHEDULE_BOUNDS_COPYAREAS_H

#include "schedule/partial/Propagation.h"

#include <cstdint>
#include <vector>

namespace rondo {

/// The most bytes that copies of a rank can have taken off the device (or, in
/// reversed time, can still bring back) by a time: `bytes` at `firstNs` +
/// `eachNs` and again after each `eachNs`, and at most `most`.
struct CopySupply {
  int64_t firstNs = never, eachNs = 0, bytes = 0, most = 0;

  /// When it is at least `needed`; `never` if it never is.
  int64_t timeOf(int64_t needed) const {
    return needed <= 0     ? 0
           : needed > most ? never
                           : firstNs + (needed + bytes - 1) / bytes * eachNs;
  }
  /// Counts SAVEs from the start, or LOADs before the end. `propagation` must
  /// have estimated the empty state of withLeastBytes().
  static CopySupply of(const Problem &problem, const FlatProblem &flat,
                       const Propagation &propagation, int32_t rank,
                       ActionKind copy);
};

/// A problem without copies whose bounds hold with copies as well. A stage
/// takes what a micro-batch holds at least at all times, and caps shrink: when
/// F of a micro-batch starts, that one holds all of its bytes.
Problem withLeastBytes(const Problem &problem);

class CopyAreas {
public:
  /// `count` micro-batches of a stage, each of which may be copied: the copy's
  /// bytes and times, the time between F and the task that needs LOAD, the
  /// earliest end of F from the rank's begin, and the time of the latter task.
  struct Copy {
    int64_t bytes, saveNs, loadNs, pathNs, firstNs, lastNs, count;

    double area() const {
      return double(bytes) *
             double(std::max<int64_t>(0, pathNs - saveNs - loadNs));
    }
    double hostArea() const {
      return double(bytes) * double(std::max(pathNs, saveNs + loadNs));
    }
  };

  explicit CopyAreas(const Problem &problem)
      : problem(problem), ranks(problem.numRanks()) {}
  /// Adds the copies of all stages of a flat problem. `roundTrips`: [stage], at
  /// least the path from the end of its F to the start of its I. `heads`:
  /// [stage], the earliest start of its first F.
  void add(const FlatProblem &flat, const std::vector<int64_t> &roundTrips,
           const std::vector<int64_t> &heads, int64_t microbatches);
  /// `limit`: what the stage holds when all of it is there.
  void add(int32_t rank, const Copy &copy, int64_t limit);

  /// The least time from the rank's begin to its end, if it is `least` without
  /// copies and each ns of the cap's bytes counts.
  int64_t leastHorizon(double least, double cap, int32_t rank) const;
  /// Whether the copies of a rank are within what its stages hold, so that the
  /// argument applies.
  bool applies(int32_t rank) const { return ranks[rank].applies; }

  const Problem &problem;

private:
  struct Rank {
    bool applies = true;
    std::vector<Copy> copies;
  };

  double most(int32_t rank, int64_t horizon) const;
  template <typename Cost>
  double within(const Rank &rank, double limit, const Cost &costOf) const;

  std::vector<Rank> ranks;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_COPYAREAS_H
