//===- OneRank.cpp - L5: one real rank, all others pure delays ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One rank keeps its cap, its order and its exclusive use; every other rank
// becomes a pure delay. A micro-batch passes the rank's stages by F, then back
// by I, with a delay from each of these operations to the next. The rest is
// solved exactly by dynamic programming over how many of each have run, with
// labels that no other label of the same counts beats in every component: the
// clock, when each micro-batch in flight can go on, and the largest tail so
// far. The idle time that the cap forces at the end of the rank (Idle.h) is
// added to the remaining work. If there are too many labels, the least of the
// remaining ones is still a bound.
//
//===----------------------------------------------------------------------===//

#include "schedule/bounds/Arguments.h"
#include "schedule/bounds/Idle.h"

#include <algorithm>
#include <array>
#include <unordered_map>

using namespace rondo;

namespace {

/// What the arrays below have room for.
constexpr size_t maxStagesOfRank = 4;
constexpr size_t maxOperations = 2 * maxStagesOfRank;

/// How often each operation has run, then W: per stage, or for all together if
/// they are alike. All labels of one sum are made before the next.
using Counts = std::array<int32_t, 3 * maxStagesOfRank>;

struct CountsHash {
  size_t operator()(const Counts &counts) const {
    uint64_t hash = 0;
    for (int32_t count : counts)
      hash = (hash ^ uint64_t(count)) * 0x9e3779b97f4a7c15u;
    return size_t(hash ^ (hash >> 32));
  }
};

/// What the numbers of a label are: its clock, the least cost of any
/// continuation and, by operation, when each micro-batch in flight can take it,
/// the oldest first.
enum : size_t { clockAt, costAt, readyAt };

/// The labels of the same counts, with what follows from the counts alone.
struct Group {
  Counts counts = {};
  /// The work that is left and the idle time beside it.
  int64_t left = 0;
  int64_t held = 0;
  /// By operation: from when on its next task can start, and what is left of
  /// the objective then; `never` and 0 if all have run.
  std::array<int64_t, maxOperations> head = {}, rest = {};
  /// How many numbers a label has.
  size_t stride = readyAt;
  /// One label after another.
  std::vector<int64_t> labels;
};

/// Groups in the order in which they are made. Their memory is used again.
class Layer {
public:
  void clear() {
    numUsed = 0;
    numberOf.clear();
  }
  size_t size() const { return numUsed; }
  Group &operator[](size_t number) { return groups[number]; }
  /// The group of these counts, and whether it is new and has only them.
  std::pair<Group &, bool> at(const Counts &counts) {
    auto [place, isNew] = numberOf.try_emplace(counts, numUsed);
    if (!isNew)
      return {groups[place->second], false};
    if (numUsed == groups.size())
      groups.emplace_back();
    Group &group = groups[numUsed++];
    group.counts = counts;
    group.labels.clear();
    return {group, true};
  }

private:
  std::vector<Group> groups;
  size_t numUsed = 0;
  std::unordered_map<Counts, size_t, CountsHash> numberOf;
};

class OneRank {
public:
  OneRank(const FlatProblem &flat, const Propagation &propagation, int32_t rank,
          int64_t ceiling, int64_t &effort)
      : flat(flat), propagation(propagation), rank(rank), ceiling(ceiling),
        effort(effort), idle(idleOf(flat, propagation, rank, Side::End)),
        all(flat.microbatches) {
    const auto &stages = flat.stagesOf[rank];
    for (int32_t s : stages)
      operations.push_back({0, s, flat.ns[0][s], 0});
    for (size_t i = stages.size(); i-- > 0;)
      operations.push_back({1, stages[i], flat.ns[1][stages[i]], 0});
    for (size_t i = 0; i + 1 < operations.size(); ++i)
      operations[i].delay = delayBetween(operations[i], operations[i + 1]);
    weightGrads = stages;
    bool areAlike = true;
    for (int32_t s : stages)
      areAlike &=
          flat.ns[2][s] == flat.ns[2][stages.front()] &&
          flat.weightGradFrees[s] == flat.weightGradFrees[stages.front()];
    if (areAlike)
      weightGrads.resize(1);
    for (int32_t s : stages)
      for (int letter : {0, 1, 2})
        work += flat.ns[letter][s] * all;
  }

