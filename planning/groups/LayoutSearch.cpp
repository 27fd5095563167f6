//===- LayoutSearch.cpp - The fastest layouts of a model ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/groups/LayoutSearch.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace rondo::groups {

namespace {

std::vector<int64_t> divisorsOf(int64_t number, int64_t most) {
  std::vector<int64_t> divisors;
  for (int64_t divisor = 1; divisor <= std::min(number, most); ++divisor)
    if (number % divisor == 0)
      divisors.push_back(divisor);
  return divisors;
}

class LayoutSearch {
public:
  LayoutSearch(const Transformer &model, const Machines &machines,
               const LayoutSpace &space, const Constants &constants)
      : model(model), machines(machines), space(space), constants(constants) {}

  void run();
  FoundLayouts take(size_t rows);

private:
  int64_t maxSamples() const {
    return space.microbatch.empty()
               ? 16
               : *std::max_element(space.microbatch.begin(),
                                   space.microbatch.end());
  }
  void tryChunks(Layout layout);
  void tryState(const Layout &layout);
  /// The fewest layers that have to recompute, as many in each stage; 0 if
  /// none has to, or all have.
  int64_t fewestRecomputed(Layout layout) const;
  /// Whether it fits.
  bool tryOne(const Layout &layout);
  void tryBalanced(Layout layout);

  const Transformer &model;
  const Machines &machines;
  const LayoutSpace &space;
  const Constants &constants;
  std::vector<FoundLayout> found;
  int64_t legal = 0, fit = 0;
  std::optional<FoundLayout> nearest;
};

void LayoutSearch::run() {
  const int64_t devices = machines.devices();
  const int64_t maxTensor = std::min(space.maxTensor, machines.domain);
  // A device's part of a sequence stays long enough for attention's kernels.
  const int64_t maxContext = std::max<int64_t>(1, model.sequence / 2048);
  const int64_t maxExpert = model.experts ? model.experts->count : 1;
  for (int64_t tensor : divisorsOf(devices, maxTensor))
    for (int64_t context : divisorsOf(devices / tensor, maxContext))
      for (int64_t pipeline :
           divisorsOf(devices / tensor / context, model.layers)) {
        Layout layout;
        layout.tensor = tensor;
        layout.context = context;
        layout.pipeline = pipeline;
        layout.data = devices / tensor / context / pipeline;
        layout.globalBatch = space.globalBatch;
        layout.sequenceParallel = tensor > 1;
        if (space.globalBatch % layout.data != 0)
          continue;
        for (int64_t expert : divisorsOf(devices / pipeline, maxExpert)) {
          layout.expert = expert;
          for (int64_t samples :
               divisorsOf(space.globalBatch / layout.data, maxSamples())) {
            layout.microbatch = samples;
            if (space.microbatch.empty() ||
                std::count(space.microbatch.begin(), space.microbatch.end(),
                           samples))
              tryChunks(layout);
          }
        }
      }
}

void LayoutSearch::tryChunks(Layout layout) {
  const int64_t most = layout.pipeline > 1 ? model.layers / layout.pipeline : 1;
  for (int64_t chunks = 1; chunks <= most; ++chunks) {
    layout.chunks = chunks;
    layout.zero = 0;
    layout.isBalanced = false;
    if (fault(model, layout).empty()) {
      tryState(layout);
      continue;
    }
    // Perhaps only the even cut is at fault.
    layout.isBalanced = true;
    if (fault(model, layout).empty())
      tryState(layout);
  }
}

void LayoutSearch::tryState(const Layout &layout) {
  for (int zero : space.zero) {
    // Alone, a device has nothing to share.
    if (zero > 0 && layout.data * layout.context == 1)
      continue;
    for (Recompute recompute : space.recompute) {
      if (recompute == Recompute::Selective &&
          space.execution.attention == Attention::Flash)
        continue;
      Layout tried = layout;
      tried.zero = zero;
      tried.recompute = recompute;
      if (zero == 3 && !fault(model, tried).empty())
        continue;
      if (recompute == Recompute::Layers)
        tried.recomputedLayers = fewestRecomputed(tried);
      if (recompute == Recompute::Layers && tried.recomputedLayers == 0)
        continue;
      const bool fits = tryOne(tried);
      // The head makes the last rank of an even cut the slowest.
      if (fits && tried.pipeline > 1 && !tried.isBalanced)
        tryBalanced(tried);
    }
  }
}

int64_t LayoutSearch::fewestRecomputed(Layout layout) const {
  const int64_t stages = layout.pipeline * layout.chunks;
  auto fits = [&](int64_t layers) {
    layout.recomputedLayers = layers;
    return GroupCosts(model, machines, layout, space.execution, constants)
               .memory()
               .total() <=
           space.memoryShare * double(machines.device.memoryBytes);
  };
  // Less memory the more layers recompute.
  int64_t low = 0, high = (model.layers - 1) / stages;
  if (model.layers % stages != 0 || high == 0 || fits(0) ||
      !fits(high * stages))
    return 0;
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (fits(middle * stages) ? high : low) = middle;
  }
  return high * stages;
}

