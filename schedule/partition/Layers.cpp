//===- Layers.cpp - Sums over layers, and a bound -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/partition/Layers.h"

#include "schedule/model/Problem.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

using namespace rondo;
using namespace rondo::partition;

/// Tolerance for rounding errors: shares are sums of doubles.
static constexpr double rounding = 1 + 1e-9;

Layers::Layers(const PartitionInput &input) : input(input) {
  const size_t layers = input.bytes.size();
  for (const std::vector<int64_t> &row : input.workNs) {
    workBefore.emplace_back(1, 0);
    for (int64_t ns : row)
      workBefore.back().push_back(workBefore.back().back() + ns);
  }
  bytesBefore.push_back(0);
  for (int64_t bytes : input.bytes)
    bytesBefore.push_back(bytesBefore.back() + bytes);
  isCapped = std::any_of(input.memoryCaps.begin(), input.memoryCaps.end(),
                         [](int64_t cap) { return cap != noMemoryCap; });

  // Shares are in ns of the first rank. A rank counts as fast as on its fastest
  // layer.
  const std::vector<int64_t> &scale = input.workNs.front();
  for (const std::vector<int64_t> &row : input.workNs) {
    double most = 0;
    for (size_t layer = 0; layer < layers; ++layer)
      if (scale[layer] > 0)
        most = std::max(most, row[layer] > 0
                                  ? double(scale[layer]) / double(row[layer])
                                  : std::numeric_limits<double>::infinity());
    capacityOfOne.push_back(most * rounding);
  }
  shareBefore.push_back(0);
  for (int64_t ns : scale)
    shareBefore.push_back(shareBefore.back() + double(ns));
  findKind();
}

void Layers::findKind() {
  std::map<std::vector<int64_t>, int64_t> counts;
  for (int32_t layer = 0; layer < count(); ++layer) {
    std::vector<int64_t> figures{input.bytes[layer]};
    for (const std::vector<int64_t> &row : input.workNs)
      figures.push_back(row[layer]);
    if (int64_t number = ++counts[figures]; number > ofKind) {
      ofKind = number;
      kind = layer;
    }
  }
}

bool Layers::kindFits(int64_t limit) const {
  const int32_t last = count() - 1;
  auto isOfKind = [&](int32_t layer) {
    if (input.bytes[layer] != input.bytes[kind])
      return false;
    return std::all_of(
        input.workNs.begin(), input.workNs.end(),
        [&](const auto &row) { return row[layer] == row[kind]; });
  };
  const std::set<int32_t> ranks(input.rankOfStage.begin(),
                                input.rankOfStage.end());
  int64_t room = 0;
  for (int32_t rank : ranks) {
    int64_t work = limit, bytes = input.memoryCaps[rank];
    // Subtract the first and the last layer, whose ranks are known.
    for (auto [layer, replica] : {std::pair(0, input.rankOfStage.front()),
                                  std::pair(last, input.rankOfStage.back())})
      if (replica == rank && !isOfKind(layer)) {
        work -= input.workNs[rank][layer];
        bytes -= input.bytes[layer];
      }
    if (work < 0 || bytes < 0)
      return false;
    int64_t most = ofKind;
    if (int64_t ns = input.workNs[rank][kind]; ns > 0)
      most = std::min(most, work / ns);
    if (input.bytes[kind] > 0)
      most = std::min(most, bytes / input.bytes[kind]);
    room += most;
  }
  return room >= ofKind;
}

int64_t Layers::leastBusiest() const {
  const std::set<int32_t> ranks(input.rankOfStage.begin(),
                                input.rankOfStage.end());
  double perNs = 0;
  for (int32_t rank : ranks)
    perNs += capacityOfOne[rank];
  int64_t least = 0;
  if (double whole = shareBefore.back(); whole > 0)
    least = static_cast<int64_t>(whole / perNs);
  for (int32_t layer = 0; layer < count(); ++layer) {
    int64_t alone = infinite;
    for (int32_t rank : ranks)
      alone = std::min(alone, input.workNs[rank][layer]);
    least = std::max(least, alone);
  }
  // If the layers do not fit under any limit, kindFits() gives no bound.
  int64_t most = least;
  for (int32_t rank : ranks)
    most = std::max(most, workBefore[rank].back());
  if (!kindFits(most))
    return least;
  while (least < most) {
    int64_t middle = least + (most - least) / 2;
    if (kindFits(middle))
      most = middle;
    else
      least = middle + 1;
  }
  return least;
}
