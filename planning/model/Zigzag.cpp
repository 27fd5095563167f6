//===- Zigzag.cpp - Plans whose groups have unequal layers ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/model/Zigzag.h"

#include <algorithm>

using namespace rondo;

namespace {

/// Maximum number of blocks of the first and of the last group that are tried.
constexpr int32_t maxAtEnds = 8;
/// Number of shapes that become plans.
constexpr size_t maxShapes = 2;

/// Numbers of blocks by group. Groups are numbered: the full ones, the others,
/// the first and the last group of the pipeline.
struct Shape {
  /// Groups with `each` + 1 blocks; the other groups have `each`.
  int32_t full = 0, each = 0;
  /// Blocks that a full group keeps; it recomputes the rest.
  int32_t kept = 0;
  /// Blocks of the first group, recomputed, and of the last, kept.
  int32_t first = 0, last = 0;
  /// Work of the busiest group for one micro-batch.
  double busiestNs = 0;

  int32_t recomputed() const { return each + 1 - kept; }
  int32_t numKept() const { return full * kept + last; }
};

class Maker {
public:
  Maker(const ModelPlan &groups, const RecomputeCosts &costs)
      : groups(groups), costs(costs), layers(costs.kept.numLayers()),
        count(groups.numGroups()) {}

  std::vector<ModelPlan> run(int64_t ceilingNs) {
    if (!findBlocks())
      return {};
    std::vector<Shape> shapes;
    for (int32_t kept = 0; kept <= endBlock - firstBlock; ++kept)
      if (const std::optional<Shape> best = bestShape(kept))
        if (best->busiestNs * costs.kept.microbatches < double(ceilingNs))
          shapes.push_back(*best);
    std::stable_sort(shapes.begin(), shapes.end(),
                     [](const Shape &a, const Shape &b) {
                       return a.busiestNs < b.busiestNs;
                     });
    if (shapes.size() > maxShapes)
      shapes.resize(maxShapes);
    std::vector<ModelPlan> plans;
    for (const Shape &shape : shapes)
      for (int32_t place = 0; place <= shape.each; ++place)
        plans.push_back(planOf(shape, place));
    return plans;
  }

private:
  /// Sets the range of blocks, which must be equal.
  bool findBlocks() {
    const auto &kept = costs.kept.layers, &again = costs.recomputed.layers;
    auto isBlock = [&](int32_t layer) {
      return again[layer].backwardNs != kept[layer].backwardNs;
    };
    while (firstBlock < layers && !isBlock(firstBlock))
      ++firstBlock;
    endBlock = firstBlock;
    while (endBlock < layers && isBlock(endBlock))
      ++endBlock;
    for (int32_t layer = firstBlock; layer < endBlock; ++layer) {
      const ChainLayer &a = kept[layer], &b = kept[firstBlock];
      if (a.forwardNs != b.forwardNs || a.backwardNs != b.backwardNs ||
          a.stashBytes != b.stashBytes || a.stateBytes != b.stateBytes)
        return false;
    }
    for (int32_t layer = endBlock; layer < layers; ++layer)
      if (isBlock(layer))
        return false;
    if (firstBlock == endBlock || count < 3 || costs.kept.hasUnequalDevices() ||
        costs.kept.memoryBytes == 0)
      return false;
    const auto ranks =
        static_cast<int64_t>(groups.stages.front().devices.size());
    for (int32_t group = 0; group < count; ++group)
      if (static_cast<int64_t>(groups.stages[group].devices.size()) != ranks)
        return false;
    const int64_t samples = costs.kept.samples;
    share = double((samples + ranks - 1) / ranks) / double(samples);
    return true;
  }

  double workNs(const ChainLayer &layer) const {
    return share * double(layer.forwardNs + layer.backwardNs);
  }
  double sumOfWork(int32_t first, int32_t end) const {
    double work = 0;
    for (int32_t layer = first; layer < end; ++layer)
      work += workNs(costs.kept.layers[layer]);
    return work;
  }
  double sumOfState(int32_t first, int32_t end) const {
    double bytes = 0;
    for (int32_t layer = first; layer < end; ++layer)
      bytes += double(costs.kept.layers[layer].stateBytes);
    return bytes;
  }

