//===- Beam.cpp - Layers of partial schedules -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Active schedules (Giffler and Thompson, 1960) of ranks and contended links:
// of all tasks and messages that could be next, the one that would end first
// fixes a rank or link, and this takes any of its own that could start before
// that end. Take a schedule that goes on in another way. The one that would end
// first fits in before what comes next there, and nothing is later: I and W
// only give memory back, and F only moves before tasks of these letters, unless
// another stage's F of its rank comes first. For that case F is also banned
// until one has run there. So with these choices the best schedule is reached
// wherever the objective never gains from a later end.
//
//===----------------------------------------------------------------------===//

#include "schedule/bounds/Propagation.h"
#include "schedule/search/Orders.h"

#include <algorithm>
#include <unordered_map>

using namespace rondo;

namespace {

struct Node {
  int32_t parent;
  /// Of Orders.
  int32_t string;
  Code code;
};

struct Item {
  PartialState state;
  Estimate estimate;
  int32_t node;
  bool isBeaten;
};

class Beam {
public:
  Beam(const Chain &chain, int64_t width, Incumbent &best, Budget &budget)
      : chain(chain), width(width), best(best), budget(budget),
        propagation(chain, true), child(chain, true) {
    for (int32_t rank = 0; rank < chain.ranks; ++rank) {
      const auto &stages = chain.stagesOf[rank];
      int64_t all = 0;
      bool areEqual = true;
      for (int32_t s : stages) {
        all += chain.takes[s] * chain.microbatches;
        areEqual &=
            chain.ns[2][s] == chain.ns[2][stages.front()] &&
            chain.weightGradFrees[s] == chain.weightGradFrees[stages.front()];
      }
      mayBan.push_back(stages.size() > 1 && all > chain.caps[rank]);
      hasEqualWeightGrads.push_back(areEqual);
    }
    depths = chain.tasks();
    for (int letter : {0, 1})
      for (const Chain::Message &message : chain.messages[letter])
        if (message.isContended)
          depths += chain.microbatches;
  }

  bool run() {
    std::vector<Item> layer;
    layer.push_back({PartialState(chain, true), {}, -1, false});
    for (int64_t depth = 0; depth < depths; ++depth) {
      used = 0;
      groups.clear();
      left = (chain.tasks() * (depths - depth)) / depths;
      for (Item &item : layer) {
        expand(item.state, item.node);
        if (budget.isSpent())
          return false;
      }
      keepBest(layer);
      if (layer.empty())
        return !wasCut;
    }
    const Item *winner = &layer.front();
    for (const Item &item : layer)
      if (item.estimate.bound < winner->estimate.bound)
        winner = &item;
    best.offer(ordersOf(winner->node), winner->estimate.bound, "beam");
    return !wasCut;
  }

private:
  /// A task, or where `string` is a link's, a message.
  struct Choice {
    int32_t string;
    int letter;
    int32_t stage;
    int64_t start, end;
  };

  void listChoices(const PartialState &state) {
    choices.clear();
    for (int32_t r = 0; r < chain.ranks; ++r) {
      bool hasWeightGrad = false;
      for (int32_t s : chain.stagesOf[r])
        for (int letter : {0, 1, 2}) {
          const int64_t start = state.earliest(chain, letter, s);
          if (start >= never ||
              (letter == 0 && (state.banned(s) || !state.fits(chain, s))))
            continue;
          // W of stages with equal times and bytes are interchangeable.
          if (letter == 2) {
            if (hasWeightGrad && hasEqualWeightGrads[r])
              continue;
            hasWeightGrad = true;
          }
          choices.push_back({r, letter, s, start, start + chain.ns[letter][s]});
        }
    }
    if (!chain.hasContendedLinks)
      return;
    for (int letter : {0, 1})
      for (int32_t s = 0; s < chain.stages; ++s) {
        const Chain::Message &message = chain.messages[letter][s];
        if (!message.isContended)
          continue;
        const int64_t start = state.earliestSend(chain, letter, s);
        if (start < never)
          choices.push_back({chain.ranks + message.link, letter, s, start,
                             start + message.occupancyNs});
      }
  }

