//===- Beam.cpp - Partial schedules, layer by layer -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Active schedules (Giffler and Thompson, 1960) of ranks and contended links:
// of all tasks and messages that could be next, the one that would end first
// determines a rank or link, which takes any of its own that could start before
// that end. Consider a schedule that continues differently. The one that would
// end first fits before what comes next there, and nothing gets later: I and W
// only give memory back, and F only moves before tasks of these letters, unless
// another stage's F of its rank comes first. For that case F is also banned
// until one has run there. So these choices reach the best schedule if the
// objective never gains from a later end.
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
  /// Index into Orders.
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
  Beam(const FlatProblem &flat, int64_t width, Incumbent &best, Budget &budget)
      : flat(flat), width(width), best(best), budget(budget),
        propagation(flat, true), child(flat, true) {
    for (int32_t rank = 0; rank < flat.ranks; ++rank) {
      const auto &stages = flat.stagesOf[rank];
      int64_t all = 0;
      bool areEqual = true;
      for (int32_t s : stages) {
        all += flat.takes[s] * flat.microbatches;
        areEqual &=
            flat.ns[2][s] == flat.ns[2][stages.front()] &&
            flat.weightGradFrees[s] == flat.weightGradFrees[stages.front()];
      }
      mayBan.push_back(stages.size() > 1 && all > flat.caps[rank]);
      hasEqualWeightGrads.push_back(areEqual);
    }
    depths = flat.tasks();
    for (const FlatProblem::Message &message : flat.messages)
      if (message.isContended && message.beginsBurst())
        depths += flat.microbatches;
  }

  bool run() {
    std::vector<Item> layer;
    layer.push_back({PartialState(flat, true), {}, -1, false});
    for (int64_t depth = 0; depth < depths; ++depth) {
      used = 0;
      groups.clear();
      left = (flat.tasks() * (depths - depth)) / depths;
      for (Item &item : layer) {
        expand(item.state, item.node);
        if (budget.isSpent())
          return false;
      }
      keepBest(layer);
      if (layer.empty())
        return end(best.objective);
    }
    const Item *winner = &layer.front();
    for (const Item &item : layer)
      if (item.estimate.bound < winner->estimate.bound)
        winner = &item;
    int64_t value = winner->estimate.bound;
    const Orders orders = ordersOf(winner->node);
    const int64_t least = std::min(best.objective, value);
    if (flat.cards > 0)
      value = Timer(flat).run(orders, best.objective);
    best.offer(orders, value, "beam");
    return end(least);
  }

private:
  /// All choices have been gone through or cut off; none is below `least`.
  bool end(int64_t least) {
    if (!wasCut)
      best.exhaustedNs = least;
    return !wasCut;
  }

  /// A task or, if `string` is a link's, the burst that begins with `edge`.
  struct Choice {
    int32_t string;
    int letter;
    int32_t stage, edge;
    int64_t start, end;
  };

  void listChoices(const PartialState &state) {
    choices.clear();
    for (int32_t r = 0; r < flat.ranks; ++r) {
      bool hasWeightGrad = false;
      for (int32_t s : flat.stagesOf[r])
        for (int letter : {0, 1, 2}) {
          const int64_t start = state.earliest(flat, letter, s);
          if (start >= never ||
              (letter == 0 && (state.banned(s) || !state.fits(flat, s))))
            continue;
          // W of stages with equal times and bytes are interchangeable.
          if (letter == 2) {
            if (hasWeightGrad && hasEqualWeightGrads[r])
              continue;
            hasWeightGrad = true;
          }
          choices.push_back(
              {r, letter, s, -1, start, start + flat.ns[letter][s]});
        }
    }
    if (!flat.hasContendedLinks)
      return;
    for (size_t e = 0; e < flat.messages.size(); ++e) {
      const FlatProblem::Message &message = flat.messages[e];
      if (!message.isContended || !message.beginsBurst())
        continue;
      const int64_t start = state.earliestSend(flat, int32_t(e));
      if (start < never)
        choices.push_back({flat.ranks + message.link, message.letter,
                           message.from, int32_t(e), start,
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
    if (first.string >= flat.ranks || first.letter != 0 ||
        !mayBan[first.string] || !canWait(state, first.stage))
      return;
    PartialState held = state;
    held.banned(first.stage) = 1;
    expand(held, node);
  }

  /// Another stage of this rank still has an F that is not banned.
  bool canWait(const PartialState &state, int32_t stage) const {
    for (int32_t s : flat.stagesOf[flat.rankOf[stage]])
      if (s != stage && !state.banned(s) &&
          state.done(0, s) < flat.microbatches)
        return true;
    return false;
  }

  void make(const PartialState &state, const Choice &choice, int32_t node) {
    child.data = state.data;
    if (choice.string < flat.ranks)
      child.run(flat, choice.letter, choice.stage, choice.start);
    else
      child.send(flat, choice.edge);
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
      if (!made[other].isBeaten && child.dominates(flat, made[other].state))
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
      if (!made[other].isBeaten && made[other].state.dominates(flat, child))
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
    Orders orders(flat.ranks + (flat.hasContendedLinks ? flat.links : 0));
    for (; node >= 0; node = nodes[node].parent)
      orders[nodes[node].string].push_back(nodes[node].code);
    for (auto &order : orders)
      std::reverse(order.begin(), order.end());
    return orders;
  }

  const FlatProblem &flat;
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

bool rondo::beam(const FlatProblem &flat, int64_t width, Incumbent &best,
                 Budget &budget) {
  return Beam(flat, width, best, budget).run();
}
