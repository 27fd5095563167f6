//===- HeldBytes.cpp - What a rank's cap holds over time ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Let T be the objective, C the cap and h(t) what a rank holds at t. For a
// micro-batch of stage s, the bytes that I frees are held at least for F, the
// path back to the rank and I, and those that W frees for W as well. Let A be
// the sum of bytes times these times, so that A <= integral of h. Let U(t) be
// the most bytes that F can have taken by t, and V(u) the most that I and W can
// still free with time u left. Bytes held at t were taken by t and are freed
// later, so h(t) is at most C, U(t) and V(T - t), and
//
//   A <= f(T) = integral of min(C, U(t), V(T - t)).
//
// f increases with T. Let U reach C at b, and V at e. From T = b + e on the two
// ends are separate, and f(T) is C T minus the integrals of C - U and C - V. So
// if the T that solves A = f(T) by this formula is b + e or more, none below
// does.
//
// Copies to the host lower A by at most g(T), which increases with T as well,
// and every byte that is held at t is still taken by F before t and freed by I
// or W after t. So the least T with A - g(T) <= f(T) is a bound.
//
//===----------------------------------------------------------------------===//

#include "schedule/bounds/HeldBytes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace rondo;

namespace {

/// A task that takes (or frees) `bytes` can have run from `time` on.
struct Gain {
  int64_t time, bytes, ns;
};

/// The time until the cap can be reached.
struct Ramp {
  int64_t end = never;
  /// Integral, up to `end`, of the bytes that are missing to the cap, in bytes
  /// times ns.
  double missing = 0;
};

/// The rank runs one task at a time: at any time no more can have been taken
/// than if the shortest tasks ran in a row, each with the most bytes.
Ramp rampOf(std::vector<Gain> gains, int64_t begin, int64_t cap) {
  std::sort(gains.begin(), gains.end(),
            [](const Gain &a, const Gain &b) { return a.time < b.time; });
  int64_t leastNs = never, maxBytes = 1;
  for (const Gain &gain : gains) {
    leastNs = std::min(leastNs, gain.ns);
    maxBytes = std::max(maxBytes, gain.bytes);
  }
  Ramp ramp;
  int64_t released = 0, inRow = 0, time = begin;
  for (size_t next = 0; next < gains.size() || inRow < released;) {
    // Bytes that can have been taken (or freed): `released` by the times in
    // `gains`, `inRow` if tasks run one at a time. Both increase in steps; the
    // lower one is the limit.
    const int64_t first = std::max(begin, gains.front().time);
    const int64_t nextInRow =
        inRow < released ? first + inRow / maxBytes * leastNs : never;
    const int64_t then =
        std::min(next < gains.size() ? gains[next].time : never, nextInRow);
    const int64_t there = std::min(inRow, released);
    if (then > time) {
      ramp.missing += double(cap - there) * double(then - time);
      time = then;
    }
    if (then == nextInRow)
      inRow += maxBytes;
    else
      released += gains[next++].bytes;
    // If tasks take no time, only `released` is a limit.
    if (leastNs == 0)
      inRow = released;
    if (std::min(inRow, released) >= cap) {
      ramp.end = time;
      break;
    }
  }
  return ramp;
}

/// The longest path from the end of F of a stage to the start of its I, through
/// later stages.
int64_t roundTripOf(const FlatProblem &flat, int32_t stage,
                    std::vector<int64_t> &ends) {
  // [stage]: end of its latest task on the path, counted from the end of this
  // F.
  ends.assign(flat.stages, -never);
  ends[stage] = 0;
  auto arrival = [&](Task task, int32_t s) {
    int64_t time = -never;
    for (int32_t e : flat.inputs(task, s)) {
      const FlatProblem::Message &message = flat.messages[e];
      time = std::max(time, ends[message.from] + message.transferNs());
    }
    return time;
  };
  for (int32_t s = stage + 1; s < flat.stages; ++s)
    if (const int64_t time = arrival(Task::F, s); time >= 0)
      ends[s] = time + flat.ns[Task::F][s];
  for (int32_t s = flat.stages; --s > stage;)
    if (const int64_t time = std::max(arrival(Task::I, s), ends[s]); time >= 0)
      ends[s] = time + flat.ns[Task::I][s];
  return std::max<int64_t>(0, arrival(Task::I, stage));
}

/// The memory that one micro-batch needs on a rank, in bytes times ns.
double areaOf(const FlatProblem &flat, const std::vector<int64_t> &roundTrip,
              int32_t rank) {
  double area = 0;
  for (int32_t s : flat.stagesOf[rank]) {
    const int64_t life =
        flat.ns[Task::F][s] + roundTrip[s] + flat.ns[Task::I][s];
    area += double(flat.takes[s]) * double(life) +
            double(flat.takes[s] - flat.inputGradFrees[s]) *
                double(flat.ns[Task::W][s]);
  }
  return area;
}

/// The greatest common divisor of the bytes of a rank's stages and copies; 0 if
/// a micro-batch never frees some of its bytes.
int64_t unitOf(const FlatProblem &flat, int32_t rank, const Problem *copying) {
  int64_t unit = 0;
  for (int32_t s : flat.stagesOf[rank]) {
    const int64_t takes = flat.takes[s], early = flat.inputGradFrees[s];
    if (early + flat.weightGradFrees[s] != takes)
      return 0;
    unit = std::gcd(unit, std::gcd(takes, early));
    if (copying && copying->hostMemory.mayCopy(s))
      unit = std::gcd(unit, copying->cost(s, ActionKind::Save).releaseBytes);
  }
  return unit;
}

int64_t boundOfRank(const FlatProblem &flat, const Propagation &propagation,
                    const std::vector<int64_t> &roundTrip, int32_t rank,
                    int64_t microbatches, const CopyAreas *areas) {
  const std::vector<int32_t> &stages = flat.stagesOf[rank];
  const int64_t cap = usableCap(flat, rank, areas ? &areas->problem : nullptr);
  if (cap == 0 || (areas && !areas->applies(rank)))
    return 0;
  // Earliest times, from the begin and from the end, at which micro-batches
  // that the flat problem leaves out can take or free bytes.
  int64_t lastHead = never, lastTail = never;
  std::vector<Gain> taken, given;
  for (int32_t s : stages) {
    auto add = [&](std::vector<Gain> &gains, int64_t time, Task task,
                   int64_t bytes) {
      if (bytes > 0)
        gains.push_back({time, bytes, flat.ns[task][s]});
    };
    for (int32_t k = 0; k < flat.microbatches; ++k) {
      const int64_t at = flat.at(s, k);
      add(taken, propagation.heads(Task::F)[at], Task::F, flat.takes[s]);
      add(given, propagation.tails(Task::I)[at], Task::I,
          flat.inputGradFrees[s]);
      add(given, propagation.tails(Task::W)[at], Task::W,
          flat.weightGradFrees[s]);
    }
    if (flat.microbatches == microbatches)
      continue;
    lastHead =
        std::min(lastHead,
                 propagation.heads(Task::F)[flat.at(s, flat.microbatches - 1)]);
    for (Task task : {Task::I, Task::W})
      lastTail = std::min(lastTail, propagation.tails(task)[flat.at(s, 0)]);
  }
  const int64_t offset = flat.endOffset[rank];
  const Ramp begin = rampOf(std::move(taken), 0, cap);
  const Ramp end = rampOf(std::move(given), offset, cap);
  if (begin.end >= never || end.end >= never || begin.end > lastHead ||
      end.end > lastTail)
    return 0;
  // Subtracts the rounding error of the sums.
  const double least = (double(microbatches) * areaOf(flat, roundTrip, rank) +
                        begin.missing + end.missing) /
                       double(cap) * (1 - 1e-9);
  if (least >= double(maxSum))
    return 0;
  int64_t horizon = int64_t(std::ceil(least));
  if (areas)
    horizon = areas->leastHorizon(least, double(cap), rank);
  const int64_t bound = horizon + offset;
  return bound >= begin.end + end.end ? bound : 0;
}

} // namespace