  /// Whether state and activations fit, by an estimate: a micro-batch takes F
  /// and I of all kept layers, and a full group holds each of its own for half
  /// of this time on average.
  bool fits(const Shape &shape) const {
    const ChainLayer &block = costs.kept.layers[firstBlock];
    const auto state = double(block.stateBytes),
               held = share * double(block.stashBytes),
               memory = double(costs.kept.memoryBytes);
    const double pathNs =
        shape.numKept() * share *
            (double(block.forwardNs) + double(block.backwardNs) / 2) +
        sumOfWork(endBlock, layers);
    const double inFlight = pathNs / shape.busiestNs / 2 + 1;
    const double ofFull = shape.kept * inFlight + (shape.recomputed() > 0);
    return (shape.each + 1) * state + ofFull * held <= memory &&
           shape.first * state + sumOfState(0, firstBlock) + held <= memory &&
           shape.last * state + sumOfState(endBlock, layers) + held <= memory;
  }

  /// The shape with this number of blocks kept on full groups whose busiest
  /// group has the least work; of equals, with the fewest kept blocks.
  std::optional<Shape> bestShape(int32_t kept) const {
    const double keptNs = workNs(costs.kept.layers[firstBlock]),
                 recomputedNs = workNs(costs.recomputed.layers[firstBlock]);
    std::optional<Shape> best;
    for (int32_t first = 0; first <= maxAtEnds; ++first)
      for (int32_t last = 0; last <= maxAtEnds; ++last) {
        const int32_t rest = endBlock - firstBlock - first - last,
                      between = count - 2;
        if (rest < between)
          continue;
        Shape shape;
        shape.kept = kept;
        shape.first = first;
        shape.last = last;
        shape.each = (rest - 1) / between;
        shape.full = rest - shape.each * between;
        if (shape.each == 0 || first > shape.each || shape.recomputed() < 0)
          continue;
        shape.busiestNs =
            std::max({kept * keptNs + shape.recomputed() * recomputedNs,
                      shape.each * recomputedNs,
                      sumOfWork(0, firstBlock) + first * recomputedNs,
                      sumOfWork(endBlock, layers) + last * keptNs});
        if (!fits(shape))
          continue;
        if (!best || std::pair(shape.busiestNs, shape.numKept()) <
                         std::pair(best->busiestNs, best->numKept()))
          best = shape;
      }
    return best;
  }

  /// Appends a stage of one more block; the first one has all layers before.
  void append(ModelPlan &plan, int32_t group, bool recomputes) const {
    const int32_t first = plan.stages.empty() ? 0 : plan.stages.back().end,
                  block = std::max(first, firstBlock);
    plan.stages.push_back({first, block + 1, groups.stages[group].devices});
    plan.recomputes[block] = recomputes;
  }
  /// One block for each group of a range, in a direction.
  void appendPass(ModelPlan &plan, int32_t begin, int32_t end, bool isDown,
                  bool recomputes) const {
    for (int32_t k = 0; k < end - begin; ++k)
      append(plan, isDown ? end - 1 - k : begin + k, recomputes);
  }

  /// Full groups recompute their blocks after `place` passes of the others.
  ModelPlan planOf(const Shape &shape, int32_t place) const {
    ModelPlan plan;
    plan.samples = groups.samples;
    plan.chunks = 0;
    plan.recomputes.assign(layers, false);
    const int32_t firstGroup = count - 2, lastGroup = count - 1;
    if (shape.first > 0)
      append(plan, firstGroup, true);
    else if (firstBlock > 0)
      plan.stages.push_back({0, firstBlock, groups.stages[firstGroup].devices});
    // Passes of the full groups that are still to come: the last one is down.
    int32_t left = shape.each + 1;
    for (int32_t pass = 0; pass <= shape.each; ++pass) {
      if (pass == place)
        for (int32_t k = 0; k < shape.recomputed(); ++k)
          appendPass(plan, 0, shape.full, left-- % 2 == 1, true);
      if (pass == shape.each)
        break;
      if (pass > 0 && pass < shape.first)
        append(plan, firstGroup, true);
      appendPass(plan, shape.full, firstGroup, false, true);
    }
    for (int32_t k = 0; k < shape.kept; ++k)
      appendPass(plan, 0, shape.full, left-- % 2 == 1, false);
    for (int32_t k = 0; k < shape.last; ++k)
      append(plan, lastGroup, false);
    if (endBlock < layers) {
      if (shape.last > 0)
        plan.stages.back().end = layers;
      else
        plan.stages.push_back(
            {endBlock, layers, groups.stages[lastGroup].devices});
    }
    return plan;
  }

  const ModelPlan &groups;
  const RecomputeCosts &costs;
  const int32_t layers, count;
  int32_t firstBlock = 0, endBlock = 0;
  /// The part of a micro-batch that a device of a group has.
  double share = 1;
};

} // namespace

std::vector<ModelPlan> rondo::zigzags(const ModelPlan &groups,
                                      const RecomputeCosts &costs,
                                      int64_t ceilingNs) {
  return Maker(groups, costs).run(ceilingNs);
}
