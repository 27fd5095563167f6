//===- MemoryBound.cpp - Recomputation that memory forces -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/model/MemoryBound.h"

#include "planning/model/LinearProgram.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace rondo;

/// Limits on the size of the linear program: of buckets times kinds, and of
/// kinds, beyond which no bound is calculated.
static constexpr size_t maxCells = 2560, maxBuckets = 80, maxKinds = 128;
/// The same before kinds are compared.
static constexpr size_t maxCompared = 4096;
static constexpr int64_t maxPivots = 3000;
/// Buffers are rounded up by less than this in each layer, in the sums of a
/// stage and in those of a single layer.
static constexpr double roundingBytes = 4096;
/// For rounding errors.
static constexpr double margin = 1e-9;

MemoryBound::MemoryBound(const MemoryBoundInput &input)
    : chain(input.chain), mayKeep(input.mayKeep),
      mayRecompute(input.mayRecompute), hostNsPerByte(input.hostNsPerByte) {
  samples = static_cast<int32_t>(std::max<int64_t>(1, chain.samples));
  most = std::min(samples, chain.numDevices());
  int64_t fastest = 100;
  for (int64_t percent : chain.speedPercent)
    // Speeds in percent are rounded.
    fastest = std::max(fastest, percent + 1);
  const double scale = 100 / (double(fastest) * samples);
  const double infinity = std::numeric_limits<double>::infinity();
  ofLayer = {infinity, infinity, infinity};
  heldBytes = stateBytes = infinity;
  double before = 0;
  for (size_t l = 0; l < chain.layers.size(); ++l) {
    const LeastTimes &times = input.times[l];
    if (!input.counts[l]) {
      before += scale * times.forwardNs;
      for (double &after : otherAfter)
        after += scale * (times.forwardNs + times.inputGradNs);
      continue;
    }
    ofLayer.forwardNs = std::min(ofLayer.forwardNs, scale * times.forwardNs);
    ofLayer.inputGradNs =
        std::min(ofLayer.inputGradNs, scale * times.inputGradNs);
    ofLayer.weightGradNs =
        std::min(ofLayer.weightGradNs, scale * times.weightGradNs);
    const ChainLayer &layer = chain.layers[l];
    heldBytes = std::min(
        heldBytes,
        std::max(0., double(layer.stashBytes) - roundingBytes) / samples);
    stateBytes = std::min(
        stateBytes, std::max(0., double(layer.stateBytes) - roundingBytes));
    otherBefore.push_back(before);
    otherAfter.push_back(0);
  }
}

/// A group that can take at most `ns`; nothing if it cannot.
std::optional<MemoryBound::Kind> MemoryBound::kindOf(int32_t devices,
                                                     int32_t kept,
                                                     int32_t recomputed,
                                                     double ns) const {
  const double share = (samples + devices - 1) / devices,
               M = chain.microbatches, layers = kept + recomputed;
  Kind kind{devices, kept, recomputed};
  kind.lateNs =
      ns -
      M * share * (layers * ofLayer.workNs() + recomputed * ofLayer.forwardNs);
  const double scratch = recomputed > 0 ? share * heldBytes : 0,
               left = double(chain.memoryBytes) - layers * stateBytes - scratch;
  if (kind.lateNs < 0 || left < share * heldBytes)
    return {};
  kind.pathsNs = std::numeric_limits<double>::infinity();
  if (heldBytes > 0)
    kind.pathsNs = left * ns / (M * share * heldBytes) -
                   layers * share * ofLayer.inputGradNs;
  if (kind.pathsNs < 0)
    return {};
  return kind;
}

/// All kinds of groups that can take at most `ns`; nothing if there are too
/// many. Of groups with equal shares, those with more devices are left out: the
/// others do the same with fewer.
std::optional<std::vector<MemoryBound::Kind>>
MemoryBound::kindsFor(double ns) const {
  std::vector<Kind> kinds;
  for (int32_t n = 1, last = 0; n <= most; ++n) {
    const int32_t share = (samples + n - 1) / n;
    if (share == last)
      continue;
    last = share;
    for (int32_t layers = 1;; ++layers) {
      const size_t before = kinds.size();
      for (int32_t kept = mayKeep ? layers : 0;
           kept >= (mayRecompute ? 0 : layers); --kept)
        if (std::optional<Kind> kind = kindOf(n, kept, layers - kept, ns))
          kinds.push_back(*kind);
      if (kinds.size() > maxCompared)
        return {};
      if (kinds.size() == before)
        break;
    }
  }
  return kinds;
}

