//===- RankLabels.cpp - The least objective of one real rank --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/RankLabels.h"
#include "schedule/bounds/Idle.h"
#include "schedule/bounds/LabelLayer.h"

#include <algorithm>
#include <numeric>

using namespace rondo;

namespace {

/// Give up once a layer has more than maxOutOfReach times as many groups as
/// labels that the remaining effort allows per layer.
constexpr size_t maxOutOfReach = 64;

/// Beam width per group: at least leastOfGroup, or timesInReach times the
/// group's part of the labels that the effort allows per layer.
constexpr size_t leastOfGroup = 16, timesInReach = 4;

/// The earliest start of a task, and the least time from its start to the
/// objective.
struct Window {
  int64_t head, rest;
};

class RankLabels {
public:
  RankLabels(const FlatProblem &flat, const Propagation &propagation,
             const RankChain &chain, int64_t ceiling, int64_t &effort)
      : flat(flat), propagation(propagation), chain(chain),
        operations(chain.operations), ceiling(ceiling), effort(effort),
        idle(idleOf(flat, propagation, chain.rank, Side::End)),
        all(flat.microbatches),
        made(LabelAt::ready + (1 + chain.stages()) * size_t(all)) {
    for (const RankChain::Operation &operation : operations)
      if (operation.task == Task::I)
        leastInputGrad = std::min(leastInputGrad, operation.ns);
    for (const RankChain::Operation &operation : operations) {
      const auto &heads = propagation.heads(operation.task),
                 &tails = propagation.tails(operation.task);
      for (int32_t k = 0; k < all; ++k) {
        const size_t task = flat.at(operation.stage, k);
        windows.push_back({heads[task], operation.ns + tails[task]});
      }
      windows.push_back({never, 0});
    }
  }

  LeastObjective solve() {
    LabelGroup &first = layer.restart();
    describe(first);
    first.labels = {0, 0};
    first.labels[LabelAt::cost] = floorOf(first, first.labels.data(), 0);
    const int64_t depths = tasksPerMicrobatch * int64_t(chain.stages()) * all;
    const int64_t given = effort;
    int64_t expanded = 0;
    for (int64_t depth = 0; depth < depths && layer.size() > 0; ++depth) {
      // Effort per expanded label so far; at least 4, the cost of a label with
      // one or two continuations.
      const int64_t each = std::max<int64_t>(
          4, (given - effort) / std::max<int64_t>(1, expanded));
      const size_t inReach =
          size_t(std::max<int64_t>(0, effort) / (each * (depths - depth)));
      // Give up if the effort does not reach the later layers: the first layers
      // seldom prove more than bound LB4, and other ranks may use the effort
      // better.
      if (layer.size() / maxOutOfReach > inReach)
        return {leastOfLayer(), true};
      merge(inReach);
      maxOfGroup =
          std::max(leastOfGroup, timesInReach * inReach / layer.size());
      next.clear();
      for (size_t g = 0; g < layer.size(); ++g) {
        const LabelGroup &group = layer[g];
        targets.fill(unknown);
        for (size_t at = 0; at < group.labels.size(); at += group.stride) {
          if (effort < 0)
            return {leastOfLayer(), true};
          expand(group, group.labels.data() + at);
          ++expanded;
        }
      }
      std::swap(layer, next);
    }
    return {leastOfLayer(), isMerged};
  }

private:
  /// Labels that were left out cost at least `ceiling`.
  int64_t leastOfLayer() {
    int64_t least = ceiling;
    for (size_t g = 0; g < layer.size(); ++g)
      for (size_t at = LabelAt::cost; at < layer[g].labels.size();
           at += layer[g].stride)
        least = std::min(least, layer[g].labels[at]);
    return least;
  }

  /// Merges labels of the same counts until about `maxLabels` are left, and at
  /// least one per group.
  void merge(size_t maxLabels) {
    const size_t labels = layer.numLabels();
    if (labels <= maxLabels)
      return;
    const double share = double(maxLabels) / double(labels);
    for (size_t g = 0; g < layer.size(); ++g) {
      LabelGroup &group = layer[g];
      const size_t size = group.labels.size() / group.stride;
      const size_t left = std::max<size_t>(1, size_t(double(size) * share));
      if (left < size)
        mergeInto(left, group);
    }
  }

