//===- imposed_network.cpp - All imposed links of a transport -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/imposed_network.h"

#include <algorithm>

using namespace rondo::runtime;

LinkTimeline ImposedNetwork::timelineOf(int32_t from, int32_t to) const {
  if (!trace)
    return LinkTimeline(constant);
  std::vector<LinkChange> changes;
  for (const LinkTrace::Row &row : trace->rows)
    if (row.names(from, to))
      changes.push_back({row.at, row.link});
  return LinkTimeline(constant, std::move(changes), trace->period);
}

SerialLink &ImposedNetwork::link(int32_t from, int32_t to) {
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<SerialLink> &link = links[{from, to}];
  if (!link) {
    link = std::make_unique<SerialLink>(
        timelineOf(from, to), trace ? trace->by : SerialLink::By::Time);
    if (iteration > 0)
      link->beginIteration(iteration, firstBeginNs);
  }
  return *link;
}

void ImposedNetwork::beginIteration(int64_t number, int64_t nowNs) {
  std::lock_guard<std::mutex> lock(mutex);
  if (iteration == 0)
    firstBeginNs = nowNs;
  iteration = number;
  for (auto &[ranks, link] : links)
    link->beginIteration(number, nowNs);
}

int64_t ImposedNetwork::sumNs(const std::vector<int32_t> &ranks, int64_t bytes,
                              int64_t nowNs, int64_t halves) {
  const auto count = static_cast<int64_t>(ranks.size());
  if (!trace)
    return constant.halvesNs(halves, bytes, count);
  int64_t slowest = 0;
  for (int32_t from : ranks)
    for (int32_t to : ranks)
      if (from != to)
        slowest = std::max(
            slowest, link(from, to).at(nowNs).halvesNs(halves, bytes, count));
  return slowest;
}

int64_t ImposedNetwork::endOfSum(const std::vector<int32_t> &ranks,
                                 int64_t bytes, int64_t nowNs, int64_t halves) {
  int64_t begin = nowNs;
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (int32_t rank : ranks)
      begin = std::max(begin, sumsEndNs[rank]);
  }
  const int64_t end = begin + sumNs(ranks, bytes, begin, halves);
  std::lock_guard<std::mutex> lock(mutex);
  for (int32_t rank : ranks)
    sumsEndNs[rank] = end;
  return end;
}
