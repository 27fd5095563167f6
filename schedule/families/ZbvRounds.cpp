//===- ZbvRounds.cpp - Greedy layout of zbv-auto --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/families/ZbvRounds.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::zbvRounds;

namespace {

/// Legs in the order of a micro-batch.
enum Leg : uint8_t { F0, F1, I1, I0, numLegs };
constexpr int32_t chunkOf[numLegs] = {0, 1, 1, 0};
constexpr bool isForward(int leg) { return leg < 2; }
/// From rank to rank + 1.
constexpr bool isDown(int leg) { return leg % 2 == 0; }

class LegRounds {
public:
  LegRounds(const FlatProblem &flat, const Chunks &chunks,
            const std::vector<int64_t> &limits, Switches switches,
            const std::vector<int64_t> &allowed)
      : flat(flat), chunks(chunks), limits(limits), switches(switches),
        allowed(allowed),
        maxAllowed(*std::max_element(allowed.begin(), allowed.end())),
        ranks(flat.ranks), state(flat) {
    for (Rank &rank : ranks)
      rank.order.reserve(size_t(6) * flat.microbatches);
  }

  /// nullopt if a rank gets stuck: its limit is too low, or its next task lacks
  /// its input.
  std::optional<Outcome> run() {
    if (!warmUp() || !runRounds())
      return std::nullopt;
    Outcome outcome;
    for (int32_t r = 0; r < flat.ranks; ++r) {
      Rank &rank = ranks[r];
      while (rank.hasWeightGrad())
        weightGrad(r);
      outcome.idle.push_back(rank.idle);
      outcome.spanNs = std::max(outcome.spanNs, state.clock(r) - rank.first);
      outcome.makespanNs = std::max(outcome.makespanNs, state.clock(r));
      outcome.orders.push_back(std::move(rank.order));
    }
    outcome.longestIdle = longestIdle;
    return outcome;
  }

private:
  struct Rank {
    int64_t first = -1, idle = 0;
    /// Stages of I in their order, and how many of these have had their W.
    std::vector<int32_t> inputGrads;
    size_t weightGrads = 0;
    std::vector<Action> order;

    bool hasWeightGrad() const { return weightGrads < inputGrads.size(); }
  };

  int32_t stageOf(int leg, int32_t r) const {
    return chunks.stage(chunkOf[leg], r);
  }
  static Task taskOf(int leg) { return isForward(leg) ? Task::F : Task::I; }
  int64_t done(int leg, int32_t r) const {
    return state.done(taskOf(leg), stageOf(leg, r));
  }
  int64_t forwards(int32_t r) const { return done(F0, r) + done(F1, r); }
  /// The stage of the oldest pending W.
  int32_t nextWeightGrad(int32_t r) const {
    return ranks[r].inputGrads[ranks[r].weightGrads];
  }

  /// Time at which the input of the next task of a leg arrives; -1 if the input
  /// is not made yet or there is no further task.
  int64_t arrival(int32_t r, int leg) const {
    if (done(leg, r) == flat.microbatches)
      return -1;
    const int64_t time = state.ready(flat, taskOf(leg), stageOf(leg, r));
    return time < never ? time : -1;
  }
  bool comesFromElsewhere(int32_t r, int leg) const {
    return isDown(leg) ? r > 0 : r + 1 < flat.ranks;
  }

  /// Runs the next task of a leg; false if its input is not made, it does not
  /// fit, or all have run.
  bool place(int32_t r, int leg) {
    Rank &rank = ranks[r];
    const int64_t input = arrival(r, leg);
    if (input < 0 || (isForward(leg) && !fits(r, leg)))
      return false;
    if (!isForward(leg))
      rank.inputGrads.push_back(stageOf(leg, r));
    const int64_t start = std::max(state.clock(r), input);
    if (rank.first < 0)
      rank.first = start;
    else
      rank.idle += start - state.clock(r);
    longestIdle = std::max(longestIdle, rank.idle);
    append(r, taskOf(leg), stageOf(leg, r), start);
    ++placed;
    return true;
  }

  /// Whether an F of a leg keeps the limit. F of the first chunk must also
  /// leave memory for the next f once everything before it is finished.
  bool fits(int32_t r, int leg) const {
    if (state.held(r) + flat.takes[stageOf(leg, r)] > limits[r])
      return false;
    return leg == F1 ||
           (done(F0, r) + 1 - done(F1, r)) * flat.takes[stageOf(F0, r)] +
                   flat.takes[stageOf(F1, r)] <=
               limits[r];
  }

  void weightGrad(int32_t r) {
    append(r, Task::W, nextWeightGrad(r), state.clock(r));
    ++ranks[r].weightGrads;
  }

