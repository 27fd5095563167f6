//===- RankChain.cpp - One rank of a chain among delays -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/RankChain.h"

#include <algorithm>

using namespace rondo;

/// Time in ns from the end of `from` to the start of `to`, for a micro-batch
/// that runs alone on the chain.
static int64_t delayBetween(const std::vector<int64_t> &starts,
                            const RankChain::Operation &from,
                            const RankChain::Operation &to) {
  auto start = [&](const RankChain::Operation &operation) {
    return operation.task == Task::F
               ? starts[operation.stage]
               : starts[starts.size() - 1 - operation.stage];
  };
  return start(to) - start(from) - from.ns;
}

/// The least time between consecutive micro-batches at `to` after `from`. Each
/// stage in between runs one micro-batch at a time. The last stage runs F and I
/// of a micro-batch, in some order, before I of the following one ends.
static int64_t spacingBetween(const FlatProblem &flat,
                              const RankChain::Operation &from,
                              const RankChain::Operation &to) {
  int64_t spacing = 0;
  const bool turns = from.task != to.task;
  if (from.task == Task::F)
    for (int32_t s = from.stage + 1; s < (turns ? flat.stages : to.stage); ++s)
      spacing = std::max(spacing, flat.ns[Task::F][s]);
  if (to.task == Task::I)
    for (int32_t s = to.stage + 1; s < (turns ? flat.stages : from.stage); ++s)
      spacing = std::max(spacing, flat.ns[Task::I][s]);
  const int32_t last = flat.stages - 1;
  if (turns && from.stage < last)
    spacing =
        std::max(spacing, flat.ns[Task::F][last] + flat.ns[Task::I][last]);
  return spacing;
}

RankChain::RankChain(const FlatProblem &flat,
                     const std::vector<int64_t> &starts, int32_t rank)
    : rank(rank), flat(&flat), starts(&starts) {
  const auto &own = flat.stagesOf[rank];
  for (int32_t s : own)
    operations.push_back({Task::F, s, flat.ns[Task::F][s]});
  for (size_t i = own.size(); i-- > 0;)
    operations.push_back({Task::I, own[i], flat.ns[Task::I][own[i]]});
  for (size_t i = 0; i + 1 < operations.size(); ++i) {
    Operation &operation = operations[i];
    operation.delay = delayBetween(starts, operation, operations[i + 1]);
    operation.spacing = spacingBetween(flat, operation, operations[i + 1]);
  }
  weightGrads = own;
  bool areAlike = true;
  for (int32_t s : own)
    areAlike &= flat.ns[Task::W][s] == flat.ns[Task::W][own.front()] &&
                flat.weightGradFrees[s] == flat.weightGradFrees[own.front()];
  if (areAlike)
    weightGrads.resize(1);
  for (int32_t s : own)
    work += flat.workOf(s) * flat.microbatches;
  double most = 0;
  for (size_t place = 0; place < own.size(); ++place) {
    const int32_t s = own[place];
    const Operation &backward = operations[operations.size() - 1 - place];
    most += double(flat.takes[s]) /
            double(std::max<int64_t>(1, flat.caps[rank])) *
            double(flat.ns[Task::F][s] +
                   delayBetween(starts, operations[place], backward) +
                   backward.ns + flat.ns[Task::W][s]);
  }
  double ofSlots = 0;
  for (int32_t other = 0; other < flat.ranks; ++other)
    if (other != rank)
      considerRoomOf(other, ofSlots);
  period = double(work) / flat.microbatches + std::max(most, ofSlots);
}

/// A stage of the other rank holds its activation from before F of the next
/// stage on this rank until after I of that stage. If the other rank has no
/// other stage in between, each of those F takes memory there and each of those
/// I frees it.
void RankChain::considerRoomOf(int32_t other, double &most) {
  const auto &own = flat->stagesOf[rank];
  Slots room;
  int64_t takes = 0, before = never, after = never, held = 0, used = 0;
  for (int32_t s : flat->stagesOf[other]) {
    const size_t place =
        size_t(std::upper_bound(own.begin(), own.end(), s) - own.begin());
    if (place == own.size() || room.isUsedBy[place])
      continue;
    if (flat->takes[s] <= 0 || (used > 0 && flat->takes[s] != takes))
      return;
    takes = flat->takes[s];
    room.isUsedBy[place] = true;
    ++used;
    const Operation forward{Task::F, s, flat->ns[Task::F][s]};
    const Operation backward{Task::I, s, flat->ns[Task::I][s]};
    const Operation &ownForward = operations[place];
    const Operation &ownBackward = operations[operations.size() - 1 - place];
    before = std::min(before,
                      forward.ns + delayBetween(*starts, forward, ownForward));
    // If W frees all bytes of the activation, the slot is returned only after
    // W.
    after = std::min(
        after,
        delayBetween(*starts, ownBackward, backward) + backward.ns +
            (flat->weightGradFrees[s] == takes ? flat->ns[Task::W][s] : 0));
    held += ownForward.ns + delayBetween(*starts, ownForward, ownBackward) +
            ownBackward.ns;
  }
  if (used == 0)
    return;
  room.count = flat->caps[other] / takes;
  room.delay = before + after;
  if (room.count <= 0 || room.count >= used * flat->microbatches)
    return;
  const double share = double(held + used * room.delay) / double(room.count);
  if (share <= most)
    return;
  most = share;
  slots = room;
}

std::optional<RankChain::Meeting> RankChain::meeting(int64_t back,
                                                     int64_t end) const {
  const size_t own = stages() - 1, back0 = starts->size() - 1;
  const int32_t last = operations[own].stage;
  auto forwardStart = [&](int32_t s) {
    return end + (*starts)[s] - (*starts)[last] - operations[own].ns;
  };
  auto backwardStart = [&](int32_t s) {
    return back + (*starts)[back0 - s] - (*starts)[back0 - last];
  };
  // The first stage that the second micro-batch has not left by the time at
  // which the first comes back to it. At later stages the first is done before
  // the second arrives.
  int32_t low = last + 1, high = flat->stages;
  while (low < high) {
    const int32_t s = low + (high - low) / 2;
    if (forwardStart(s) + flat->ns[Task::F][s] > backwardStart(s))
      high = s;
    else
      low = s + 1;
  }
  if (low == flat->stages ||
      forwardStart(low) >= backwardStart(low) + flat->ns[Task::I][low])
    return std::nullopt;
  return Meeting{back + forwardStart(low) + flat->ns[Task::F][low] -
                     backwardStart(low),
                 end + operations[own].delay + backwardStart(low) +
                     flat->ns[Task::I][low] - forwardStart(low)};
}