  /// Merges labels until `left` are left. Sorts by the sum of their numbers, so
  /// that similar labels are merged.
  void mergeInto(size_t left, LabelGroup &group) {
    isMerged = true;
    const size_t stride = group.stride, size = group.labels.size() / stride;
    order.clear();
    for (size_t i = 0; i < size; ++i) {
      const int64_t *label = group.labels.data() + i * stride;
      order.emplace_back(std::accumulate(label, label + stride, int64_t(0)),
                         label);
    }
    std::stable_sort(
        order.begin(), order.end(),
        [](const auto &a, const auto &b) { return a.first < b.first; });
    merged.clear();
    for (size_t part = 0; part < left; ++part) {
      const size_t from = size * part / left, to = size * (part + 1) / left;
      merged.insert(merged.end(), order[from].second,
                    order[from].second + stride);
      int64_t *least = merged.data() + merged.size() - stride;
      for (size_t i = from + 1; i < to; ++i)
        for (size_t j = 0; j < stride; ++j)
          least[j] = std::min(least[j], order[i].second[j]);
    }
    group.labels.assign(merged.begin(), merged.end());
  }

  /// The window of the next task of an operation.
  const Window &window(const LabelCounts &counts, size_t operation) const {
    return windows[operation * size_t(all + 1) + size_t(counts[operation])];
  }

  /// The number of micro-batches that wait for operations before this one.
  static size_t before(const LabelCounts &counts, size_t operation) {
    return operation == 0 ? 0 : size_t(counts[0] - counts[operation - 1]);
  }
  static bool isWaitedFor(const LabelCounts &counts, size_t operation) {
    return operation > 0 && counts[operation - 1] > counts[operation];
  }

  /// Sets the data of a group that depends on its counts.
  void describe(LabelGroup &group) const {
    const LabelCounts &counts = group.counts;
    const size_t size = operations.size();
    group.left = chain.work;
    group.held = 0;
    for (size_t i = 0; i < chain.weightGrads.size(); ++i) {
      const int32_t s = chain.weightGrads[i];
      group.left -= counts[size + i] * flat.ns[Task::W][s];
      group.held -= counts[size + i] * flat.weightGradFrees[s];
    }
    for (size_t i = 0; i < size; ++i) {
      const auto &[task, s, ns, delay, spacing] = operations[i];
      const int32_t k = counts[i];
      group.left -= k * ns;
      group.held +=
          k * (task == Task::F ? flat.takes[s] : -flat.inputGradFrees[s]);
    }
    group.left += idleBeside(idle, group.left);
    int64_t taken = 0, returned = 0;
    for (size_t place = 0; place < chain.stages(); ++place)
      if (chain.slots.isUsedBy[place]) {
        taken += counts[place];
        returned += counts[size - 1 - place];
      }
    group.hasNewSlot = taken < chain.slots.count;
    group.slots = size_t(returned) -
                  size_t(std::max<int64_t>(0, taken - chain.slots.count));
    group.stride = LabelAt::ready + before(counts, size) + group.slots;
  }

  /// Whether F can only use a returned slot, since all have been taken before.
  bool waitsForSlot(const LabelGroup &group, size_t operation) const {
    return operations[operation].task == Task::F && !group.hasNewSlot &&
           chain.usesSlot(operation);
  }

  /// The least cost of any continuation of a label, and at least `floor`. Does
  /// not read LabelAt::cost.
  int64_t floorOf(const LabelGroup &group, const int64_t *label,
                  int64_t floor) const {
    const int64_t clock = label[LabelAt::clock],
                  *ready = label + LabelAt::ready;
    for (size_t i = 0; i < operations.size(); ++i) {
      if (window(group.counts, i).head >= never)
        continue;
      int64_t start = std::max(clock, window(group.counts, i).head);
      if (isWaitedFor(group.counts, i))
        start = std::max(start, ready[before(group.counts, i)]);
      if (waitsForSlot(group, i))
        start =
            std::max(start, group.slots > 0
                                ? label[group.stride - group.slots]
                                : clock + leastInputGrad + chain.slots.delay);
      floor = std::max(floor, start + window(group.counts, i).rest);
    }
    return std::max(floor, clock + group.left);
  }