std::vector<int64_t> rondo::roundTripsOf(const FlatProblem &flat) {
  std::vector<int64_t> roundTrip(flat.stages, 0), ends;
  for (int32_t s = flat.stages - 1; flat.isChain && s-- > 0;)
    roundTrip[s] = flat.messages[s].transferNs() + flat.ns[Task::F][s + 1] +
                   roundTrip[s + 1] + flat.ns[Task::I][s + 1] +
                   flat.messages[flat.stages - 1 + s].transferNs();
  if (!flat.isChain && flat.stages <= FlatProblem::maxRelated)
    for (int32_t s = 0; s < flat.stages; ++s)
      roundTrip[s] = roundTripOf(flat, s, ends);
  return roundTrip;
}

int64_t rondo::usableCap(const FlatProblem &flat, int32_t rank,
                         const Problem *copying) {
  const int64_t unit = unitOf(flat, rank, copying);
  return unit > 0 ? flat.caps[rank] / unit * unit : 0;
}

int64_t rondo::heldBytesBound(const FlatProblem &flat,
                              const Propagation &propagation,
                              int64_t microbatches, const CopyAreas *areas) {
  const std::vector<int64_t> roundTrip = roundTripsOf(flat);
  int64_t best = 0;
  for (int32_t rank = 0; rank < flat.ranks; ++rank)
    best = std::max(best, boundOfRank(flat, propagation, roundTrip, rank,
                                      microbatches, areas));
  return best;
}

int64_t rondo::heldBytesPeriod(const FlatProblem &flat) {
  const std::vector<int64_t> roundTrip = roundTripsOf(flat);
  double most = 0;
  for (int32_t rank = 0; rank < flat.ranks; ++rank)
    if (const int64_t cap = usableCap(flat, rank); cap > 0)
      most = std::max(most, areaOf(flat, roundTrip, rank) / double(cap));
  return int64_t(std::min(most, double(maxSum)));
}
