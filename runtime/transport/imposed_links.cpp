//===- imposed_links.cpp - Links for experiments --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/imposed_links.h"
#include "runtime/transport/link_trace.h"

#include <algorithm>

using namespace rondo::runtime;

LinkTimeline::Span LinkTimeline::at(int64_t place) const {
  const int64_t start = period > 0 ? place - place % period : 0;
  const auto next = std::upper_bound(
      changes.begin(), changes.end(), place - start,
      [](int64_t at, const LinkChange &change) { return at < change.at; });
  Span span = {next == changes.begin() ? before : (next - 1)->link, INT64_MAX};
  if (next != changes.end())
    span.end = start + next->at;
  else if (period > 0 && !changes.empty())
    span.end = start + period;
  return span;
}

LinkTimeline::Span SerialLink::spanAt(int64_t nowNs) const {
  if (iteration == 0)
    return {timeline.beginning(), INT64_MAX};
  if (by == By::Iteration)
    return {timeline.at(iteration - 1).link, INT64_MAX};
  LinkTimeline::Span span = timeline.at(std::max<int64_t>(0, nowNs - beginNs));
  if (span.end != INT64_MAX)
    span.end += beginNs;
  return span;
}

int64_t SerialLink::carriedAt(int64_t thousandths, int64_t nowNs) const {
  for (;;) {
    const LinkTimeline::Span span = spanAt(nowNs);
    // Bytes per us are thousandths per ns.
    const int64_t speed = span.link.speedBytesPerUs();
    if (speed <= 0)
      return nowNs;
    const int64_t needed = thousandths / speed + (thousandths % speed != 0);
    if (needed <= span.end - nowNs)
      return nowNs + needed;
    thousandths -= speed * (span.end - nowNs);
    nowNs = span.end;
  }
}

SerialLink::~SerialLink() = default;

SerialLink::Passage SerialLink::carry(int64_t bytes, int64_t nowNs) {
  std::lock_guard<std::mutex> lock(mutex);
  freeNs = carriedAt(1000 * bytes, std::max(nowNs, freeNs));
  lastArrivalNs =
      std::max(lastArrivalNs, freeNs + spanAt(freeNs).link.latencyNs);
  return {freeNs, lastArrivalNs};
}

ImposedLink SerialLink::at(int64_t nowNs) const {
  std::lock_guard<std::mutex> lock(mutex);
  return spanAt(nowNs).link;
}

void SerialLink::beginIteration(int64_t number, int64_t nowNs) {
  std::lock_guard<std::mutex> lock(mutex);
  if (iteration > 0 && by == By::Time)
    return;
  // The rest of a message goes on at the new speed. Up to here one span was
  // known.
  const int64_t left = std::max<int64_t>(0, freeNs - nowNs) *
                       spanAt(nowNs).link.speedBytesPerUs();
  if (iteration == 0)
    beginNs = nowNs;
  iteration = number;
  if (freeNs > nowNs)
    freeNs = carriedAt(left, nowNs);
}

//===----------------------------------------------------------------------===//
// All imposed links of a transport.
//===----------------------------------------------------------------------===//

ImposedNetwork::~ImposedNetwork() = default;

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

LinkImposer
rondo::runtime::linkImposer(ImposedLink constant,
                            std::shared_ptr<const LinkTrace> trace) {
  if (!trace && !constant.isImposed())
    return nullptr;
  return [constant, trace] {
    return std::make_unique<ImposedNetwork>(constant, trace);
  };
}
