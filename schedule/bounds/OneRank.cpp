//===- OneRank.cpp - L5: one real rank, all others pure delays ------------===//
//
// One rank with one stage keeps its cap, its order and its exclusive use; every
// other rank becomes a pure delay. What is left is solved exactly by a program
// over (F, I, W) that have run, with labels that no other label of the same
// counts beats in every component: the clock, the ends of the forwards in
// flight and the largest tail so far. Ranks with several stages are left out.
//
//===----------------------------------------------------------------------===//

#include "schedule/bounds/Arguments.h"
#include "schedule/bounds/Propagation.h"

#include <algorithm>
#include <map>

using namespace rondo;

namespace {

struct Label {
  int64_t clock, cost;
  /// When I of each micro-batch in flight can start, oldest first.
  std::vector<int64_t> ready;

  bool beats(const Label &other) const {
    if (clock > other.clock || cost > other.cost)
      return false;
    for (size_t i = 0; i < ready.size(); ++i)
      if (std::max(ready[i], clock) > std::max(other.ready[i], other.clock))
        return false;
    return true;
  }
};

/// Counts of F, I and W. All labels of one sum are made before the next.
using Counts = std::array<int32_t, 3>;
using Layer = std::map<Counts, std::vector<Label>>;

class OneRank {
public:
  OneRank(const Chain &chain, const Propagation &propagation, int32_t stage,
          int64_t ceiling, int64_t &effort)
      : chain(chain), propagation(propagation), stage(stage),
        rank(chain.rankOf[stage]), ceiling(ceiling), effort(effort) {
    for (int32_t s = stage; s + 1 < chain.stages; ++s)
      roundTrip += chain.messages[0][s].transferNs() + chain.ns[0][s + 1] +
                   chain.ns[1][s + 1] + chain.messages[1][s + 1].transferNs();
    all = chain.microbatches;
  }

  /// 0 where the effort ran out.
  int64_t solve() {
    Layer layer;
    layer[{0, 0, 0}] = {{0, 0, {}}};
    for (int32_t step = 0; step < 3 * all; ++step) {
      Layer next;
      for (auto &[counts, labels] : layer)
        for (Label &label : labels) {
          if (--effort < 0)
            return 0;
          expand(counts, label, next);
        }
      layer = std::move(next);
      // Every way costs the known schedule's objective at least.
      if (layer.empty())
        return ceiling;
    }
    int64_t best = never;
    for (const Label &label : layer.begin()->second)
      best = std::min(best, label.cost);
    return best;
  }

private:
  int64_t headOf(int letter, int32_t k) const {
    return propagation.heads(letter)[chain.at(stage, k)];
  }
  int64_t tailOf(int letter, int32_t k) const {
    return propagation.tails(letter)[chain.at(stage, k)];
  }

  void expand(const Counts &counts, const Label &label, Layer &next) {
    const auto [f, i, w] = counts;
    // I first, then W: no F may start while an earlier choice would be better
    // in every component is left to the comparison of labels.
    if (i < f) {
      Label made = label;
      int64_t start =
          std::max({label.clock, label.ready.front(), headOf(1, i)});
      made.clock = start + chain.ns[1][stage];
      made.cost = std::max(label.cost, made.clock + tailOf(1, i));
      made.ready.erase(made.ready.begin());
      add({f, i + 1, w}, std::move(made), next);
    }
    if (w < i) {
      Label made = label;
      made.clock = label.clock + chain.ns[2][stage];
      made.cost = std::max(label.cost, made.clock + tailOf(2, w));
      add({f, i, w + 1}, std::move(made), next);
    }
    const int64_t held = f * chain.takes[stage] -
                         i * chain.inputGradFrees[stage] -
                         w * chain.weightGradFrees[stage];
    if (f < all && held + chain.takes[stage] <= chain.caps[rank]) {
      Label made = label;
      int64_t end = std::max(label.clock, headOf(0, f)) + chain.ns[0][stage];
      made.clock = end;
      made.cost = std::max(label.cost, end + tailOf(0, f));
      made.ready.push_back(end + roundTrip);
      add({f + 1, i, w}, std::move(made), next);
    }
  }

  void add(const Counts &counts, Label made, Layer &next) {
    const auto [f, i, w] = counts;
    int64_t left = (all - f) * chain.ns[0][stage] +
                   (all - i) * chain.ns[1][stage] +
                   (all - w) * chain.ns[2][stage];
    int64_t finish = made.clock + left + chain.endOffset[rank];
    if (f < all)
      finish = std::max(finish, made.clock + chain.ns[0][stage] + tailOf(0, f));
    if (i < all)
      finish = std::max(finish, made.clock + chain.ns[1][stage] + tailOf(1, i));
    if (std::max(made.cost, finish) >= ceiling)
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

  const Chain &chain;
  const Propagation &propagation;
  const int32_t stage, rank;
  const int64_t ceiling;
  int64_t &effort;
  int64_t roundTrip = 0;
  int32_t all = 0;
};

int64_t computeOneRank(const Problem &problem, int64_t ceiling,
                       int64_t effort) {
  std::optional<Chain> chain = Chain::of(problem, BackwardCosts::Least);
  if (!chain || !chain->offsetsAreExact)
    return 0;
  Propagation propagation(*chain, true);
  if (propagation.estimate(PartialState(*chain)).bound >= never)
    return 0;
  int64_t best = 0;
  // A rank may not use up what the others need.
  int64_t share = effort / std::max(1, chain->ranks);
  for (int32_t rank = 0; rank < chain->ranks; ++rank) {
    if (chain->stagesOf[rank].size() != 1)
      continue;
    int64_t own = share;
    int64_t bound = OneRank(*chain, propagation, chain->stagesOf[rank].front(),
                            ceiling, own)
                        .solve();
    best = std::max(best, bound);
    if (best >= ceiling)
      break;
  }
  return best;
}

} // namespace

BoundArgument rondo::oneRank() {
  return {"L5", "one real rank, the others as delays", computeOneRank, true};
}
