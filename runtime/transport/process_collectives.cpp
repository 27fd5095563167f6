//===- process_collectives.cpp - Sums between processes -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks share the work of sums, gathers and scatters (exchange.h). For the sum
// of all elements the rank of the first part adds; the others send theirs and
// get the sum.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/clock.h"
#include "runtime/base/crc32c.h"
#include "runtime/transport/endpoint.h"
#include "runtime/transport/exchange.h"
#include "runtime/transport/process_transport.h"

#include <algorithm>
#include <cstring>

using namespace rondo::runtime;

void ProcessTransport::startSumParts(int32_t collective, int32_t rank) {
  checkStaging(staging, sums[collective].exchange->stagingBytes(), collective,
               rank);
  startSum(collective, nullptr);
}

void ProcessTransport::startGather(int32_t collective, int32_t, float *whole) {
  startShards(collective, ShardExchange::Kind::Gather, whole);
}

void ProcessTransport::startScatter(int32_t collective, int32_t, float *whole) {
  startShards(collective, ShardExchange::Kind::Scatter, whole);
}

void ProcessTransport::startShards(int32_t collective, ShardExchange::Kind kind,
                                   float *whole) {
  const ShardExchange shards(params.collectives[collective], me, kind, whole,
                             sumsOfProcesses.elementsAtOnce);
  checkStaging(staging, shards.stagingBytes(), collective, me,
               "reduce_grad's collective");
  startSum(collective, nullptr, &shards);
}

void ProcessTransport::startAddAll(int32_t collective, int32_t, double *sum) {
  startSum(collective, sum);
}

void ProcessTransport::waitCollective(int32_t collective, int32_t) {
  Sum &sum = sums[collective];
  waitFor(sum.hasEnded, Waiting::For::Collective, collective, 0);
  waitUntil(sum.endNs, Waiting::For::Collective, collective, 0);
}

void ProcessTransport::startSum(int32_t collective, double *total,
                                const ShardExchange *shards) {
  std::lock_guard<std::mutex> lock(mutex);
  // It may still be the lane's first, if it has just taken its time.
  if (isLinkImposed)
    bringSumsForward();
  Sum &sum = sums[collective];
  sum.shards.reset();
  if (shards)
    sum.shards.emplace(*shards);
  sum.state = Sum::State::Queued;
  sum.hasEnded = false;
  sum.total = total;
  sum.round = 0;
  sum.endNs = 0;
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
    checkParts(lane.front(), sum);
    sum.operations.clear();
    sum.checksums.clear();
    if (sum.state != Sum::State::Idle && goOn(lane.front(), sum))
      continue;
    sum.state = Sum::State::Idle;
    sum.hasEnded = true;
    // After that time the next one may begin.
    if (isLinkImposed && nowNs() < sum.endNs)
      return;
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
    if (!sum.total) {
      sum.state = Sum::State::Exchanges;
      return sum.shards ? exchangeNext(collective, sum, *sum.shards)
                        : exchangeNext(collective, sum, *sum.exchange);
    }
    sum.state = Sum::State::Gathers;
    gatherAll(collective, sum);
    return true;
  case Sum::State::Exchanges:
    return sum.shards ? finishRound(collective, sum, *sum.shards, 1)
                      : finishRound(collective, sum, *sum.exchange, 2);
  case Sum::State::Gathers:
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

template <typename Exchange>
bool ProcessTransport::finishRound(int32_t collective, Sum &sum,
                                   const Exchange &exchange, int64_t halves) {
  const CollectiveParams &all = params.collectives[collective];
  if (isLinkImposed && sum.round == exchange.roundOfAllStarts()) {
    const int64_t now = nowNs();
    sum.endNs =
        now + network->sumNs(ranksOf(all), sizeof(float) * all.front().count,
                             now, halves);
  }
  exchange.finish(sum.round++, static_cast<float *>(staging.data), addElements,
                  [](float *to, const float *from, int64_t count) {
                    std::memcpy(to, from,
                                sizeof(float) * static_cast<size_t>(count));
                  });
  return exchangeNext(collective, sum, exchange);
}

/// Posts all receives first, so that no message has to be buffered meanwhile.
template <typename Exchange>
bool ProcessTransport::exchangeNext(int32_t collective, Sum &sum,
                                    const Exchange &exchange) {
  if (sum.round == exchange.numRounds())
    return false;
  auto bytesOf = [](const auto &move) {
    return static_cast<int64_t>(sizeof(float)) * move.count;
  };
  for (const auto &move :
       exchange.receives(sum.round, static_cast<float *>(staging.data)))
    receivePart(sum, move.peer, move.data, bytesOf(move));
  for (const auto &move : exchange.sends(sum.round))
    sendPart(sum, move.peer, collective, move.data, bytesOf(move));
  return true;
}

/// Likewise.
void ProcessTransport::gatherAll(int32_t collective, Sum &sum) {
  const CollectiveParams &all = params.collectives[collective];
  const int32_t root = all.front().rank;
  sum.received.resize(all.size());
  auto bytesOf = [](const PartParams &part) {
    return static_cast<int64_t>(sizeof(double)) * part.count;
  };
  for (size_t p = 0; p < all.size(); ++p) {
    if (all[p].rank == me || me != root)
      continue;
    sum.received[p].resize(bytesOf(all[p]));
    receivePart(sum, all[p].rank, sum.received[p].data(), bytesOf(all[p]));
  }
  if (me == root)
    return;
  for (const PartParams &part : all)
    if (part.rank == me)
      sendPart(sum, root, collective, part.data, bytesOf(part));
  receivePart(sum, root, sum.total, sizeof *sum.total);
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
  auto send = [&](const void *from, int64_t size) {
    sum.operations.push_back(
        {endpoint->send(to, Endpoint::Collectives, collective, from, size),
         to});
  };
  send(data, bytes);
  if (!params.checks)
    return;
  sum.checksums.push_back({crc32c(data, static_cast<size_t>(bytes)), to});
  send(&sum.checksums.back().value, sizeof(uint32_t));
}

void ProcessTransport::receivePart(Sum &sum, int32_t from, void *data,
                                   int64_t bytes) {
  auto receive = [&](void *to, int64_t size) {
    sum.operations.push_back(
        {endpoint->receive(from, Endpoint::Collectives, to, size), from});
  };
  receive(data, bytes);
  if (!params.checks)
    return;
  sum.checksums.push_back({0, from, data, bytes});
  receive(&sum.checksums.back().value, sizeof(uint32_t));
}

/// They stay until the rank's thread has seen them.
void ProcessTransport::checkParts(int32_t collective, const Sum &sum) const {
  for (const Checksum &part : sum.checksums)
    if (part.data)
      checkContent("a part of collective " + std::to_string(collective),
                   part.peer, me, part.data, part.bytes, part.value);
}
