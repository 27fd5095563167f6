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
#include <map>

using namespace rondo;

namespace {

struct Label {
  int64_t clock = 0, cost = 0;
  /// When each micro-batch in flight can take its next operation, by operation,
  /// the oldest first.
  std::vector<int64_t> ready;

  bool beats(const Label &other) const {
    if (clock > other.clock || cost > other.cost)
      return false;
    for (size_t i = 0; i < ready.size(); ++i)
      if (ready[i] > std::max(other.ready[i], other.clock))
        return false;
    return true;
  }
};

/// How often each operation has run, then W: per stage, or for all together if
/// they are alike. All labels of one sum are made before the next.
using Counts = std::vector<int32_t>;
using Layer = std::map<Counts, std::vector<Label>>;

class OneRank {
public:
  OneRank(const FlatProblem &flat, const Propagation &propagation, int32_t rank,
          int64_t ceiling, int64_t &effort)
      : flat(flat), propagation(propagation), rank(rank), ceiling(ceiling),
        effort(effort), idle(idleOf(flat, propagation, rank, Side::End)),
        labelCost(
            int64_t(flat.stagesOf[rank].size() * flat.stagesOf[rank].size())),
        all(flat.microbatches) {
    const auto &stages = flat.stagesOf[rank];
    for (int32_t s : stages)
      operations.push_back({0, s, 0});
    for (size_t i = stages.size(); i-- > 0;)
      operations.push_back({1, stages[i], 0});
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
    Layer layer;
    layer[Counts(operations.size() + weightGrads.size(), 0)] = {Label()};
    const int64_t depths = 3 * int64_t(flat.stagesOf[rank].size()) * all;
    for (int64_t depth = 0; depth < depths; ++depth) {
      next.clear();
      for (auto &[counts, labels] : layer)
        for (const Label &label : labels) {
          effort -= labelCost;
          if (effort < 0)
            return leastOf(layer, false);
          expand(counts, label);
        }
      std::swap(layer, next);
      // Every continuation costs at least the known schedule's objective.
      if (layer.empty())
        return ceiling;
    }
    return leastOf(layer, true);
  }

private:
  struct Operation {
    int letter;
    int32_t stage;
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

  int64_t headOf(const Operation &operation, int32_t k) const {
    return propagation.heads(operation.letter)[flat.at(operation.stage, k)];
  }
  int64_t tailOf(const Operation &operation, int32_t k) const {
    return propagation.tails(operation.letter)[flat.at(operation.stage, k)];
  }

  int64_t leastOf(const Layer &layer, bool isEnd) const {
    int64_t least = never;
    for (const auto &[counts, labels] : layer)
      for (const Label &label : labels)
        least = std::min(least, isEnd ? label.cost : floorOf(counts, label));
    return least;
  }

  /// The least cost of any continuation of a label.
  int64_t floorOf(const Counts &counts, const Label &label) const {
    int64_t left = work, result = label.cost;
    for (size_t i = 0; i < weightGrads.size(); ++i)
      left -= counts[operations.size() + i] * flat.ns[2][weightGrads[i]];
    const int64_t *ready = label.ready.data();
    for (size_t i = 0; i < operations.size(); ++i) {
      const Operation &operation = operations[i];
      const int32_t k = counts[i];
      const int64_t ns = flat.ns[operation.letter][operation.stage];
      left -= k * ns;
      if (k == all)
        continue;
      int64_t start = std::max(label.clock, headOf(operation, k));
      if (i > 0) {
        if (counts[i - 1] > k)
          start = std::max(start, *ready);
        ready += counts[i - 1] - k;
      }
      result = std::max(result, start + ns + tailOf(operation, k));
    }
    return std::max(result, label.clock + left + idleBeside(idle, left));
  }