  /// Runs a stage's next `task`.
  void append(int32_t r, Task task, int32_t stage, int64_t start) {
    ranks[r].order.emplace_back(kindOf(task), stage, state.done(task, stage));
    state.run(flat, task, stage, start);
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
           state.clock(r) + flat.ns[Task::W][nextWeightGrad(r)] <= input)
      weightGrad(r);
    const int64_t most = std::max(longestIdle, maxAllowed - allowed[r]);
    if (mayDelay && rank.hasWeightGrad() &&
        input - state.clock(r) > most - rank.idle)
      weightGrad(r);
  }

  bool warmUp() {
    const int32_t last = flat.ranks - 1;
    for (int32_t r = 0; r <= last; ++r)
      if (!place(r, F0))
        return false;
    for (int32_t r = last; r >= 0; --r) {
      while (r < last && done(F0, r) < flat.microbatches &&
             state.clock(r) + flat.ns[Task::F][stageOf(F0, r)] <=
                 arrival(r, F1) &&
             haveRoomAhead(r))
        for (int32_t above = 0; above <= r; ++above)
          if (!place(above, F0))
            return false;
      if (!place(r, F1))
        return false;
    }
    for (int32_t r = 1; r <= last; ++r)
      for (int64_t before = -1; before < placed && isBehind(r);) {
        before = placed;
        for (int n = 0; n < 2 && isBehind(r); ++n) {
          for (int32_t below = last; below >= r; --below)
            place(below, warmUpLeg);
          warmUpLeg = 1 - warmUpLeg;
        }
      }
    return true;
  }

  /// Whether the rank has run fewer forwards than the rank above it, or does
  /// not yet have one f more than that rank.
  bool isBehind(int32_t r) const {
    return forwards(r) < forwards(r - 1) ||
           (done(F1, r) <= done(F1, r - 1) &&
            done(F1, r - 1) < flat.microbatches);
  }

  /// Whether another F leaves rank `r` and the ranks above it the memory that
  /// they still need.
  bool haveRoomAhead(int32_t r) const {
    for (int32_t above = 0; above <= r; ++above) {
      const int64_t most = std::max(flat.takes[stageOf(F0, above)],
                                    flat.takes[stageOf(F1, above)]);
      if (most > 0 &&
          (limits[above] - state.held(above)) / most < 2 + 2 * above)
        return false;
    }
    return true;
  }

  bool runRounds() {
    std::vector<int32_t> first, second;
    const int64_t all = int64_t(numLegs) * flat.ranks * flat.microbatches;
    while (placed < all) {
      const int64_t before = placed;
      // The choice between I0 and I1 depends only on the previous rounds.
      first.clear();
      second.clear();
      for (int32_t r = 0; r < flat.ranks; ++r)
        (takesSecondInputGrad(r) ? second : first).push_back(r);
      for (auto r = second.rbegin(); r != second.rend(); ++r) {
        fill(*r, I0, true);
        place(*r, I0);
      }
      for (int32_t r : first) {
        fill(r, I1, switches.fillsInputGrad);
        place(r, I1);
      }
      for (int32_t r = 0; r < flat.ranks; ++r)
        runForward(r);
      if (placed == before)
        return false;
    }
    return true;
  }

  bool takesSecondInputGrad(int32_t r) const {
    if (done(I0, r) >= done(I1, r))
      return false;
    return r + 1 == flat.ranks || done(I1, r) == flat.microbatches ||
           arrival(r, I0) >= 0;
  }

  void runForward(int32_t r) {
    int leg = F1;
    if (done(F1, r) >= done(F0, r) || arrival(r, F1) < 0)
      leg = F0;
    if (arrival(r, leg) < 0)
      return;
    while (ranks[r].hasWeightGrad() && !fits(r, leg))
      weightGrad(r);
    if (!fits(r, leg))
      return;
    fill(r, leg, switches.fillsForward);
    place(r, leg);
  }

  const FlatProblem &flat;
  const Chunks &chunks;
  const std::vector<int64_t> &limits;
  const Switches switches;
  const std::vector<int64_t> &allowed;
  const int64_t maxAllowed;
  std::vector<Rank> ranks;
  int64_t longestIdle = 0, placed = 0;
  int warmUpLeg = F0;
  PartialState state;
};

} // namespace

std::optional<Outcome> zbvRounds::layOut(const FlatProblem &flat,
                                         const Chunks &chunks,
                                         const std::vector<int64_t> &limits,
                                         Switches switches,
                                         const std::vector<int64_t> &allowed) {
  return LegRounds(flat, chunks, limits, switches, allowed).run();
}
