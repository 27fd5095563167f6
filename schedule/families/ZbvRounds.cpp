//===- ZbvRounds.cpp - Greedy layout of zbv-auto --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/families/ZbvRounds.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::zbvRounds;

Costs::Costs(const FlatProblem &flat, const Chunks &chunks, bool isEven)
    : ranks(chunks.ranks), microbatches(flat.microbatches) {
  for (int letter : {0, 1, 2}) {
    std::vector<int64_t> ns = flat.ns[letter];
    if (isEven) {
      std::nth_element(ns.begin(), ns.begin() + ns.size() / 2, ns.end());
      ns.assign(ns.size(), ns[ns.size() / 2]);
    }
    for (int32_t chunk : {0, 1})
      for (int32_t rank = 0; rank < ranks; ++rank)
        (letter == 2 ? weightGradNs[chunk]
                     : legNs[letter == 0 ? chunk : 3 - chunk])
            .push_back(ns[chunks.stage(chunk, rank)]);
  }
  for (int leg = 0; leg < numLegs; ++leg)
    for (int32_t rank = 0; rank < ranks; ++rank) {
      const int32_t s = chunks.stage(chunkOf[leg], rank);
      const int32_t from = isForward(leg) ? s - 1 : s + 1;
      const bool isFirst = from < 0 || from == flat.stages;
      messageNs[leg].push_back(
          isFirst ? 0
                  : flat.messages[*flat.outputs(isForward(leg) ? 0 : 1, from)
                                       .begin()]
                        .latencyNs);
    }
  for (int32_t chunk : {0, 1})
    for (int32_t rank = 0; rank < ranks; ++rank) {
      const int32_t s = chunks.stage(chunk, rank);
      takes[chunk].push_back(flat.takes[s]);
      inputGradFrees[chunk].push_back(flat.inputGradFrees[s]);
      weightGradFrees[chunk].push_back(flat.weightGradFrees[s]);
    }
}

namespace {

class Greedy {
public:
  Greedy(const Costs &costs, const std::vector<int64_t> &limits,
         Switches switches, const std::vector<int64_t> &allowed)
      : costs(costs), limits(limits), switches(switches), allowed(allowed),
        maxAllowed(*std::max_element(allowed.begin(), allowed.end())),
        ranks(costs.ranks) {
    for (std::vector<int64_t> &column : end)
      column.assign(size_t(costs.ranks) * costs.microbatches, -1);
    for (Rank &rank : ranks)
      rank.order.reserve(size_t(6) * costs.microbatches);
  }

  /// nullopt if a rank gets stuck: its limit is too low, or its next task lacks
  /// its input.
  std::optional<Outcome> run() {
    if (!warmUp() || !runRounds())
      return std::nullopt;
    Outcome outcome;
    for (Rank &rank : ranks) {
      while (rank.hasWeightGrad())
        weightGrad(rank);
      outcome.idle.push_back(rank.idle);
      outcome.spanNs = std::max(outcome.spanNs, rank.clock - rank.first);
      outcome.makespanNs = std::max(outcome.makespanNs, rank.clock);
      outcome.orders.push_back(std::move(rank.order));
    }
    outcome.longestIdle = longestIdle;
    return outcome;
  }

private:
  struct Rank {
    int64_t clock = 0, first = -1, idle = 0, held = 0;
    int32_t done[numLegs] = {0, 0, 0, 0};
    /// Chunks of the I that have run, in order, and how many of these have had
    /// their W.
    std::vector<uint8_t> inputGrads;
    size_t weightGrads = 0;
    std::vector<Entry> order;

    bool hasWeightGrad() const { return weightGrads < inputGrads.size(); }
    int32_t forwards() const { return done[F0] + done[F1]; }
  };

  int32_t indexOf(const Rank &rank) const { return int32_t(&rank - &ranks[0]); }

  /// Time at which the input of the next task of a leg arrives; -1 if the input
  /// is not made yet or there is no further task.
  int64_t arrival(int32_t r, int leg) const {
    const int32_t k = ranks[r].done[leg];
    if (k == costs.microbatches)
      return -1;
    const int32_t from = isDown(leg) ? r - 1 : r + 1;
    int64_t made;
    if (from >= 0 && from < costs.ranks)
      made = end[leg][size_t(from) * costs.microbatches + k];
    else if (leg == F0)
      return 0;
    else // The leg before ends on this rank.
      made = end[leg - 1][size_t(r) * costs.microbatches + k];
    return made < 0 ? -1 : made + costs.messageNs[leg][r];
  }
  bool comesFromElsewhere(int32_t r, int leg) const {
    return isDown(leg) ? r > 0 : r + 1 < costs.ranks;
  }

  /// Runs the next task of a leg; false if its input is not made, it does not
  /// fit, or all have run.
  bool place(int32_t r, int leg) {
    Rank &rank = ranks[r];
    const int32_t k = rank.done[leg], chunk = chunkOf[leg];
    const int64_t input = arrival(r, leg);
    if (input < 0 || (isForward(leg) && !fits(r, leg)))
      return false;
    if (isForward(leg)) {
      rank.held += costs.takes[chunk][r];
    } else {
      rank.held -= costs.inputGradFrees[chunk][r];
      rank.inputGrads.push_back(uint8_t(chunk));
    }
    const int64_t start = std::max(rank.clock, input);
    if (rank.first < 0)
      rank.first = start;
    else
      rank.idle += start - rank.clock;
    longestIdle = std::max(longestIdle, rank.idle);
    rank.clock = start + costs.legNs[leg][r];
    end[leg][size_t(r) * costs.microbatches + k] = rank.clock;
    ++rank.done[leg];
    ++placed;
    rank.order.push_back({0, uint8_t(leg)});
    return true;
  }

