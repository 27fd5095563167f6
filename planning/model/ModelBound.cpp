//===- ModelBound.cpp - A lower bound of plans of a model -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/model/ModelBound.h"

#include "planning/model/MemoryBound.h"

#include <algorithm>

using namespace rondo;

/// The time of an iteration in which all ranks work without a pause.
static double workOfAllNs(const ModelSpace &space, int64_t samples) {
  return space.leastWorkNs(samples) * double(space.samples / samples) /
         space.slowestDevices;
}

/// A lower bound for micro-batches of this size, between a lower bound and the
/// time of a known plan.
static int64_t memoryBoundNs(const ModelSpace &space,
                             const ModelPlannerOptions &options,
                             int64_t samples, int64_t leastNs,
                             int64_t knownNs) {
  const Result<ChainProblem> chain =
      space.chain(samples, {std::vector<bool>(space.layers)});
  const std::vector<LeastTimes> times = space.leastTimes(samples);
  const MemoryBound bound({*chain, times, space.mayRecompute,
                           options.recompute != RecomputeChoice::All,
                           options.recompute != RecomputeChoice::None,
                           options.mayOffload
                               ? space.hostNsPerByte
                               : std::numeric_limits<double>::infinity()});
  if (!bound.mayTake(double(knownNs)))
    return knownNs;
  return static_cast<int64_t>(bound.find(double(leastNs), double(knownNs), [&] {
    return options.interrupt && *options.interrupt;
  }));
}

ModelBound rondo::boundOf(const ModelSpace &space,
                          const ModelPlannerOptions &options,
                          std::optional<int64_t> knownNs) {
  // Sizes of micro-batches with their bounds, the lowest first: others need
  // only a bound that is not lower.
  std::vector<std::pair<int64_t, int64_t>> sizes;
  for (int64_t samples : microbatchSizes(space, options))
    if (space.chain(samples, {std::vector<bool>(space.layers)}))
      sizes.emplace_back(static_cast<int64_t>(workOfAllNs(space, samples)),
                         samples);
  ModelBound bound;
  if (sizes.empty())
    return bound;
  std::sort(sizes.begin(), sizes.end());
  bound.ns = sizes.front().first;
  if (!knownNs)
    return bound;
  int64_t least = *knownNs;
  for (const auto &[workNs, samples] : sizes)
    if (workNs < least)
      least = memoryBoundNs(space, options, samples, workNs, least);
  // Half a percent is too little to speak of.
  bound.countsRecomputation = least - bound.ns > bound.ns / 200;
  if (bound.countsRecomputation)
    bound.ns = least;
  return bound;
}
