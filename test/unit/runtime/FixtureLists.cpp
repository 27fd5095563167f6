//===- FixtureLists.cpp - Actions of hand-written executables -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ActList.h"

#include <algorithm>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

bool rondo::runtime::test::isTied(const Spec &spec) {
  return spec.layers.back().kind == LayerKind::GptHead &&
         spec.layers.back().tied && spec.rankOfStage.size() > 1;
}

static bool recomputes(const Spec &spec) {
  return std::any_of(spec.layers.begin(), spec.layers.end(),
                     [](const LayerDesc &layer) { return layer.recomputes; });
}

int rondo::runtime::test::numRanks(const std::vector<int> &rankOfStage) {
  return *std::max_element(rankOfStage.begin(), rankOfStage.end()) + 1;
}

namespace {

bool holdsTied(const Spec &spec, int rank) {
  return spec.rankOfStage.front() == rank || spec.rankOfStage.back() == rank;
}

/// Collective 0 is the norm, or the tied gradients followed by the norm.
void finishRank(const Spec &spec, ListWriter &writer) {
  if (!isTied(spec)) {
    writer.finish(1);
    return;
  }
  if (holdsTied(spec, writer.rank))
    writer.list.push_back({Act::AllReduce, 0});
  writer.list.push_back({Act::AllReduce, 1});
  writer.finish(0);
}

} // namespace

Lists rondo::runtime::test::oneForwardOneBackward(const Spec &spec,
                                                  bool split) {
  const int ranks = numRanks(spec.rankOfStage), m = spec.microbatches;
  Lists lists;
  for (int r = 0; r < ranks; ++r) {
    ListWriter writer(spec.rankOfStage, r);
    auto forward = [&](int i) {
      for (int s : writer.own)
        writer.forward(s, i);
    };
    auto backward = [&](int i) {
      for (auto s = writer.own.rbegin(); s != writer.own.rend(); ++s)
        writer.backward(*s, i, split);
    };
    int warmUp = std::min(m, ranks - 1 - r);
    for (int i = 0; i < warmUp; ++i)
      forward(i);
    for (int i = 0; i < m; ++i) {
      if (i + warmUp < m)
        forward(i + warmUp);
      backward(i);
    }
    for (int i = 0; split && i < m; ++i)
      for (auto s = writer.own.rbegin(); s != writer.own.rend(); ++s)
        writer.list.push_back({Act::W, *s, i});
    finishRank(spec, writer);
    lists.push_back(writer.list);
  }
  return lists;
}

Lists rondo::runtime::test::forwardThenBackward(const Spec &spec) {
  Lists lists;
  for (int r = 0; r < numRanks(spec.rankOfStage); ++r) {
    ListWriter writer(spec.rankOfStage, r);
    for (int s : writer.own)
      for (int i = 0; i < spec.microbatches; ++i)
        writer.forward(s, i);
    for (auto s = writer.own.rbegin(); s != writer.own.rend(); ++s)
      for (int i = 0; i < spec.microbatches; ++i)
        writer.backward(*s, i, false);
    finishRank(spec, writer);
    lists.push_back(writer.list);
  }
  return lists;
}

Lists rondo::runtime::test::sequentialLists(const Spec &spec,
                                            const std::vector<int> &ranks) {
  ListWriter writer(ranks, 0);
  writer.recomputes = recomputes(spec);
  for (int i = 0; i < spec.microbatches; ++i) {
    for (int s = 0; s <= writer.last; ++s)
      writer.forward(s, i);
    for (int s = writer.last; s >= 0; --s)
      writer.backward(s, i, false);
  }
  writer.finish(isTied(spec) ? 2 : 1);
  return {writer.list};
}

Lists rondo::runtime::test::evaluationLists(const Spec &spec) {
  Lists lists;
  for (int r = 0; r < numRanks(spec.rankOfStage); ++r) {
    ListWriter writer(spec.rankOfStage, r);
    for (int i = 0; i < spec.microbatches; ++i)
      for (int s : writer.own)
        writer.forward(s, i);
    lists.push_back(writer.list);
  }
  return lists;
}

//===----------------------------------------------------------------------===//
// Iterations that overlap.
//===----------------------------------------------------------------------===//

/// Micro-batches that a rank is ahead of its backward, once under way.
static int ahead(const Spec &spec, int rank) {
  const int behind = numRanks(spec.rankOfStage) - 1 - rank;
  return spec.overlap.spatial ? 2 * behind + 1 : behind;
}

Loop rondo::runtime::test::overlapped(const Spec &spec, int rank) {
  const int m = spec.microbatches, each = spec.overlap.each;
  Loop loop;
  loop.microbatches = m * each;
  loop.steps = each;
  const int late = spec.overlap.norm ? spec.overlap.normDelay : 0;
  ListWriter begin(spec.rankOfStage, rank), again(spec.rankOfStage, rank);
  begin.recomputes = again.recomputes = recomputes(spec);
  for (int i = 0; i < ahead(spec, rank); ++i)
    for (int s : begin.own)
      begin.forward(s, i);
  // The first that awaits a norm of the run begins what repeats.
  for (int t = 0; t < late + each; ++t) {
    ListWriter &writer = t < late ? begin : again;
    for (int i = t * m; i < (t + 1) * m; ++i) {
      for (int s : writer.own)
        writer.forward(s, i + ahead(spec, rank));
      for (auto s = writer.own.rbegin(); s != writer.own.rend(); ++s)
        writer.backward(*s, i, spec.overlap.split);
    }
    for (int i = t * m; spec.overlap.split && i < (t + 1) * m; ++i)
      for (auto s = writer.own.rbegin(); s != writer.own.rend(); ++s)
        writer.list.push_back({Act::W, *s, i});
    if (isTied(spec) && holdsTied(spec, rank))
      writer.list.push_back({Act::AllReduce, 0, t});
    const int norm = isTied(spec) ? 1 : 0;
    if (spec.overlap.norm && t >= late)
      writer.list.push_back(
          {late > 0 ? Act::Await : Act::AllReduce, norm, t - late});
    for (int s : writer.own)
      writer.list.push_back({Act::Step, s, t});
    if (late > 0)
      writer.list.push_back({Act::Issue, norm, t});
  }
  loop.before = begin.list;
  loop.again = again.list;
  return loop;
}

Delays rondo::runtime::test::delaysOf(const Spec &spec, int stage) {
  const int m = spec.microbatches, rank = spec.rankOfStage[stage];
  Delays delays;
  for (int i = 0; i < (2 * numRanks(spec.rankOfStage) + 2) * m; ++i) {
    const int iteration = i / m;
    // Those that have run when F does.
    const int steps = std::max(i - ahead(spec, rank), 0) / m;
    const bool hasTwo = spec.overlap.policy == Overlap::TwoVersions;
    const int forward = hasTwo ? std::min(iteration, 1) : iteration - steps;
    const bool isLive = spec.overlap.policy == Overlap::Live ||
                        spec.overlap.policy == Overlap::Extrapolated;
    const int late = isLive ? 0 : forward;
    delays.forward.push_back(static_cast<int16_t>(forward));
    delays.backward.push_back(static_cast<int16_t>(
        std::min(late + spec.overlap.addedDelay, iteration)));
  }
  double sum = 0;
  for (int i = 0; i < m; ++i)
    sum += delays.forward[delays.forward.size() - 1 - i];
  delays.meanForward = sum / m;
  sum = 0;
  for (int i = 0; i < m; ++i)
    sum += delays.backward[delays.backward.size() - 1 - i];
  delays.meanBackward = sum / m;
  return delays;
}