  /// Whether an F of a leg keeps the limit. F of the first chunk must also
  /// leave memory for the next f once everything before it is finished.
  bool fits(int32_t r, int leg) const {
    const Rank &rank = ranks[r];
    if (rank.held + costs.takes[chunkOf[leg]][r] > limits[r])
      return false;
    return leg == F1 ||
           (rank.done[F0] + 1 - rank.done[F1]) * costs.takes[0][r] +
                   costs.takes[1][r] <=
               limits[r];
  }

  void weightGrad(Rank &rank) {
    const int32_t r = indexOf(rank);
    const uint8_t chunk = rank.inputGrads[rank.weightGrads++];
    rank.clock += costs.weightGradNs[chunk][r];
    rank.held -= costs.weightGradFrees[chunk][r];
    rank.order.push_back({1, chunk});
  }

  /// Runs W while the next task of a leg waits for its input. `mayDelay`: one W
  /// may end after the input arrives.
  void fill(int32_t r, int leg, bool mayDelay) {
    Rank &rank = ranks[r];
    if (!comesFromElsewhere(r, leg) || !rank.hasWeightGrad())
      return;
    const int64_t input = arrival(r, leg);
    if (input < 0)
      return;
    while (rank.hasWeightGrad() &&
           rank.clock +
                   costs.weightGradNs[rank.inputGrads[rank.weightGrads]][r] <=
               input)
      weightGrad(rank);
    const int64_t most = std::max(longestIdle, maxAllowed - allowed[r]);
    if (mayDelay && rank.hasWeightGrad() &&
        input - rank.clock > most - rank.idle)
      weightGrad(rank);
  }

  bool warmUp() {
    const int32_t last = costs.ranks - 1;
    for (int32_t r = 0; r <= last; ++r)
      if (!place(r, F0))
        return false;
    for (int32_t r = last; r >= 0; --r) {
      while (r < last && ranks[r].done[F0] < costs.microbatches &&
             ranks[r].clock + costs.legNs[F0][r] <= arrival(r, F1) &&
             haveRoomAhead(r))
        for (int32_t above = 0; above <= r; ++above)
          if (!place(above, F0))
            return false;
      if (!place(r, F1))
        return false;
    }
    for (int32_t r = 1; r <= last; ++r) {
      const Rank &rank = ranks[r], &above = ranks[r - 1];
      for (int64_t before = -1; before < placed && isBehind(rank, above);) {
        before = placed;
        for (int n = 0; n < 2 && isBehind(rank, above); ++n) {
          for (int32_t below = last; below >= r; --below)
            place(below, warmUpLeg);
          warmUpLeg = 1 - warmUpLeg;
        }
      }
    }
    return true;
  }

  bool isBehind(const Rank &rank, const Rank &above) const {
    return rank.forwards() < above.forwards() ||
           (rank.done[F1] <= above.done[F1] &&
            above.done[F1] < costs.microbatches);
  }

  /// Whether another F leaves rank `r` and the ranks above it the memory that
  /// they still need.
  bool haveRoomAhead(int32_t r) const {
    for (int32_t above = 0; above <= r; ++above) {
      const int64_t most =
          std::max(costs.takes[0][above], costs.takes[1][above]);
      if (most > 0 &&
          (limits[above] - ranks[above].held) / most < 2 + 2 * above)
        return false;
    }
    return true;
  }

  bool runRounds() {
    std::vector<int32_t> first, second;
    const int64_t all = int64_t(numLegs) * costs.ranks * costs.microbatches;
    while (placed < all) {
      const int64_t before = placed;
      // The choice between I0 and I1 depends only on the previous rounds.
      first.clear();
      second.clear();
      for (int32_t r = 0; r < costs.ranks; ++r)
        (takesSecondInputGrad(r) ? second : first).push_back(r);
      for (auto r = second.rbegin(); r != second.rend(); ++r) {
        fill(*r, I0, true);
        place(*r, I0);
      }
      for (int32_t r : first) {
        fill(r, I1, switches.fillsInputGrad);
        place(r, I1);
      }
      for (int32_t r = 0; r < costs.ranks; ++r)
        runForward(r);
      if (placed == before)
        return false;
    }
    return true;
  }

  bool takesSecondInputGrad(int32_t r) const {
    const Rank &rank = ranks[r];
    if (rank.done[I0] >= rank.done[I1])
      return false;
    return r + 1 == costs.ranks || rank.done[I1] == costs.microbatches ||
           arrival(r, I0) >= 0;
  }

  void runForward(int32_t r) {
    Rank &rank = ranks[r];
    int leg = F1;
    if (rank.done[F1] >= rank.done[F0] || arrival(r, F1) < 0)
      leg = F0;
    if (arrival(r, leg) < 0)
      return;
    while (rank.hasWeightGrad() && !fits(r, leg))
      weightGrad(rank);
    if (!fits(r, leg))
      return;
    fill(r, leg, switches.fillsForward);
    place(r, leg);
  }

  const Costs &costs;
  const std::vector<int64_t> &limits;
  const Switches switches;
  const std::vector<int64_t> &allowed;
  const int64_t maxAllowed;
  std::vector<Rank> ranks;
  int64_t longestIdle = 0, placed = 0;
  int warmUpLeg = F0;
  /// End in ns, [leg][rank * M + micro-batch]; -1 if it has not run.
  std::array<std::vector<int64_t>, numLegs> end;
};

} // namespace

std::optional<Outcome> zbvRounds::layOut(const Costs &costs,
                                         const std::vector<int64_t> &limits,
                                         Switches switches,
                                         const std::vector<int64_t> &allowed) {
  return Greedy(costs, limits, switches, allowed).run();
}