  /// The number of pending W of entry i of `chain.weightGrads`.
  int32_t pending(const LabelCounts &counts, size_t i) const {
    const size_t stages = operations.size() / 2;
    int32_t done = 0;
    for (size_t place = 0; place < stages; ++place)
      if (chain.weightGrads.size() == 1 || place == i)
        done += counts[operations.size() - 1 - place];
    return done - counts[operations.size() + i];
  }

  void expand(const LabelGroup &group, const int64_t *label) {
    const LabelCounts &counts = group.counts;
    const size_t size = operations.size();
    const int64_t clock = label[LabelAt::clock],
                  *ready = label + LabelAt::ready;
    const int64_t *slots = label + group.stride - group.slots;
    // I and W free memory and never gain from waiting; nor does F with one
    // stage. `firstEnd` is the earliest end of such a task. Other tasks that
    // cannot start before it and end after it are not tried.
    int64_t firstEnd = never;
    std::array<int64_t, 2 * RankChain::maxStages> starts;
    for (size_t i = 0; i < size; ++i) {
      starts[i] = never;
      const RankChain::Operation &operation = operations[i];
      if (window(group.counts, i).head >= never ||
          (i > 0 && !isWaitedFor(counts, i)) ||
          (operation.task == Task::F &&
           group.held + flat.takes[operation.stage] > flat.caps[chain.rank]) ||
          (waitsForSlot(group, i) && group.slots == 0))
        continue;
      starts[i] = std::max(clock, window(group.counts, i).head);
      if (i > 0)
        starts[i] = std::max(starts[i], ready[before(counts, i)]);
      if (waitsForSlot(group, i))
        starts[i] = std::max(starts[i], slots[0]);
      if (operation.task == Task::I || size == 2)
        firstEnd = std::min(firstEnd, starts[i] + operation.ns);
    }
    for (size_t i = 0; i < chain.weightGrads.size(); ++i)
      if (pending(counts, i) > 0)
        firstEnd =
            std::min(firstEnd, clock + flat.ns[Task::W][chain.weightGrads[i]]);
    for (size_t i = 0; i < size; ++i) {
      const int64_t end = starts[i] + operations[i].ns;
      if (starts[i] >= never || (starts[i] >= firstEnd && end > firstEnd) ||
          starts[i] + window(group.counts, i).rest >= ceiling)
        continue;
      // The micro-batch, the first of those that wait for this operation,
      // becomes the last of those that wait for the next one.
      begin(end, label[LabelAt::cost]);
      const int64_t *from = ready, *to = ready + before(counts, i);
      take(from, to);
      from = i > 0 ? to + 1 : to;
      int64_t *onwards = nullptr;
      if (i + 1 < size) {
        to = ready + before(counts, i + 2);
        take(from, to);
        onwards = madeEnd++;
        *onwards = end + operations[i].delay;
        if (isWaitedFor(counts, i + 1))
          *onwards = std::max(*onwards, onwards[-1] + operations[i].spacing);
        from = to;
      }
      take(from, ready + before(counts, size));
      take(slots + waitsForSlot(group, i), slots + group.slots);
      if (operations[i].task == Task::I && chain.usesSlot(i))
        *madeEnd++ = end + chain.slots.delay;
      // If this micro-batch would meet an earlier one on its way back, either
      // of them may wait: adds one label for each case.
      if (i + 1 == chain.stages() && isWaitedFor(counts, i + 1))
        if (auto meeting = chain.meeting(onwards[-1], end)) {
          const int64_t alone = *onwards;
          *onwards = std::max(alone, meeting->second);
          add(group, i);
          made[LabelAt::cost] = label[LabelAt::cost];
          onwards[-1] = meeting->first;
          *onwards = std::max(alone, meeting->first + operations[i].spacing);
        }
      add(group, i);
    }
    for (size_t i = 0; i < chain.weightGrads.size(); ++i)
      if (pending(counts, i) > 0) {
        const int64_t end = clock + flat.ns[Task::W][chain.weightGrads[i]];
        begin(end,
              std::max(label[LabelAt::cost], end + flat.endOffset[chain.rank]));
        take(ready, label + group.stride);
        add(group, size + i);
      }
  }

