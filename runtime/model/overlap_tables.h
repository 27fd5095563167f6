//===- overlap_tables.h - Programs whose iterations overlap -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_MODEL_OVERLAP_TABLES_H
#define RONDO_RUNTIME_MODEL_OVERLAP_TABLES_H

#include "kinds/Actions.h"

#include <cstdint>
#include <initializer_list>

namespace rondo::runtime {

struct Executable;
struct ProgramDesc;

/// Which weights a replica's tasks read in a program whose iterations overlap.
struct VersionDesc {
  /// One entry per micro-batch, numbered from 0 through all iterations of a
  /// run: the age in optimizer steps, counted from its own iteration, of the
  /// version that F reads, of the one that I, W and B read, and of the one that
  /// R reads. Iteration t of a run reads version t - delay, counted from 0 at
  /// the run's start. See delayOf().
  const int16_t *forward, *backward, *recompute;
  /// The delays in the steady state: the means that corrections for delay use.
  double meanForward, meanBackward, meanRecompute;
  /// The backward's weights are moved back along the running mean of their
  /// changes (Buffer::WeightChanges); and so are those of R.
  bool extrapolates, recomputesExtrapolated;

  /// Delays of tasks of a kind.
  const int16_t *delaysOf(ActionKind kind) const {
    return kind == ActionKind::Forward     ? forward
           : kind == ActionKind::Recompute ? recompute
                                           : backward;
  }
};

/// Overlap of a program's iterations. Its functions order all micro-batches and
/// steps of a run of any length: first the beginning, then the repeating part.
/// A run of n iterations leaves out the actions of iteration n and later ones,
/// and so it ends with nothing under way.
struct OverlapDesc {
  /// Micro-batches whose delays are listed, and how many of the last of them
  /// repeat from there on.
  int32_t numDelays, period;
  /// Iterations that each repetition adds.
  int32_t iterationsEach;
  /// One entry per replica.
  const VersionDesc *versions;
  /// checkOverlap(), which other programs do not link.
  void (*check)(const Executable &, const ProgramDesc &);
};

/// The delay of a micro-batch in a list of an OverlapDesc.
inline int32_t delayOf(const OverlapDesc &overlap, const int16_t *delays,
                       int64_t microbatch) {
  return delays[microbatch < overlap.numDelays
                    ? microbatch
                    : overlap.numDelays - overlap.period +
                          (microbatch - overlap.numDelays) % overlap.period];
}

/// The largest delay of any task.
inline int32_t maxDelay(const OverlapDesc &overlap,
                        const VersionDesc &versions) {
  int32_t most = 0;
  for (int32_t m = 0; m < overlap.numDelays; ++m)
    for (const int16_t *delays :
         {versions.forward, versions.backward, versions.recompute})
      most = delays[m] > most ? delays[m] : most;
  return most;
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_OVERLAP_TABLES_H