/// The least time that the activations of a layer are on the device before its
/// I, on average over bytes, if it keeps them for `pathNs`.
double MemoryBound::heldNs(double pathNs) const {
  const double onceNs = double(samples / most) * heldBytes * hostNsPerByte;
  if (!std::isfinite(onceNs))
    return pathNs;
  return pathNs < 4 * onceNs ? pathNs - pathNs * pathNs / (8 * onceNs)
                             : 2 * onceNs;
}

/// Removes kinds that another replaces with no more devices.
void MemoryBound::removeWorse(std::vector<Kind> &kinds) {
  auto standsIn = [](const Kind &a, const Kind &b) {
    return a.devices <= b.devices && a.kept >= b.kept &&
           a.recomputed >= b.recomputed && a.pathsNs >= b.pathsNs &&
           a.lateNs >= b.lateNs;
  };
  std::vector<Kind> left;
  for (const Kind &kind : kinds)
    if (std::none_of(left.begin(), left.end(), [&](const Kind &other) {
          return standsIn(other, kind);
        })) {
      left.erase(std::remove_if(
                     left.begin(), left.end(),
                     [&](const Kind &other) { return standsIn(kind, other); }),
                 left.end());
      left.push_back(kind);
    }
  kinds = std::move(left);
}

/// The least sum of samples over `layers` layers, with `devices` devices for
/// them: by fractions of groups. [k]: (devices for each layer, samples).
static double leastSamples(const std::vector<std::pair<double, double>> &sizes,
                           double layers, double devices) {
  double least = std::numeric_limits<double>::infinity();
  if (layers == 0)
    return 0;
  const double each = devices / layers;
  for (const auto &[fewer, more] : sizes) {
    if (fewer > each * (1 + margin))
      continue;
    least = std::min(least, more);
    for (const auto &[other, samples] : sizes)
      if (other > each && samples < more)
        least = std::min(least, more + (samples - more) *
                                           std::max(0., each - fewer) /
                                           (other - fewer));
  }
  return least * layers;
}

std::vector<MemoryBound::Bucket>
MemoryBound::bucketsFor(const std::vector<Kind> &kinds) const {
  // The most layers of a group by its share, and so the devices for a layer.
  std::vector<std::pair<double, double>> sizes;
  double fewest = std::numeric_limits<double>::infinity();
  for (int32_t n = 1; n <= most; ++n) {
    int32_t layers = 0;
    for (const Kind &kind : kinds)
      if ((samples + kind.devices - 1) / kind.devices == (samples + n - 1) / n)
        layers = std::max(layers, kind.kept + kind.recomputed);
    if (layers > 0)
      sizes.emplace_back(double(n) / layers, samples / n);
    if (layers > 0)
      fewest = std::min(fewest, double(n) / layers);
  }
  const size_t count = otherAfter.size(),
               numBuckets =
                   std::clamp<size_t>(maxCells / kinds.size(), 16, maxBuckets),
               size = (count + numBuckets - 1) / numBuckets;
  const double least = samples / most;
  std::vector<Bucket> buckets;
  for (size_t first = 0; first < count; first += size) {
    const size_t end = std::min(count, first + size);
    const double after = double(count - end);
    Bucket &bucket = buckets.emplace_back();
    bucket.layers = double(end - first);
    bucket.pathNs =
        heldNs(least * otherAfter[end - 1] +
               (ofLayer.forwardNs + ofLayer.inputGradNs) *
                   leastSamples(sizes, after,
                                chain.numDevices() - fewest * double(end)));
    bucket.earlyNs =
        least * (otherBefore[first] + double(first) * ofLayer.forwardNs);
  }
  return buckets;
}

