//===- MemoryBound.h - Recomputation that memory forces ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_MODEL_MEMORYBOUND_H
#define RONDO_PLANNING_MODEL_MEMORYBOUND_H

#include "planning/chain/ChainProblem.h"
#include "planning/model/LeastTimes.h"

#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace rondo {

/// The layers that a bound counts, for one size of micro-batches.
struct MemoryBoundInput {
  /// Without recomputation; its `samples` are known.
  const ChainProblem &chain;
  /// [layer]
  const std::vector<LeastTimes> &times;
  /// [layer]: whether the bound counts it. Plans may recompute these layers and
  /// no others.
  const std::vector<bool> &counts;
  bool mayKeep = true, mayRecompute = true;
  /// Time of a byte on its way to the host or back, at least. Infinity:
  /// activations cannot be copied.
  double hostNsPerByte = std::numeric_limits<double>::infinity();
};

/// A lower bound of the time of an iteration that counts the recomputation that
/// memory forces. It holds for all plans whose ranks are in groups that share
/// samples equally, whatever layers a group has, in however many stages, and
/// for all orders of tasks of a synchronous iteration.
///
/// In an iteration of time T with M micro-batches, take a group of n devices
/// that keeps the activations of layers K and recomputes those of layers R. One
/// of its devices has s = ceil(samples / n) of each micro-batch's samples, and
///
///   1. works: M s (F + I + W of K and R, and F of R) <= T - (the path of F to
///      its first layer), since nothing runs there before;
///   2. holds state, the scratch that F of a recomputed layer saves into, and
///      the activations of at least one layer and micro-batch at a time;
///   3. holds the activations of each layer of K and micro-batch for at least
///      the path from the layer through all later ones and back, and its I.
///      Summed over time (Little's law), these bytes are at most T times what
///      state and scratch leave of the memory. So are those of each layer of R
///      for its I alone.
///
/// If activations can be copied to the host, a layer of K may be away in
/// between. Of its h bytes, let o be copied, at u ns for each. They are on the
/// device for at least o u each way, and the others for the path p: in the mean
/// for at least min over o of (2 u o^2 + (h - o) p) / h, which is p - p^2 / (8
/// h u) for p <= 4 h u and 2 h u otherwise. It takes the place of the path in
/// (3), for one sample in each layer.
///
/// A path takes the F and I of the layers on it; W and messages are left out,
/// and each layer has at least floor(samples / n) samples. A linear program
/// covers the layers with groups of these kinds: for each kind (n, |K|, |R|),
/// with x groups, K has at most x |K| layers in all, R at most x |R|, the paths
/// of K sum up to at most x times what (3) allows, and at least x layers are so
/// early that (1) holds. If it takes more devices than there are, no plan takes
/// T. It is solved in its dual, any solution of which is a proof: prices of
/// layers, such that no group is worth more than its devices.
///
/// Path lengths depend on how large groups are, so the paths are those of the
/// largest groups that T, memory and the number of devices allow.
class MemoryBound {
public:
  explicit MemoryBound(const MemoryBoundInput &input);

  /// Whether a plan that takes at most `ns` may exist.
  bool mayTake(double ns) const;
  /// A lower bound, by bisection between the lower bound `leastNs` and
  /// `knownNs` to 1/512 of it. `isOver` may end it early, with a weaker bound.
  double find(double leastNs, double knownNs,
              const std::function<bool()> &isOver) const;

private:
  /// Groups with equal numbers of devices and layers.
  struct Kind {
    int32_t devices = 0, kept = 0, recomputed = 0;
    /// Upper limit of the sum of the paths of a group's kept layers.
    double pathsNs = 0;
    /// Upper limit of the path to the first layer.
    double lateNs = 0;
  };
  /// Consecutive counted layers, with the least path after any of them and the
  /// least path to any of them.
  struct Bucket {
    double layers = 0, pathNs = 0, earlyNs = 0;
  };

  std::optional<Kind> kindOf(int32_t devices, int32_t kept, int32_t recomputed,
                             double ns) const;
  std::optional<std::vector<Kind>> kindsFor(double ns) const;
  double heldNs(double pathNs) const;
  static void removeWorse(std::vector<Kind> &kinds);
  std::vector<Bucket> bucketsFor(const std::vector<Kind> &kinds) const;
  double leastDevices(const std::vector<Kind> &kinds,
                      const std::vector<Bucket> &buckets) const;

  const ChainProblem &chain;
  const bool mayKeep, mayRecompute;
  /// Samples of a micro-batch and the most devices of a group.
  int32_t samples = 1, most = 1;
  /// Least figures of any counted layer, per sample.
  LeastTimes ofLayer;
  double heldBytes = 0, stateBytes = 0;
  double hostNsPerByte;
  /// [counted layer]: the layers before and after it that are not counted, on
  /// the path of a micro-batch with one sample in each.
  std::vector<double> otherBefore, otherAfter;
};

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_MEMORYBOUND_H