  int64_t solve() {
    layer.clear();
    Group &first = layer.at(Counts{}).first;
    describe(first);
    first.labels = {0, 0};
    first.labels[costAt] = floorOf(first, first.labels.data(), 0);
    const int64_t depths = 3 * int64_t(flat.stagesOf[rank].size()) * all;
    const int64_t given = effort;
    for (int64_t depth = 0; depth < depths; ++depth) {
      next.clear();
      const int64_t before = effort;
      for (size_t g = 0; g < layer.size(); ++g) {
        const Group &group = layer[g];
        for (size_t at = 0; at < group.labels.size(); at += group.stride) {
          if (effort < 0)
            return leastOfLayer();
          expand(group, group.labels.data() + at);
        }
      }
      std::swap(layer, next);
      if (layer.size() == 0)
        break;
      // The first layers seldom tell more than bound L4. If most others are out
      // of reach, other ranks get the effort.
      const int64_t left = (depths - depth) * (before - effort);
      if (effort < given - given / 8 && left / 8 > effort)
        break;
    }
    return leastOfLayer();
  }

private:
  struct Operation {
    int letter;
    int32_t stage;
    int64_t ns;
    /// From its end until the next operation can start.
    int64_t delay;
  };

  int64_t delayBetween(const Operation &from, const Operation &to) const {
    int64_t delay = 0;
    int letter = from.letter;
    for (int32_t s = from.stage; letter != to.letter || s != to.stage;) {
      if (letter == 0 && s + 1 == flat.stages)
        letter = 1;
      else {
        delay += flat.messages[*flat.outputs(letter, s).begin()].transferNs();
        s += letter == 0 ? 1 : -1;
      }
      if (letter != to.letter || s != to.stage)
        delay += flat.ns[letter][s];
    }
    return delay;
  }

  /// Every label that was left out costs at least the known objective.
  int64_t leastOfLayer() {
    int64_t least = ceiling;
    for (size_t g = 0; g < layer.size(); ++g)
      for (size_t at = costAt; at < layer[g].labels.size();
           at += layer[g].stride)
        least = std::min(least, layer[g].labels[at]);
    return least;
  }

  /// How many micro-batches wait for operations before this one.
  static size_t before(const Counts &counts, size_t operation) {
    return operation == 0 ? 0 : size_t(counts[0] - counts[operation - 1]);
  }
  static bool isWaitedFor(const Counts &counts, size_t operation) {
    return operation > 0 && counts[operation - 1] > counts[operation];
  }

  /// Sets what follows from its counts.
  void describe(Group &group) const {
    const Counts &counts = group.counts;
    const size_t size = operations.size();
    group.left = work;
    group.held = 0;
    for (size_t i = 0; i < weightGrads.size(); ++i) {
      const int32_t s = weightGrads[i];
      group.left -= counts[size + i] * flat.ns[2][s];
      group.held -= counts[size + i] * flat.weightGradFrees[s];
    }
    for (size_t i = 0; i < size; ++i) {
      const auto &[letter, s, ns, delay] = operations[i];
      const int32_t k = counts[i];
      group.left -= k * ns;
      group.held += k * (letter == 0 ? flat.takes[s] : -flat.inputGradFrees[s]);
      group.head[i] = never;
      group.rest[i] = 0;
      if (k == all)
        continue;
      group.head[i] = propagation.heads(letter)[flat.at(s, k)];
      group.rest[i] = ns + propagation.tails(letter)[flat.at(s, k)];
    }
    group.left += idleBeside(idle, group.left);
    group.stride = readyAt + before(counts, size);
  }

  /// The least cost of any continuation of a label, which the label does not
  /// hold yet.
  int64_t floorOf(const Group &group, const int64_t *label,
                  int64_t floor) const {
    const int64_t clock = label[clockAt], *ready = label + readyAt;
    for (size_t i = 0; i < operations.size(); ++i) {
      if (group.head[i] >= never)
        continue;
      int64_t start = std::max(clock, group.head[i]);
      if (isWaitedFor(group.counts, i))
        start = std::max(start, ready[before(group.counts, i)]);
      floor = std::max(floor, start + group.rest[i]);
    }
    return std::max(floor, clock + group.left);
  }

  /// How many W of an entry of `weightGrads` are pending.
  int32_t pending(const Counts &counts, size_t i) const {
    const size_t stages = operations.size() / 2;
    int32_t done = 0;
    for (size_t place = 0; place < stages; ++place)
      if (weightGrads.size() == 1 || place == i)
        done += counts[operations.size() - 1 - place];
    return done - counts[operations.size() + i];
  }

