//===- BoundProgram.h - Whether a plan within a time may exist --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_BOUNDPROGRAM_H
#define RONDO_PLANNING_CHAIN_BOUNDPROGRAM_H

#include "planning/chain/ChainProblem.h"
#include "planning/chain/GroupSizes.h"

#include <algorithm>
#include <functional>

namespace rondo {

/// Path latencies of one micro-batch, in ns: `roundTrip` through stages and
/// back, `forward` through them only.
struct PathNs {
  int64_t roundTrip = infinite, forward = infinite;
};

/// Layers [first, end) as a stage of a plan. Its number of devices is a range
/// of GroupSizes; the stages before it have at least `used` devices.
struct BoundStage {
  int32_t first, end;
  int32_t range, used;
};

/// A dynamic program over layers, devices used and devices of the last stage,
/// which finds out whether a plan within a time may exist. For each stage and
/// boundary it keeps the least path latencies of all plans of the layers before
/// it. `Rules` provides the conditions of a bound:
///
///   // The path with a stage after `before`; nothing if no plan with this
///   // stage takes at most `ns`.
///   std::optional<PathNs> afterStage(const BoundStage &, const PathNs &before,
///                                    int64_t ns) const;
///   // The same with the message at the boundary before a layer, between
///   // groups of two ranges of sizes.
///   std::optional<PathNs> afterMessage(int32_t layer, int32_t from,
///                                      int32_t to, const PathNs &before,
///                                      int64_t ns) const;
///   // Whether no plan with this stage, or with a longer one from the same
///   // layer, takes at most `ns`.
///   bool isTooLong(const BoundStage &, const PathNs &before,
///                  int64_t ns) const;
class BoundProgram {
public:
  BoundProgram(int32_t layers, int32_t devices, const GroupSizes &sizes)
      : sizes(sizes), L(layers), G(devices), K(sizes.count()),
        step(std::max(1, G / 256)), paths(at(L, G, K)) {}

  /// Whether a plan that takes at most `ns` may exist; also true once `isOver`.
  /// O(layers^2 * devices^3) at worst.
  template <typename Rules>
  bool mayTake(const Rules &rules, int64_t ns,
               const std::function<bool()> &isOver);
  /// A lower bound, by bisection from the lower bound `leastNs` to `knownNs`,
  /// the time of a known plan, to 1/1,024 of the bound; about 12 calls of
  /// mayTake(). Tries `nearNs` first while it is between the limits. `isOver`
  /// may end the bisection early, with a weaker bound.
  template <typename Rules>
  int64_t find(const Rules &rules, int64_t leastNs, int64_t nearNs,
               int64_t knownNs, const std::function<bool()> &isOver);

private:
  size_t at(int32_t layers, int32_t used, int32_t range) const {
    return (static_cast<size_t>(layers) * (G / step + 1) + used / step) * K +
           range;
  }
  template <typename Rules>
  void add(const Rules &rules, const BoundStage &stage, const PathNs &before,
           int64_t ns);
  template <typename Rules>
  void extend(const Rules &rules, int32_t layers, int32_t used, int32_t range,
              int64_t ns);

  const GroupSizes &sizes;
  /// Devices in use are counted in steps, rounded down.
  const int32_t L, G, K, step;
  /// [layers][devices used][range of the last stage's devices]: the least path
  /// latencies of plans of the first layers.
  std::vector<PathNs> paths;
};

/// Extends a path by a stage, if a plan with both may take at most `ns`.
template <typename Rules>
void BoundProgram::add(const Rules &rules, const BoundStage &stage,
                       const PathNs &before, int64_t ns) {
  const std::optional<PathNs> path = rules.afterStage(stage, before, ns);
  if (!path)
    return;
  PathNs &best =
      paths[at(stage.end, stage.used + sizes.least(stage.range), stage.range)];
  best = {std::min(best.roundTrip, path->roundTrip),
          std::min(best.forward, path->forward)};
}

/// Adds all stages that may follow a path.
template <typename Rules>
void BoundProgram::extend(const Rules &rules, int32_t layers, int32_t used,
                          int32_t range, int64_t ns) {
  const PathNs path = paths[at(layers, used, range)];
  if (path.roundTrip == infinite)
    return;
  for (int32_t k = 0; k < K && used + sizes.least(k) <= G; ++k) {
    const std::optional<PathNs> before =
        rules.afterMessage(layers, range, k, path, ns);
    if (!before)
      continue;
    for (int32_t end = layers + 1; end <= L; ++end) {
      const BoundStage stage = {layers, end, k, used};
      if (rules.isTooLong(stage, *before, ns))
        break;
      add(rules, stage, *before, ns);
    }
  }
}

template <typename Rules>
bool BoundProgram::mayTake(const Rules &rules, int64_t ns,
                           const std::function<bool()> &isOver) {
  std::fill(paths.begin(), paths.end(), PathNs());
  for (int32_t k = 0; k < K; ++k)
    for (int32_t end = 1; end <= L; ++end)
      add(rules, {0, end, k, 0}, {0, 0}, ns);
  for (int32_t layers = 1; layers < L; ++layers)
    for (int32_t used = 0; used <= G; used += step) {
      if (isOver())
        return true;
      for (int32_t k = 0; k < K; ++k)
        extend(rules, layers, used, k, ns);
    }
  for (int32_t used = 0; used <= G; used += step)
    for (int32_t k = 0; k < K; ++k)
      if (paths[at(L, used, k)].roundTrip < infinite)
        return true;
  return false;
}

template <typename Rules>
int64_t BoundProgram::find(const Rules &rules, int64_t leastNs, int64_t nearNs,
                           int64_t knownNs,
                           const std::function<bool()> &isOver) {
  if (leastNs >= knownNs || !mayTake(rules, knownNs - 1, isOver))
    return knownNs;
  // No plan takes less than `leastNs`; some might take `most`.
  int64_t most = knownNs - 1;
  while (most - leastNs > leastNs / 1024 && !isOver()) {
    const int64_t middle = leastNs < nearNs && nearNs < most
                               ? nearNs
                               : leastNs + (most - leastNs) / 2;
    if (mayTake(rules, middle, isOver))
      most = middle;
    else
      leastNs = middle + 1;
  }
  return leastNs;
}

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_BOUNDPROGRAM_H
