//===- Beam.cpp - Layers of partial schedules -----------------------------===//
//
// Active schedules (Giffler and Thompson, 1960): of all tasks that could run
// next, the one that would end first fixes a rank, and this rank takes any of
// its tasks that could start before that end. I and W never gain from waiting,
// as they give memory back. F can, where another stage of its rank needs the
// memory: then it is also banned until another stage's F has run there. With
// these choices the best schedule is reached where all times are positive and
// no link is serial.
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
  Code code;
};

struct Item {
  PartialState state;
  Estimate estimate;
  int32_t node;
};

class Beam {
public:
  Beam(const Chain &chain, int64_t width, Incumbent &best, Budget &budget)
      : chain(chain), width(width), best(best), budget(budget),
        propagation(chain, true) {
    mayBan = false;
    for (int32_t rank = 0; rank < chain.ranks; ++rank)
      mayBan |= chain.stagesOf[rank].size() > 1 && chain.hasTightMemory;
  }

  bool run() {
    std::vector<Item> layer;
    layer.push_back({PartialState(chain), {}, -1});
    for (int64_t depth = 0; depth < chain.tasks(); ++depth) {
      made.clear();
      left = chain.tasks() - depth;
      for (const Item &item : layer) {
        expand(item.state, item.node);
        if (budget.isSpent())
          return false;
      }
      if (made.empty())
        return !wasCut;
      keepBest(layer);
    }
    const Item *winner = &layer.front();
    for (const Item &item : layer)
      if (item.estimate.bound < winner->estimate.bound)
        winner = &item;
    best.offer(ordersOf(winner->node), winner->estimate.bound, "beam");
    return !wasCut;
  }

private:
  struct Choice {
    int letter;
    int32_t stage;
    int64_t start;
  };

  void expand(const PartialState &state, int32_t node) {
    int64_t firstEnd = never;
    int32_t rank = -1;
    choices.clear();
    for (int32_t r = 0; r < chain.ranks; ++r) {
      bool hasWeightGrad = false;
      for (int32_t s : chain.stagesOf[r])
        for (int letter : {0, 1, 2}) {
          int64_t start = state.earliest(chain, letter, s);
          if (start >= never ||
              (letter == 0 && (state.banned(s) || !state.fits(chain, s))))
            continue;
          // W of stages with equal time and bytes may change places.
          if (letter == 2) {
            if (hasWeightGrad && hasEqualWeightGrads(r))
              continue;
            hasWeightGrad = true;
          }
          choices.push_back({letter, s, start});
          int64_t end = start + chain.ns[letter][s];
          if (end < firstEnd) {
            firstEnd = end;
            rank = r;
          }
        }
    }
    if (rank < 0)
      return;
    std::vector<Choice> own;
    for (const Choice &choice : choices)
      if (chain.rankOf[choice.stage] == rank &&
          (choice.start < firstEnd ||
           choice.start + chain.ns[choice.letter][choice.stage] == firstEnd))
        own.push_back(choice);
    for (const Choice &choice : own) {
      PartialState child = state;
      child.run(chain, choice.letter, choice.stage, choice.start);
      Estimate estimate = propagation.estimate(child);
      budget.use(left / 2 + 1);
      if (estimate.bound < best.objective) {
        nodes.push_back({node, codeOf(choice.letter, choice.stage)});
        made.push_back({std::move(child), estimate, int32_t(nodes.size()) - 1});
      }
    }
    if (!mayBan)
      return;
    for (const Choice &choice : own)
      if (choice.letter == 0 && canWait(state, choice.stage)) {
        PartialState waiting = state;
        waiting.banned(choice.stage) = 1;
        expand(waiting, node);
      }
  }

  bool hasEqualWeightGrads(int32_t rank) const {
    const auto &stages = chain.stagesOf[rank];
    for (int32_t s : stages)
      if (chain.ns[2][s] != chain.ns[2][stages.front()] ||
          chain.weightGradFrees[s] != chain.weightGradFrees[stages.front()])
        return false;
    return true;
  }

  /// Bans are made in order of stages, so that no set is made twice.
  bool canWait(const PartialState &state, int32_t stage) const {
    bool anotherIsFree = false;
    for (int32_t s : chain.stagesOf[chain.rankOf[stage]]) {
      if (s > stage && state.banned(s))
        return false;
      anotherIsFree |= s != stage && !state.banned(s) &&
                       state.done(0, s) < chain.microbatches;
    }
    return anotherIsFree;
  }

  void keepBest(std::vector<Item> &layer) {
    order.resize(made.size());
    for (size_t i = 0; i < made.size(); ++i)
      order[i] = int32_t(i);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      const Estimate &x = made[a].estimate, &y = made[b].estimate;
      return x.bound != y.bound ? x.bound < y.bound : x.sum < y.sum;
    });
    layer.clear();
    groups.clear();
    for (int32_t i : order) {
      if (int64_t(layer.size()) == width) {
        wasCut = true;
        break;
      }
      std::vector<int32_t> &group = groups[made[i].state.key()];
      bool isBeaten = false;
      for (int32_t kept : group)
        isBeaten = isBeaten || layer[kept].state.dominates(made[i].state);
      if (isBeaten)
        continue;
      group.push_back(int32_t(layer.size()));
      layer.push_back(std::move(made[i]));
    }
  }

  Orders ordersOf(int32_t node) const {
    Orders orders(chain.ranks);
    for (; node >= 0; node = nodes[node].parent)
      orders[chain.rankOf[stageOf(nodes[node].code)]].push_back(
          nodes[node].code);
    for (auto &order : orders)
      std::reverse(order.begin(), order.end());
    return orders;
  }

  const Chain &chain;
  const int64_t width;
  Incumbent &best;
  Budget &budget;
  Propagation propagation;
  bool mayBan, wasCut = false;
  int64_t left = 0;
  std::vector<Choice> choices;
  std::vector<Item> made;
  std::vector<Node> nodes;
  std::vector<int32_t> order;
  std::unordered_map<uint64_t, std::vector<int32_t>> groups;
};

} // namespace

bool rondo::beam(const Chain &chain, int64_t width, Incumbent &best,
                 Budget &budget) {
  return Beam(chain, width, best, budget).run();
}