bool LayoutSearch::tryOne(const Layout &layout) {
  ++legal;
  const Execution execution = effective(space.execution, layout);
  const GroupCosts costs(model, machines, layout, execution, constants);
  const DeviceMemory memory = costs.memory();
  const double room = space.memoryShare * double(machines.device.memoryBytes);
  if (memory.total() > room) {
    if (!nearest || memory.total() < nearest->memory.total())
      nearest = {layout, {}, memory};
    return false;
  }
  ++fit;
  found.push_back({layout, costs.iterationTime(), memory});
  return true;
}

/// Takes the place of the even cut, which is found.back(), if it is worth its
/// longer command line.
void LayoutSearch::tryBalanced(Layout layout) {
  constexpr double leastGain = 0.01;
  layout.isBalanced = true;
  const Execution execution = effective(space.execution, layout);
  const GroupCosts costs(model, machines, layout, execution, constants);
  const DeviceMemory memory = costs.memory();
  const IterationTime time = costs.iterationTime();
  const double room = space.memoryShare * double(machines.device.memoryBytes);
  if (memory.total() <= room &&
      time.total < found.back().time.total * (1 - leastGain))
    found.back() = {layout, time, memory};
}

FoundLayouts LayoutSearch::take(size_t rows) {
  FoundLayouts result;
  result.legal = legal;
  result.fit = fit;
  if (found.empty()) {
    result.nearest = nearest;
    return result;
  }
  const GroupCosts any(model, machines, found.front().layout, space.execution,
                       constants);
  result.leastTime = flopsOfToken(model) * double(model.sequence) *
                     double(space.globalBatch) /
                     (any.flopsPerSecond() * double(machines.devices()));
  double least = found.front().time.total;
  for (const FoundLayout &one : found)
    least = std::min(least, one.time.total);
  // All within the band in one class; after it by time.
  auto key = [least](const FoundLayout &one) {
    const Layout &layout = one.layout;
    const bool isEqual = one.time.total <= least * (1 + band);
    return std::make_tuple(
        !isEqual, isEqual ? layout.pipeline : 0, isEqual ? layout.chunks : 0,
        isEqual ? layout.tensor * layout.context : 0, one.time.total);
  };
  rows = std::min(rows, found.size());
  std::partial_sort(found.begin(), found.begin() + int64_t(rows), found.end(),
                    [&](const FoundLayout &a, const FoundLayout &b) {
                      return key(a) < key(b);
                    });
  found.resize(rows);
  result.best = std::move(found);
  return result;
}

} // namespace

LargestPart largestPart(const IterationTime &time) {
  const std::pair<const char *, double> parts[] = {
      {"recomputation", time.recompute},
      {"tensor messages", time.tensor},
      {"context messages", time.context},
      {"expert messages", time.expert},
      {"bubble", time.bubble},
      {"imbalance", time.imbalance},
      {"stage messages", time.stageMessages},
      {"sums of gradients", time.dataParallel},
      {"optimizer", time.optimizer}};
  const auto *largest = std::max_element(
      std::begin(parts), std::end(parts),
      [](const auto &a, const auto &b) { return a.second < b.second; });
  return {largest->first, largest->second / time.total};
}

FoundLayouts searchLayouts(const Transformer &model, const Machines &machines,
                           const LayoutSpace &space, const Constants &constants,
                           size_t rows) {
  LayoutSearch search(model, machines, space, constants);
  search.run();
  return search.take(rows);
}

} // namespace rondo::groups