/// A lower bound of the devices that groups of these kinds need for all layers,
/// from the prices of a solution of the dual program.
double MemoryBound::leastDevices(const std::vector<Kind> &kinds,
                                 const std::vector<Bucket> &buckets) const {
  LinearProgram program;
  for (const Bucket &bucket : buckets)
    program.add(bucket.layers);
  struct Prices {
    size_t kept, recomputed, path, early;
  };
  std::vector<Prices> all;
  // Paths in units of the longest, so that factors are of one size.
  const double longest = std::max(1., buckets.front().pathNs);
  auto isEarly = [](const Kind &kind, const Bucket &bucket) {
    return bucket.earlyNs <= kind.lateNs;
  };
  auto allowed = [&](const Kind &kind) {
    return std::min(kind.pathsNs, kind.kept * longest) / longest;
  };
  for (const Kind &kind : kinds) {
    const Prices prices = all.emplace_back(
        Prices{program.add(0), program.add(0), program.add(0), program.add(0)});
    program.limit({{prices.kept, kind.kept},
                   {prices.recomputed, kind.recomputed},
                   {prices.path, allowed(kind)},
                   {prices.early, -1}},
                  kind.devices);
    for (size_t b = 0; b < buckets.size(); ++b) {
      const double early = isEarly(kind, buckets[b]) ? 1 : 0;
      if (kind.kept > 0)
        program.limit({{b, 1},
                       {prices.early, early},
                       {prices.kept, -1},
                       {prices.path, -buckets[b].pathNs / longest}},
                      0);
      if (kind.recomputed > 0)
        program.limit({{b, 1}, {prices.early, early}, {prices.recomputed, -1}},
                      0);
    }
  }
  std::vector<double> values =
      program.solve(maxPivots, chain.numDevices() * (1 + 1e-3));
  // Rounding errors: any prices are a proof if no group is worth more than its
  // devices, so a kind's prices are lowered to that, and those of layers to
  // what all kinds allow.
  std::vector<double> layers(buckets.size(),
                             std::numeric_limits<double>::infinity());
  for (size_t t = 0; t < kinds.size(); ++t) {
    const Kind &kind = kinds[t];
    auto price = [&](size_t variable) {
      return std::max(0., values[variable]);
    };
    const double early = price(all[t].early),
                 worth = kind.kept * price(all[t].kept) +
                         kind.recomputed * price(all[t].recomputed) +
                         allowed(kind) * price(all[t].path),
                 scale = std::min(1., (kind.devices + early) / worth);
    for (size_t b = 0; b < buckets.size(); ++b) {
      const double less = isEarly(kind, buckets[b]) ? early : 0;
      if (kind.kept > 0)
        layers[b] =
            std::min(layers[b], scale * (price(all[t].kept) +
                                         price(all[t].path) *
                                             buckets[b].pathNs / longest) -
                                    less);
      if (kind.recomputed > 0)
        layers[b] =
            std::min(layers[b], scale * price(all[t].recomputed) - less);
    }
  }
  double sum = 0;
  for (size_t b = 0; b < buckets.size(); ++b)
    sum += buckets[b].layers * std::max(0., layers[b]);
  return sum;
}

bool MemoryBound::mayTake(double ns) const {
  if (chain.memoryBytes == 0 || otherAfter.empty())
    return true;
  std::optional<std::vector<Kind>> kinds = kindsFor(ns);
  if (!kinds)
    return true;
  const double devices = chain.numDevices() * (1 + margin) + margin;
  // The devices for one layer, in the groups that need the fewest.
  double fewest = std::numeric_limits<double>::infinity();
  for (const Kind &kind : *kinds)
    fewest =
        std::min(fewest, double(kind.devices) / (kind.kept + kind.recomputed));
  if (fewest * double(otherAfter.size()) > devices)
    return false;
  const std::vector<Bucket> buckets = bucketsFor(*kinds);
  // Too few devices for any layers after the first ones.
  if (std::isinf(buckets.front().pathNs))
    return false;
  removeWorse(*kinds);
  return kinds->size() > maxKinds || leastDevices(*kinds, buckets) <= devices;
}

double MemoryBound::find(double leastNs, double knownNs,
                         const std::function<bool()> &isOver) const {
  while (knownNs - leastNs > leastNs / 512 && !isOver()) {
    const double middle = leastNs + (knownNs - leastNs) / 2;
    (mayTake(middle) ? knownNs : leastNs) = middle;
  }
  return leastNs;
}
