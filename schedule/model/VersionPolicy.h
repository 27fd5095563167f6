//===- VersionPolicy.h - Weight versions of a stage's tasks -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A policy and the order determine which version of the weights a task reads;
// measured times do not. Step t of a stage makes version t + 1; the first
// version is 0. docs/asynchronous.md lists the policies of published systems.
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_MODEL_VERSIONPOLICY_H
#define RONDO_SCHEDULE_MODEL_VERSIONPOLICY_H

#include <cstdint>
#include <limits>

namespace rondo {

/// The version that F reads.
enum class ForwardWeights : uint8_t {
  /// The stage's newest version, by the rank's order.
  Live,
  /// The newest version of stage 0 when the micro-batch entered the pipeline;
  /// the same for all F of a micro-batch.
  Vertical,
  /// The newest version of stage 0 when the mini-batch entered the pipeline;
  /// the same for all F of a mini-batch.
  Minibatch,
  /// As Live, and kept for the backward.
  Stashed,
};
inline constexpr int numForwardWeights = 4;

/// The version that I and B read.
enum class BackwardWeights : uint8_t {
  /// The version that F of the micro-batch read.
  Stashed,
  /// The newest version whose step had ended on all stages when the backward of
  /// the mini-batch began, in simulated time; the same for all stages.
  Committed,
  /// The stage's newest version, by the rank's order.
  Live,
  /// As Live, extrapolated back by the running mean of the weights' changes.
  Extrapolated,
};
inline constexpr int numBackwardWeights = 4;

/// The activations that I, W and B use.
enum class BackwardActivations : uint8_t {
  /// The activations of F; if the stage recomputes, R reads the weights that F
  /// read.
  Graph,
  /// Recomputed with the weights of the backward.
  Recompute,
  /// The activations of F; requires BackwardWeights::Stashed.
  Stashed,
  /// Recomputed with the stage's newest weights before R, by the rank's order.
  Live,
  /// As Live, with weights extrapolated back by the running mean of their
  /// changes. Requires BackwardWeights::Extrapolated.
  Extrapolated,
};
inline constexpr int numBackwardActivations = 5;

/// Whether R makes other activations than F, so that R is required.
constexpr bool areMadeAnew(BackwardActivations activations) {
  return activations != BackwardActivations::Graph &&
         activations != BackwardActivations::Stashed;
}

inline constexpr int64_t anyDelay = std::numeric_limits<int64_t>::max();

struct VersionPolicy {
  ForwardWeights forward = ForwardWeights::Live;
  BackwardWeights backward = BackwardWeights::Live;
  BackwardActivations activations = BackwardActivations::Graph;
  /// Maximum number of steps between the version that a task reads and the
  /// version that the step of its mini-batch changes.
  int64_t maxDelay = anyDelay;

  friend bool operator==(const VersionPolicy &a, const VersionPolicy &b) {
    return a.forward == b.forward && a.backward == b.backward &&
           a.activations == b.activations && a.maxDelay == b.maxDelay;
  }
};

/// No task reads an old version.
inline constexpr VersionPolicy synchronousPolicy = {
    ForwardWeights::Live, BackwardWeights::Live, BackwardActivations::Graph, 0};

/// Keywords in files and messages, indexed by enum value.
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

/// The policy of a published system.
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
