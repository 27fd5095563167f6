//===- VersionPolicy.h - Which weights a stage's tasks read -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A policy decides, with the order, which version of the weights a task reads;
// the clock of a run never does. Step t of a stage makes version t + 1; the
// first is 0. docs/asynchronous.md has the policies of the published systems.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_MODEL_VERSIONPOLICY_H
#define RONDO_SCHEDULE_MODEL_VERSIONPOLICY_H

#include <cstdint>
#include <limits>

namespace rondo {

/// What F reads.
enum class ForwardWeights : uint8_t {
  /// The newest of its stage, by the rank's order.
  Live,
  /// What stage 0 had when the micro-batch entered: one version for all F of a
  /// micro-batch.
  Vertical,
  /// What stage 0 had when the mini-batch entered: one version for all F of a
  /// mini-batch.
  Minibatch,
  /// As live, and kept for the backward.
  Stashed,
};
inline constexpr int numForwardWeights = 4;

/// What I and B read.
enum class BackwardWeights : uint8_t {
  /// The version that F of the micro-batch has read.
  Stashed,
  /// The newest whose step had ended on all stages when the backward of the
  /// mini-batch began, in simulated time; one version for all stages.
  Committed,
  /// The newest of its stage, by the rank's order.
  Live,
  /// As live, moved back by the running mean of its changes.
  Extrapolated,
};
inline constexpr int numBackwardWeights = 4;

/// Which activations I, W and B use.
enum class BackwardActivations : uint8_t {
  /// Those of F; where the stage recomputes, R reads the weights of F.
  Graph,
  /// Made again with the weights of the backward.
  Recompute,
  /// Those of F, with the weights of F: only with stashed weights.
  Stashed,
  /// Made again with the newest weights of the stage in front of R, by the
  /// rank's order.
  Live,
  /// As live, moved back by the running mean of their changes: only where the
  /// backward's are.
  Extrapolated,
};
inline constexpr int numBackwardActivations = 5;

/// Whether R makes other activations than F, so that there must be one.
constexpr bool areMadeAnew(BackwardActivations activations) {
  return activations != BackwardActivations::Graph &&
         activations != BackwardActivations::Stashed;
}

inline constexpr int64_t anyDelay = std::numeric_limits<int64_t>::max();

struct VersionPolicy {
  ForwardWeights forward = ForwardWeights::Live;
  BackwardWeights backward = BackwardWeights::Live;
  BackwardActivations activations = BackwardActivations::Graph;
  /// The most steps between the version that a task reads and the one that the
  /// step of its mini-batch changes.
  int64_t maxDelay = anyDelay;

  friend bool operator==(const VersionPolicy &a, const VersionPolicy &b) {
    return a.forward == b.forward && a.backward == b.backward &&
           a.activations == b.activations && a.maxDelay == b.maxDelay;
  }
};

/// No task reads an old version.
inline constexpr VersionPolicy synchronousPolicy = {
    ForwardWeights::Live, BackwardWeights::Live, BackwardActivations::Graph, 0};

/// By value of the enum: the words of files and messages.
inline constexpr const char *forwardWeightWords[] = {"live", "vertical",
                                                     "minibatch", "stashed"};
inline constexpr const char *backwardWeightWords[] = {"stashed", "committed",
                                                      "live", "extrapolated"};
inline constexpr const char *backwardActivationWords[] = {
    "graph", "recompute", "stashed", "live", "extrapolated"};
constexpr const char *wordOf(ForwardWeights weights) {
  return forwardWeightWords[static_cast<int>(weights)];
}
constexpr const char *wordOf(BackwardWeights weights) {
  return backwardWeightWords[static_cast<int>(weights)];
}
constexpr const char *wordOf(BackwardActivations activations) {
  return backwardActivationWords[static_cast<int>(activations)];
}

/// A policy that a published system has.
struct NamedPolicy {
  const char *name;
  const char *summary;
  VersionPolicy policy;
};

inline constexpr NamedPolicy namedPolicies[] = {
    {"synchronous", "no task reads an old version", synchronousPolicy},
    {"pipedream",
     "the newest forwards, their version kept for the backward",
     {ForwardWeights::Stashed, BackwardWeights::Stashed,
      BackwardActivations::Graph, anyDelay}},
    {"2bw",
     "one version for a mini-batch, kept for its backward",
     {ForwardWeights::Minibatch, BackwardWeights::Stashed,
      BackwardActivations::Graph, anyDelay}},
    {"pipemare",
     "the newest forwards, the newest moved back for the backward",
     {ForwardWeights::Live, BackwardWeights::Extrapolated,
      BackwardActivations::Graph, anyDelay}},
    {"timeprest",
     "one version for a micro-batch's forwards, the newest that all stages "
     "have for the backward",
     {ForwardWeights::Vertical, BackwardWeights::Committed,
      BackwardActivations::Graph, anyDelay}},
};

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_VERSIONPOLICY_H
