//===- process_sums.cpp - Collectives between processes -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For a sum of parts each rank sends its parts to all others and adds all of
// them itself, one chunk after another. For the sum of all elements the rank of
// the first part adds; the others send theirs and get the sum.
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/process_transport.h"

#include <algorithm>

using namespace rondo::runtime;

/// Elements of each part that are in flight at once.
static constexpr int64_t chunk = 1 << 18;

static std::vector<int32_t> ranksOf(const CollectiveParams &all) {
  std::vector<int32_t> ranks;
  for (const PartParams &part : all)
    ranks.push_back(part.rank);
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

void ProcessTransport::startSumParts(int32_t collective, int32_t) {
  startSum(collective, nullptr);
}

void ProcessTransport::startAddAll(int32_t collective, int32_t, double *sum) {
  startSum(collective, sum);
}

void ProcessTransport::waitCollective(int32_t collective, int32_t) {
  Sum &sum = sums[collective];
  waitFor(sum.hasEnded, Waiting::For::Collective, collective, 0);
}

void ProcessTransport::startSum(int32_t collective, double *total) {
  std::lock_guard<std::mutex> lock(mutex);
  Sum &sum = sums[collective];
  sum.state = Sum::State::Queued;
  sum.hasEnded = false;
  sum.total = total;
  sum.begin = 0;
  lane.push_back(collective);
  if (lane.size() == 1)
    bringSumsForward();
  changed.notify_all();
}

void ProcessTransport::bringSumsForward() {
  while (!lane.empty()) {
    Sum &sum = sums[lane.front()];
    for (Part &part : sum.operations) {
      Endpoint::Ended ended;
      part.hasEnded = part.hasEnded || endpoint->test(part.operation, ended);
    }
    if (!std::all_of(sum.operations.begin(), sum.operations.end(),
                     [](const Part &part) { return part.hasEnded; }))
      return;
    sum.operations.clear();
    if (goOn(lane.front(), sum))
      continue;
    sum.state = Sum::State::Idle;
    sum.hasEnded = true;
    lane.pop_front();
  }
}

bool ProcessTransport::goOn(int32_t collective, Sum &sum) {
  const CollectiveParams &all = params.collectives[collective];
  const int32_t root = all.front().rank;
  switch (sum.state) {
  case Sum::State::Idle:
    return false;
  case Sum::State::Queued:
    sum.state = Sum::State::Gathers;
    gatherParts(collective, sum);
    return true;
  case Sum::State::Gathers:
    if (!sum.total) {
      addParts(collective, sum);
      sum.begin += sum.size;
      if (sum.begin >= all.front().count)
        return false;
      gatherParts(collective, sum);
      return true;
    }
    if (me != root)
      return false;
    addAll(collective, sum);
    sum.state = Sum::State::Spreads;
    for (int32_t rank : ranksOf(all))
      if (rank != me)
        sendPart(sum, rank, collective, sum.total, sizeof *sum.total);
    return true;
  case Sum::State::Spreads:
    return false;
  }
  return false;
}

/// Posts all receives first, so that no message has to be buffered meanwhile.
void ProcessTransport::gatherParts(int32_t collective, Sum &sum) {
  const CollectiveParams &all = params.collectives[collective];
  const int32_t root = all.front().rank;
  sum.received.resize(all.size());
  sum.size = std::min(chunk, all.front().count - sum.begin);
  const int64_t elementBytes = sum.total ? 8 : 4;
  auto bytesOf = [&](const PartParams &part) {
    return elementBytes * (sum.total ? part.count : sum.size);
  };
  for (size_t p = 0; p < all.size(); ++p) {
    if (all[p].rank == me || (sum.total && me != root))
      continue;
    sum.received[p].resize(bytesOf(all[p]));
    receivePart(sum, all[p].rank, sum.received[p].data(), bytesOf(all[p]));
  }
  for (const PartParams &part : all) {
    if (part.rank != me)
      continue;
    const char *data =
        static_cast<const char *>(part.data) + elementBytes * sum.begin;
    for (int32_t rank : ranksOf(all))
      if (rank != me && (!sum.total || rank == root))
        sendPart(sum, rank, collective, data, bytesOf(part));
  }
  if (sum.total && me != root)
    receivePart(sum, root, sum.total, sizeof *sum.total);
}

void ProcessTransport::addParts(int32_t collective, const Sum &sum) const {
  const CollectiveParams &all = params.collectives[collective];
  std::vector<const float *> from;
  for (size_t p = 0; p < all.size(); ++p)
    from.push_back(
        all[p].rank == me
            ? static_cast<const float *>(all[p].data) + sum.begin
            : reinterpret_cast<const float *>(sum.received[p].data()));
  for (int64_t i = 0; i < sum.size; ++i) {
    float value = from[0][i];
    for (size_t p = 1; p < all.size(); ++p)
      value += from[p][i];
    for (const PartParams &part : all)
      if (part.rank == me)
        static_cast<float *>(part.data)[sum.begin + i] = value;
  }
}

void ProcessTransport::addAll(int32_t collective, const Sum &sum) const {
  const CollectiveParams &all = params.collectives[collective];
  double total = 0;
  for (size_t p = 0; p < all.size(); ++p) {
    const double *values =
        all[p].rank == me
            ? static_cast<const double *>(all[p].data)
            : reinterpret_cast<const double *>(sum.received[p].data());
    for (int64_t i = 0; i < all[p].count; ++i)
      total += values[i];
  }
  *sum.total = total;
}

void ProcessTransport::sendPart(Sum &sum, int32_t to, int32_t collective,
                                const void *data, int64_t bytes) {
  sum.operations.push_back(
      {endpoint->send(to, Endpoint::Collectives, collective, data, bytes), to});
}

void ProcessTransport::receivePart(Sum &sum, int32_t from, void *data,
                                   int64_t bytes) {
  sum.operations.push_back(
      {endpoint->receive(from, Endpoint::Collectives, data, bytes), from});
}