  void expand(const Group &group, const int64_t *label) {
    const Counts &counts = group.counts;
    const size_t size = operations.size();
    const int64_t clock = label[clockAt], *ready = label + readyAt;
    // I and W give memory back and never gain from waiting, nor does F if there
    // is one stage. What could only start when one of them has ended is not
    // tried before it.
    int64_t firstEnd = never;
    std::array<int64_t, maxOperations> starts;
    for (size_t i = 0; i < size; ++i) {
      starts[i] = never;
      const Operation &operation = operations[i];
      if (group.head[i] >= never || (i > 0 && !isWaitedFor(counts, i)) ||
          (operation.letter == 0 &&
           group.held + flat.takes[operation.stage] > flat.caps[rank]))
        continue;
      starts[i] = std::max(clock, group.head[i]);
      if (i > 0)
        starts[i] = std::max(starts[i], ready[before(counts, i)]);
      if (operation.letter == 1 || size == 2)
        firstEnd = std::min(firstEnd, starts[i] + operation.ns);
    }
    for (size_t i = 0; i < weightGrads.size(); ++i)
      if (pending(counts, i) > 0)
        firstEnd = std::min(firstEnd, clock + flat.ns[2][weightGrads[i]]);
    for (size_t i = 0; i < size; ++i) {
      const int64_t end = starts[i] + operations[i].ns;
      if (starts[i] >= never || (starts[i] >= firstEnd && end > firstEnd))
        continue;
      // The micro-batch is no longer the first that waits for this operation,
      // and is the last of those that wait for the next one.
      made = {end, label[costAt]};
      const int64_t *from = ready, *to = ready + before(counts, i);
      made.insert(made.end(), from, to);
      from = i > 0 ? to + 1 : to;
      if (i + 1 < size) {
        to = ready + before(counts, i + 2);
        made.insert(made.end(), from, to);
        made.push_back(end + operations[i].delay);
        from = to;
      }
      made.insert(made.end(), from, ready + before(counts, size));
      add(counts, i);
    }
    for (size_t i = 0; i < weightGrads.size(); ++i)
      if (pending(counts, i) > 0) {
        made.assign(label, label + group.stride);
        made[clockAt] += flat.ns[2][weightGrads[i]];
        made[costAt] =
            std::max(made[costAt], made[clockAt] + flat.endOffset[rank]);
        add(counts, size + i);
      }
  }

  /// Whether no continuation of the second label is better than one of the
  /// first.
  static bool beats(const int64_t *label, const int64_t *other, size_t stride) {
    if (label[clockAt] > other[clockAt] || label[costAt] > other[costAt])
      return false;
    for (size_t i = readyAt; i < stride; ++i)
      if (label[i] > std::max(other[i], other[clockAt]))
        return false;
    return true;
  }

  /// Puts `made` into the next layer unless it is too long or beaten.
  void add(Counts counts, size_t counted) {
    ++counts[counted];
    auto [group, isNew] = next.at(counts);
    if (isNew)
      describe(group);
    made[costAt] = floorOf(group, made.data(), made[costAt]);
    const size_t stride = group.stride;
    effort -= 1 + int64_t(stride / 16);
    if (made[costAt] >= ceiling)
      return;
    std::vector<int64_t> &labels = group.labels;
    effort -= int64_t(labels.size() / stride) / 8;
    for (size_t at = 0; at < labels.size(); at += stride)
      if (beats(labels.data() + at, made.data(), stride))
        return;
    size_t kept = 0;
    for (size_t at = 0; at < labels.size(); at += stride) {
      if (beats(made.data(), labels.data() + at, stride))
        continue;
      if (kept < at)
        std::copy_n(labels.begin() + at, stride, labels.begin() + kept);
      kept += stride;
    }
    labels.resize(kept);
    labels.insert(labels.end(), made.begin(), made.end());
  }

  const FlatProblem &flat;
  const Propagation &propagation;
  const int32_t rank;
  const int64_t ceiling;
  int64_t &effort;
  /// What the cap takes away at the end of the rank.
  const std::vector<IdlePoint> idle;
  const int32_t all;
  int64_t work = 0;
  std::vector<Operation> operations;
  /// A stage for each counter of W.
  std::vector<int32_t> weightGrads;
  Layer layer, next;
  /// A new label.
  std::vector<int64_t> made;
};

int64_t computeOneRank(const Problem &problem, int64_t ceiling,
                       int64_t effort) {
  std::optional<FlatProblem> flat =
      FlatProblem::of(problem, BackwardCosts::Least);
  // A micro-batch passes the stages of a rank one after another, and back.
  if (!flat || !flat->isChain || !flat->offsetsAreExact)
    return 0;
  Propagation propagation(*flat, true);
  if (propagation.estimate(PartialState(*flat)).bound >= never)
    return 0;
  int64_t best = 0;
  for (int32_t rank = 0; rank < flat->ranks; ++rank) {
    const size_t stages = flat->stagesOf[rank].size();
    if (stages == 0 || stages > maxStagesOfRank)
      continue;
    // One rank must not use up what the others need; but many ranks are often
    // alike.
    const int64_t share = effort / std::min(4, flat->ranks - rank);
    int64_t left = share;
    best = std::max(best,
                    OneRank(*flat, propagation, rank, ceiling, left).solve());
    effort -= share - std::max<int64_t>(0, left);
    if (best >= ceiling)
      break;
  }
  return best;
}

} // namespace

BoundArgument rondo::oneRank() {
  return {"L5", "one real rank, the others as delays", computeOneRank, true,
          true};
}
