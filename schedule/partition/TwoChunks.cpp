//===- TwoChunks.cpp - The best cut into two stages per rank --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/partition/TwoChunks.h"

#include "schedule/model/Problem.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::partition;

std::optional<TwoChunks> TwoChunks::of(const PartitionInput &input,
                                       const Layers &layers) {
  const std::vector<int32_t> &rankOf = input.rankOfStage;
  const size_t ranks = rankOf.size() / 2;
  std::vector<int32_t> sorted(rankOf.begin(), rankOf.begin() + ranks);
  std::sort(sorted.begin(), sorted.end());
  const bool areOnce =
      std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  if (ranks == 0 || rankOf.size() % 2 != 0 || !areOnce)
    return std::nullopt;
  if (std::equal(rankOf.begin(), rankOf.begin() + ranks, rankOf.rbegin()))
    return TwoChunks(input, layers, /*isV=*/true);
  if (std::equal(rankOf.begin(), rankOf.begin() + ranks,
                 rankOf.begin() + ranks))
    return TwoChunks(input, layers, /*isV=*/false);
  return std::nullopt;
}

TwoChunks::TwoChunks(const PartitionInput &input, const Layers &layers,
                     bool isV)
    : input(input), layers(layers), isV(isV),
      ranks(static_cast<int32_t>(input.rankOfStage.size() / 2)) {
  capacityFrom.assign(ranks + 1, 0);
  for (int32_t place = ranks; place-- > 0;)
    capacityFrom[place] =
        capacityFrom[place + 1] + layers.capacity(input.rankOfStage[place], 1);
}

TwoChunks::Answer TwoChunks::run(int64_t limit, int64_t maxSteps) {
  const size_t size = size_t(layers.count() + 1) * (layers.count() + 1);
  // Filling a table costs one step per entry.
  if (static_cast<int64_t>(size) > maxSteps)
    return {std::nullopt, false};
  placeOf.resize(size);
  turnOf.resize(size);
  stepsLeft = maxSteps;
  best.reset();
  runAll(limit, Aim::LeastBusiest);
  const bool isExact = stepsLeft > 0;
  if (best && isExact)
    runAll(best->busiestNs, Aim::MostEven);
  return {best, isExact};
}

void TwoChunks::runAll(int64_t limit, Aim aim) {
  if (aim == Aim::MostEven)
    bestSquares = std::numeric_limits<double>::infinity();
  const int32_t first = isV ? layers.count() : ranks;
  for (int32_t middle = first;
       middle <= layers.count() - (isV ? 0 : ranks) && stepsLeft > 0;
       ++middle) {
    if (!runFrom(middle, limit, aim))
      continue;
    const Cut &cut = *std::min_element(
        cuts.back().begin(), cuts.back().end(),
        [&](const Cut &a, const Cut &b) { return isBetter(a, b, aim); });
    if (aim == Aim::LeastBusiest) {
      limit = cut.busiest - 1;
    } else if (cut.squares < bestSquares) {
      bestSquares = cut.squares;
    } else {
      continue;
    }
    best = partitionOf(cut, middle);
  }
}

bool TwoChunks::runFrom(int32_t middle, int64_t limit, Aim aim) {
  cuts.assign(1, {Cut()});
  for (int32_t place = 0; place < ranks; ++place) {
    ++turn;
    std::vector<Cut> next;
    for (size_t i = 0; i < cuts.back().size(); ++i)
      extend(cuts.back()[i],
             {static_cast<int32_t>(i), place, middle, limit, aim}, next);
    if (next.empty() || stepsLeft <= 0)
      return false;
    cuts.push_back(std::move(next));
  }
  return true;
}

/// Adds each continuation of `cut` by layers for the rank of the step.
void TwoChunks::extend(const Cut &cut, const Step &step,
                       std::vector<Cut> &next) {
  const auto [parent, place, middle, limit, aim] = step;
  const int32_t rank = input.rankOfStage[place], behind = ranks - place - 1;
  const int64_t cap = input.memoryCaps[rank];
  const double room =
      capacityFrom[place + 1] > 0 ? double(limit) * capacityFrom[place + 1] : 0;
  const int32_t count = layers.count();
  // The next layers of the second chunk begin here; in a V they end here.
  const int32_t edge = isV ? count - cut.second : middle + cut.second;
  const int32_t mostFirst = isV ? edge - 1 - 2 * behind : middle - behind;
  for (int32_t end = cut.first + 1; end <= mostFirst; ++end) {
    const int64_t work = layers.work(rank, cut.first, end);
    const int64_t bytes = layers.bytes(cut.first, end);
    if (work > limit || bytes > cap)
      return;
    if (behind == 0 && !isV && end != middle)
      continue;
    const int32_t most = isV ? edge - end - 2 * behind : count - edge - behind;
    for (int32_t taken = behind == 0 ? most : 1; taken <= most; ++taken) {
      --stepsLeft;
      const int32_t from = isV ? edge - taken : edge;
      const int64_t other = layers.work(rank, from, from + taken);
      if (work + other > limit ||
          bytes + layers.bytes(from, from + taken) > cap)
        break;
      const double left =
          isV ? layers.share(end, from)
              : layers.share(end, middle) + layers.share(edge + taken, count);
      if (left > room)
        continue;
      keep({end, cut.second + taken, parent,
            std::max(cut.busiest, work + other),
            cut.squares + double(work) * double(work) +
                double(other) * double(other)},
           aim, next);
    }
    if (stepsLeft <= 0)
      return;
  }
}

/// Keeps the better of two cuts of the same layers.
void TwoChunks::keep(const Cut &cut, Aim aim, std::vector<Cut> &next) {
  const size_t key =
      size_t(cut.first) * (layers.count() + 1) + size_t(cut.second);
  if (turnOf[key] != turn) {
    turnOf[key] = turn;
    placeOf[key] = static_cast<int32_t>(next.size());
    next.push_back(cut);
    return;
  }
  Cut &other = next[placeOf[key]];
  if (isBetter(cut, other, aim))
    other = cut;
}

Partition TwoChunks::partitionOf(const Cut &last, int32_t middle) const {
  Partition result;
  result.begins.assign(2 * ranks + 1, 0);
  result.begins.back() = layers.count();
  const Cut *cut = &last;
  for (int32_t place = ranks; place > 0; --place) {
    result.begins[place] = cut->first;
    if (isV)
      result.begins[2 * ranks - place] = layers.count() - cut->second;
    else
      result.begins[ranks + place] = middle + cut->second;
    cut = &cuts[place - 1][cut->parent];
  }
  result.busiestNs = last.busiest;
  result.isExact = true;
  return result;
}
