//===- weight_history.h - Earlier versions of weights, for references -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_WEIGHT_HISTORY_H
#define RONDO_RUNTIME_EXECUTION_WEIGHT_HISTORY_H

#include "runtime/execution/state.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace rondo::runtime {

/// The weights that the replicas have had in a run, and the means of their
/// changes, in memory beside the arenas: what a pipeline keeps in slots does
/// not decide what its reference reads.
class WeightHistory {
public:
  /// Begins a run of a pipeline with these tables: version 0 are the weights
  /// that all replicas have now. This process holds all.
  WeightHistory(const State &state, const OverlapDesc &overlap);

  /// Keeps what a replica's step has made, and drops versions that no later
  /// iteration reads.
  void add(int32_t replica);
  /// Of version 0 and later ones. Throws Error if it is not there.
  char *weights(int32_t replica, int64_t version);
  const char *changes(int32_t replica, int64_t version);

  /// The norm of all gradients of the run's next iteration.
  void addNorm(double norm) { norms.push_back(norm); }
  double norm(int64_t iteration) const { return norms.at(iteration); }

private:
  struct Version {
    /// Aligned like the arena's buffers.
    std::vector<char> weights, changes;
    char *alignedWeights();
  };
  struct Replica {
    std::deque<Version> versions;
    /// The number of the first that is kept, and how many are.
    int64_t first = 0, most = 1;
  };
  Version copyOf(int32_t replica) const;
  Version &find(int32_t replica, int64_t version);

  const State &state;
  std::vector<Replica> replicas;
  std::vector<double> norms;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_WEIGHT_HISTORY_H