  void expand(const PartialState &state, int32_t node) {
    listChoices(state);
    if (choices.empty())
      return;
    const Choice first = *std::min_element(
        choices.begin(), choices.end(),
        [](const Choice &a, const Choice &b) { return a.end < b.end; });
    for (const Choice &choice : choices)
      if (choice.string == first.string &&
          (choice.start < first.end || choice.end == first.end))
        make(state, choice, node);
    if (first.string >= chain.ranks || first.letter != 0 ||
        !mayBan[first.string] || !canWait(state, first.stage))
      return;
    PartialState held = state;
    held.banned(first.stage) = 1;
    expand(held, node);
  }

  /// Another stage of this rank still has an F that is not banned.
  bool canWait(const PartialState &state, int32_t stage) const {
    for (int32_t s : chain.stagesOf[chain.rankOf[stage]])
      if (s != stage && !state.banned(s) &&
          state.done(0, s) < chain.microbatches)
        return true;
    return false;
  }

  void make(const PartialState &state, const Choice &choice, int32_t node) {
    child.data = state.data;
    if (choice.string < chain.ranks)
      child.run(chain, choice.letter, choice.stage, choice.start);
    else
      child.send(chain, choice.letter, choice.stage);
    std::vector<int32_t> &group = groups[child.key()];
    budget.use(8);
    if (isBeaten(group))
      return;
    Estimate estimate = propagation.estimate(child, best.objective);
    budget.use(left / 2 + 1);
    if (estimate.bound >= best.objective)
      return;
    propagation.tighten(child);
    if (isBeaten(group))
      return;
    for (int32_t other : group)
      if (!made[other].isBeaten && child.dominates(made[other].state))
        made[other].isBeaten = true;
    if (used == made.size())
      made.emplace_back();
    group.push_back(int32_t(used));
    Item &item = made[used++];
    item.state = child;
    item.estimate = estimate;
    item.isBeaten = false;
    nodes.push_back({node, choice.string, codeOf(choice.letter, choice.stage)});
    item.node = int32_t(nodes.size()) - 1;
  }

  /// Whether some state of this layer is at least as good as `child` in every
  /// respect.
  bool isBeaten(const std::vector<int32_t> &group) const {
    for (int32_t other : group)
      if (!made[other].isBeaten && made[other].state.dominates(child))
        return true;
    return false;
  }

  void keepBest(std::vector<Item> &layer) {
    order.clear();
    for (size_t i = 0; i < used; ++i)
      if (!made[i].isBeaten)
        order.push_back(int32_t(i));
    auto isBetter = [&](int32_t a, int32_t b) {
      const Estimate &x = made[a].estimate, &y = made[b].estimate;
      return x.bound != y.bound ? x.bound < y.bound
             : x.sum != y.sum   ? x.sum < y.sum
                                : a < b;
    };
    if (int64_t(order.size()) > width) {
      std::nth_element(order.begin(), order.begin() + width, order.end(),
                       isBetter);
      order.resize(width);
      wasCut = true;
    }
    std::sort(order.begin(), order.end(), isBetter);
    layer.resize(order.size());
    for (size_t i = 0; i < order.size(); ++i)
      std::swap(layer[i], made[order[i]]);
  }

  Orders ordersOf(int32_t node) const {
    Orders orders(chain.ranks + (chain.hasContendedLinks ? chain.links : 0));
    for (; node >= 0; node = nodes[node].parent)
      orders[nodes[node].string].push_back(nodes[node].code);
    for (auto &order : orders)
      std::reverse(order.begin(), order.end());
    return orders;
  }

  const Chain &chain;
  const int64_t width;
  Incumbent &best;
  Budget &budget;
  Propagation propagation;
  PartialState child;
  /// By rank: whether an F may gain from waiting, and whether all W are alike.
  std::vector<bool> mayBan, hasEqualWeightGrads;
  bool wasCut = false;
  int64_t depths = 0, left = 0;
  std::vector<Choice> choices;
  /// The next layer; only the first `used` states count.
  std::vector<Item> made;
  size_t used = 0;
  std::vector<Node> nodes;
  std::vector<int32_t> order;
  std::unordered_map<uint64_t, std::vector<int32_t>> groups;
};

} // namespace

bool rondo::beam(const Chain &chain, int64_t width, Incumbent &best,
                 Budget &budget) {
  return Beam(chain, width, best, budget).run();
}
