//===- Labels.cpp - Cuts of a chain, stage by stage -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/partition/Labels.h"

#include "schedule/model/Problem.h"

#include <algorithm>
#include <numeric>

using namespace rondo;
using namespace rondo::partition;

Labels::Labels(const PartitionInput &input, const Layers &layers)
    : input(input), layers(layers),
      stages(static_cast<int32_t>(input.rankOfStage.size())),
      figures(layers.hasCaps() ? 2 : 1),
      lastStageOf(input.memoryCaps.size(), -1) {
  for (int32_t s = 0; s < stages; ++s)
    lastStageOf[input.rankOfStage[s]] = s;
}

Labels::Answer Labels::run(int64_t limit, int64_t maxLabels) {
  Answer answer;
  openRanks.clear();
  for (int32_t rank = 0; rank < int32_t(lastStageOf.size()); ++rank)
    if (lastStageOf[rank] >= 0)
      openRanks.push_back(rank);
  std::vector<std::vector<Label>> all;
  Row row;
  row.labels.resize(1);
  row.open.assign(openRanks.size() * figures, 0);
  for (int32_t stage = 0; stage < stages; ++stage) {
    Row next;
    index.clear();
    for (size_t i = 0; i < row.labels.size(); ++i)
      extend(row, static_cast<int32_t>(i), stage, limit, next);
    const int32_t rank = input.rankOfStage[stage];
    if (lastStageOf[rank] == stage)
      openRanks.erase(std::find(openRanks.begin(), openRanks.end(), rank));
    answer.isExact &= cutOff(next, openRanks.size() * figures, maxLabels);
    // Finished stages need only their labels, to follow `parent` back.
    all.push_back(std::move(row.labels));
    row = std::move(next);
  }
  if (row.labels.empty())
    return answer;
  // All layers are placed and no rank is open: one label is left.
  const Label *last = &row.labels.front();
  Partition &result = answer.best.emplace();
  result.busiestNs = last->busiest;
  result.begins.assign(stages + 1, 0);
  for (int32_t stage = stages; stage > 0; --stage) {
    result.begins[stage] = last->end;
    last = &all[stage - 1][last->parent];
  }
  return answer;
}

void Labels::extend(const Row &row, int32_t parent, int32_t stage,
                    int64_t limit, Row &next) {
  const Label &label = row.labels[parent];
  const int32_t rank = input.rankOfStage[stage], count = layers.count();
  const bool isLast = stage + 1 == stages;
  const bool closes = lastStageOf[rank] == stage;
  const size_t width = openRanks.size() * figures;
  const size_t place =
      figures *
      (std::find(openRanks.begin(), openRanks.end(), rank) - openRanks.begin());
  const int64_t *open = &row.open[parent * width];
  // Sums over the ranks that stay open, in units of Layers::share(): capacity
  // under the limit (`room`), and work so far (`others`).
  double room = 0, others = 0;
  for (size_t k = 0; k < openRanks.size(); ++k) {
    const double perNs = layers.capacity(openRanks[k], 1);
    if (openRanks[k] != rank || !closes) {
      room += double(limit) * perNs;
      others += double(open[k * figures]) * perNs;
    }
  }
  const int64_t before = open[place];
  const int32_t last = count - (stages - stage - 1);
  for (int32_t end = isLast ? count : label.end + 1; end <= last; ++end) {
    const int64_t own = layers.work(rank, label.end, end);
    const int64_t bytes =
        layers.hasCaps() ? open[place + 1] + layers.bytes(label.end, end) : 0;
    if (bytes > input.memoryCaps[rank] || before + own > limit)
      return;
    double used = others + layers.share(end, count);
    if (!closes)
      used += double(own) * layers.capacity(rank, 1);
    if (used > room)
      continue;
    Label longer{end, parent, std::max(label.busiest, before + own),
                 label.squares + double(own) * double(own),
                 room > 0 ? used / room : 0};
    scratch.assign(open, open + width);
    if (closes) {
      scratch.erase(scratch.begin() + place, scratch.begin() + place + figures);
    } else {
      scratch[place] = before + own;
      if (layers.hasCaps())
        scratch[place + 1] = bytes;
    }
    keep(longer, scratch, next);
  }
}

/// Adds a label. Of labels with the same end and the same figures of open
/// ranks, keeps only the best.
void Labels::keep(const Label &label, const std::vector<int64_t> &open,
                  Row &next) {
  uint64_t hash = uint64_t(label.end) * 0x9e3779b97f4a7c15u;
  for (int64_t figure : open)
    hash = ((hash ^ uint64_t(figure)) * 0xbf58476d1ce4e5b9u) ^ (hash >> 29);
  const size_t number = index.findOrAdd(
      hash, static_cast<uint32_t>(next.labels.size()), [&](uint32_t known) {
        return next.labels[known].end == label.end &&
               std::equal(open.begin(), open.end(),
                          next.open.begin() + known * open.size());
      });
  if (number == next.labels.size()) {
    next.labels.push_back(label);
    next.open.insert(next.open.end(), open.begin(), open.end());
    return;
  }
  Label &other = next.labels[number];
  if (label.busiest != other.busiest ? label.busiest < other.busiest
                                     : label.squares < other.squares)
    other = label;
}

bool Labels::cutOff(Row &row, size_t width, int64_t maxLabels) const {
  if (static_cast<int64_t>(row.labels.size()) <= maxLabels)
    return true;
  std::vector<int32_t> places(row.labels.size());
  std::iota(places.begin(), places.end(), 0);
  std::nth_element(places.begin(), places.begin() + maxLabels, places.end(),
                   [&](int32_t x, int32_t y) {
                     const Label &a = row.labels[x], &b = row.labels[y];
                     if (a.fill != b.fill)
                       return a.fill < b.fill;
                     if (a.squares != b.squares)
                       return a.squares < b.squares;
                     return x < y;
                   });
  places.resize(maxLabels);
  std::sort(places.begin(), places.end());
  Row kept;
  for (int32_t place : places) {
    kept.labels.push_back(row.labels[place]);
    kept.open.insert(kept.open.end(), row.open.begin() + place * width,
                     row.open.begin() + (place + 1) * width);
  }
  row = std::move(kept);
  return false;
}