  /// Starts a new label.
  void begin(int64_t clock, int64_t cost) {
    made[LabelAt::clock] = clock;
    made[LabelAt::cost] = cost;
    madeEnd = made.data() + LabelAt::ready;
  }
  /// Times before the clock are equivalent to the clock. That is consistent
  /// with spacing and meeting, which never delay a micro-batch that is ready by
  /// the clock.
  void take(const int64_t *from, const int64_t *to) {
    for (; from < to; ++from)
      *madeEnd++ = std::max(*from, made[LabelAt::clock]);
  }

  /// Whether no continuation of the second label is better than one of the
  /// first.
  static bool beats(const int64_t *label, const int64_t *other, size_t stride) {
    for (size_t i = 0; i < stride; ++i)
      if (label[i] > other[i])
        return false;
    return true;
  }

  /// Puts `made` into the next layer, unless it reaches the ceiling or another
  /// label beats it.
  void add(const LabelGroup &from, size_t counted) {
    if (targets[counted] == unknown) {
      const auto [number, isNew] = next.after(from, counted);
      targets[counted] = number;
      if (isNew)
        describe(next[number]);
    }
    LabelGroup &group = next[targets[counted]];
    made[LabelAt::cost] = floorOf(group, made.data(), made[LabelAt::cost]);
    const size_t stride = group.stride;
    effort -= 1 + int64_t(stride / 16);
    if (made[LabelAt::cost] >= ceiling)
      return;
    std::vector<int64_t> &labels = group.labels;
    effort -= int64_t(labels.size() / stride) / 8;
    size_t kept = 0;
    for (size_t at = 0; at < labels.size(); at += stride) {
      const int64_t *other = labels.data() + at;
      // A label can only beat labels with the same or a later clock.
      if (other[LabelAt::clock] <= made[LabelAt::clock] &&
          beats(other, made.data(), stride)) {
        // `other` also beats the labels that `made` beats, which are those from
        // `kept` to `at`: removes them.
        if (kept < at)
          labels.erase(labels.begin() + kept, labels.begin() + at);
        return;
      }
      if (made[LabelAt::clock] <= other[LabelAt::clock] &&
          beats(made.data(), other, stride))
        continue;
      if (kept < at)
        std::copy_n(labels.begin() + at, stride, labels.begin() + kept);
      kept += stride;
    }
    labels.resize(kept);
    labels.insert(labels.end(), made.data(), madeEnd);
    if (labels.size() / stride > maxOfGroup)
      mergeInto(maxOfGroup / 2, group);
  }

  const FlatProblem &flat;
  const Propagation &propagation;
  const RankChain &chain;
  const std::vector<RankChain::Operation> &operations;
  const int64_t ceiling;
  int64_t &effort;
  /// The idle time that the cap forces at the end of the rank.
  const std::vector<IdlePoint> idle;
  const int32_t all;
  /// [operation][task], with an entry after each operation's last task that
  /// cannot start.
  std::vector<Window> windows;
  int64_t leastInputGrad = never;
  bool isMerged = false;
  LabelLayer layer, next;
  /// A new label, and the place of its next number.
  std::vector<int64_t> made;
  int64_t *madeEnd = nullptr;
  /// [count]: the group of the next layer in which this count is one more than
  /// in the current group; `unknown` before it is needed.
  static constexpr size_t unknown = std::numeric_limits<size_t>::max();
  std::array<size_t, std::tuple_size_v<LabelCounts>> targets;
  /// Scratch of mergeInto(): the labels of a group with their sums, and the
  /// merged labels.
  std::vector<std::pair<int64_t, const int64_t *>> order;
  std::vector<int64_t> merged;
  /// A group with more labels is merged immediately.
  size_t maxOfGroup = 0;
};

} // namespace

LeastObjective rondo::leastObjective(const FlatProblem &flat,
                                     const Propagation &propagation,
                                     const RankChain &chain, int64_t ceiling,
                                     int64_t &effort) {
  return RankLabels(flat, propagation, chain, ceiling, effort).solve();
}