  int64_t heldBy(const Counts &counts) const {
    int64_t held = 0;
    for (size_t i = 0; i < operations.size(); ++i)
      held += counts[i] * (operations[i].letter == 0
                               ? flat.takes[operations[i].stage]
                               : -flat.inputGradFrees[operations[i].stage]);
    for (size_t i = 0; i < weightGrads.size(); ++i)
      held -=
          counts[operations.size() + i] * flat.weightGradFrees[weightGrads[i]];
    return held;
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

  void expand(const Counts &counts, const Label &label) {
    // I and W give memory back and never gain from waiting, nor does F if there
    // is one stage. What could only start when one of them has ended is not
    // tried before it.
    int64_t firstEnd = never;
    std::array<int64_t, 2 * maxStagesOfRank> starts;
    size_t ready = 0;
    for (size_t i = 0; i < operations.size(); ++i) {
      starts[i] = never;
      const int32_t k = counts[i];
      const size_t oldest = ready;
      if (i > 0)
        ready += counts[i - 1] - k;
      if (k == all || (i > 0 && counts[i - 1] == k) ||
          (operations[i].letter == 0 &&
           heldBy(counts) + flat.takes[operations[i].stage] > flat.caps[rank]))
        continue;
      starts[i] = std::max(label.clock, headOf(operations[i], k));
      if (i > 0)
        starts[i] = std::max(starts[i], label.ready[oldest]);
      if (operations[i].letter == 1 || operations.size() == 2)
        firstEnd = std::min(
            firstEnd,
            starts[i] + flat.ns[operations[i].letter][operations[i].stage]);
    }
    for (size_t i = 0; i < weightGrads.size(); ++i)
      if (pending(counts, i) > 0)
        firstEnd = std::min(firstEnd, label.clock + flat.ns[2][weightGrads[i]]);
    ready = 0;
    for (size_t i = 0; i < operations.size(); ++i) {
      const Operation &operation = operations[i];
      const size_t oldest = ready;
      if (i > 0)
        ready += counts[i - 1] - counts[i];
      const int64_t end =
          starts[i] + flat.ns[operation.letter][operation.stage];
      if (starts[i] >= never || (starts[i] >= firstEnd && end > firstEnd))
        continue;
      Label made = label;
      made.clock = end;
      made.cost = std::max(label.cost, end + tailOf(operation, counts[i]));
      // The new one is the last of those waiting for the next operation.
      if (i + 1 < operations.size())
        made.ready.insert(made.ready.begin() +
                              (ready + counts[i] - counts[i + 1]),
                          end + operation.delay);
      if (i > 0)
        made.ready.erase(made.ready.begin() + oldest);
      add(counts, i, std::move(made));
    }
    for (size_t i = 0; i < weightGrads.size(); ++i)
      if (pending(counts, i) > 0) {
        Label made = label;
        made.clock += flat.ns[2][weightGrads[i]];
        made.cost = std::max(label.cost, made.clock + flat.endOffset[rank]);
        add(counts, operations.size() + i, std::move(made));
      }
  }

  void add(Counts counts, size_t counted, Label made) {
    ++counts[counted];
    made.cost = floorOf(counts, made);
    if (made.cost >= ceiling)
      return;
    std::vector<Label> &labels = next[counts];
    effort -= int64_t(labels.size()) / 16;
    for (const Label &label : labels)
      if (label.beats(made))
        return;
    labels.erase(
        std::remove_if(labels.begin(), labels.end(),
                       [&](const Label &label) { return made.beats(label); }),
        labels.end());
    labels.push_back(std::move(made));
  }

public:
  static constexpr size_t maxStagesOfRank = 4;

private:
  const FlatProblem &flat;
  const Propagation &propagation;
  const int32_t rank;
  const int64_t ceiling;
  int64_t &effort;
  /// What the cap takes away at the end of the rank.
  const std::vector<IdlePoint> idle;
  /// A label of several stages takes longer.
  const int64_t labelCost;
  const int32_t all;
  int64_t work = 0;
  std::vector<Operation> operations;
  /// A stage for each counter of W.
  std::vector<int32_t> weightGrads;
  Layer next;
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
    if (stages == 0 || stages > OneRank::maxStagesOfRank)
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
