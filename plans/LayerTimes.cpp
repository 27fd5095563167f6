//===- LayerTimes.cpp - Measured times of a layer -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "plans/LayerTimes.h"

#include "plans/Layers.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::pipe;

static int64_t limited(__int128 ns) {
  return static_cast<int64_t>(std::min<__int128>(ns, maxLayerNs));
}

/// See timesFor(); `sizes` has two or more, ascending.
static int64_t timeAt(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> ns,
                      int64_t samples) {
  const auto above = static_cast<size_t>(
      std::lower_bound(sizes.begin() + 1, sizes.end() - 1, samples) -
      sizes.begin());
  const __int128 width = sizes[above] - sizes[above - 1],
                 rise = ns[above] - ns[above - 1];
  const __int128 onLine =
      ns[above - 1] + (samples - sizes[above - 1]) * rise / width;
  if (samples < sizes.front())
    return limited(std::clamp<__int128>(
        onLine, __int128(ns.front()) * samples / sizes.front(), ns.front()));
  if (samples > sizes.back())
    return limited(std::max<__int128>(onLine, ns.back()));
  return limited(onLine);
}

namespace {
/// A size that was measured, and its times.
struct OneSize {
  int64_t samples;
  int64_t ns[3];
};
} // namespace

/// The size and times of costs of one size, which is `usual` if not stated.
static OneSize oneSizeOf(LayerCostsAttr costs, int64_t usual) {
  const auto times = costs.getTimes();
  return {costs.areOfModelSize() ? usual : costs.getSamples().front(),
          {times[0].front(), times[1].front(), times[2].front()}};
}

LayerTimes rondo::pipe::timesFor(LayerCostsAttr costs, int64_t samples,
                                 int64_t usual) {
  LayerTimes times;
  if (costs.getSamples().size() > 1) {
    const auto ofSizes = costs.getTimes();
    for (int k = 0; k < 3; ++k)
      times.ns[k] = timeAt(costs.getSamples(), ofSizes[k], samples);
    return times;
  }
  const OneSize own = oneSizeOf(costs, usual);
  for (int k = 0; k < 3; ++k)
    times.ns[k] = samples == own.samples
                      ? own.ns[k]
                      : limited(__int128(own.ns[k]) * samples / own.samples);
  return times;
}

LayerTimes rondo::pipe::timesInShares(LayerCostsAttr costs, int64_t samples,
                                      int64_t share, int64_t usual) {
  if (costs.getSamples().size() < 2 || share == samples)
    return timesFor(costs, samples, usual);
  LayerTimes times = timesFor(costs, share, usual);
  for (int64_t &ns : times.ns)
    ns = limited((__int128(ns) * samples + share - 1) / share);
  return times;
}

CostSource rondo::pipe::sourceOf(LayerCostsAttr costs, int64_t samples,
                                 int64_t usual) {
  using Kind = CostSource::Kind;
  const llvm::ArrayRef<int64_t> sizes = costs.getSamples();
  if (sizes.size() < 2) {
    const int64_t own = oneSizeOf(costs, usual).samples;
    return samples == own ? CostSource{Kind::Measured}
                          : CostSource{Kind::InProportion, own};
  }
  if (llvm::is_contained(sizes, samples))
    return {Kind::Measured};
  const auto above = static_cast<size_t>(
      std::lower_bound(sizes.begin() + 1, sizes.end() - 1, samples) -
      sizes.begin());
  const bool isBetween = samples > sizes.front() && samples < sizes.back();
  return {isBetween ? Kind::Between : Kind::Beyond, sizes[above - 1],
          sizes[above]};
}
