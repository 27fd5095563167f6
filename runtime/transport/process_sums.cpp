//===- process_sums.cpp - Collectives between processes -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/process_transport.h"

#include <algorithm>

using namespace rondo::runtime;

void ProcessTransport::sendPart(int32_t to, int32_t collective,
                                const void *data, int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  parts.push_back(
      {endpoint->send(to, Endpoint::Collectives, collective, data, bytes)});
}

void ProcessTransport::receivePart(int32_t from, void *data, int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  parts.push_back(
      {endpoint->receive(from, Endpoint::Collectives, data, bytes)});
}

void ProcessTransport::waitForPart(size_t part, int32_t collective,
                                   int32_t onRank) {
  waitFor(parts[part].hasEnded, Waiting::For::Collective, collective, 0,
          onRank);
}

void ProcessTransport::forgetParts() {
  std::lock_guard<std::mutex> lock(mutex);
  parts.clear();
}

static std::vector<int32_t> ranksOf(const CollectiveParams &all) {
  std::vector<int32_t> ranks;
  for (const PartParams &part : all)
    ranks.push_back(part.rank);
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

/// Each rank sends its parts to all others and adds all of them itself, chunk
/// by chunk.
void ProcessTransport::sumParts(int32_t collective, int32_t) {
  constexpr int64_t chunk = 1 << 18;
  const CollectiveParams &all = params.collectives[collective];
  const std::vector<int32_t> ranks = ranksOf(all);
  const int64_t count = all.front().count;
  std::vector<std::vector<float>> received(all.size());
  for (int64_t begin = 0; begin < count; begin += chunk) {
    const int64_t size = std::min(chunk, count - begin);
    std::vector<const float *> from(all.size());
    forgetParts();
    for (size_t p = 0; p < all.size(); ++p) {
      if (all[p].rank == me) {
        from[p] = static_cast<const float *>(all[p].data) + begin;
        continue;
      }
      received[p].resize(size);
      from[p] = received[p].data();
      receivePart(all[p].rank, received[p].data(), 4 * size);
    }
    std::vector<int32_t> peers;
    for (const PartParams &part : all)
      if (part.rank != me)
        peers.push_back(part.rank);
    for (const PartParams &part : all)
      for (int32_t rank : ranks)
        if (part.rank == me && rank != me) {
          sendPart(rank, collective, static_cast<float *>(part.data) + begin,
                   4 * size);
          peers.push_back(rank);
        }
    for (size_t i = 0; i < peers.size(); ++i)
      waitForPart(i, collective, peers[i]);
    for (int64_t i = 0; i < size; ++i) {
      float sum = from[0][i];
      for (size_t p = 1; p < all.size(); ++p)
        sum += from[p][i];
      for (const PartParams &part : all)
        if (part.rank == me)
          static_cast<float *>(part.data)[begin + i] = sum;
    }
  }
  forgetParts();
}

/// The rank of the first part adds; the others send theirs and get the sum.
void ProcessTransport::addAll(int32_t collective, int32_t, double *sum) {
  const CollectiveParams &all = params.collectives[collective];
  const int32_t root = all.front().rank;
  forgetParts();
  if (me != root) {
    for (const PartParams &part : all)
      if (part.rank == me)
        sendPart(root, collective, part.data, 8 * part.count);
    receivePart(root, sum, sizeof *sum);
    for (size_t i = 0; i < parts.size(); ++i)
      waitForPart(i, collective, root);
    return forgetParts();
  }
  std::vector<std::vector<double>> received(all.size());
  std::vector<int32_t> peers;
  for (size_t p = 0; p < all.size(); ++p)
    if (all[p].rank != me) {
      received[p].resize(all[p].count);
      receivePart(all[p].rank, received[p].data(), 8 * all[p].count);
      peers.push_back(all[p].rank);
    }
  for (size_t i = 0; i < peers.size(); ++i)
    waitForPart(i, collective, peers[i]);
  double total = 0;
  for (size_t p = 0; p < all.size(); ++p) {
    const double *values = all[p].rank == me
                               ? static_cast<const double *>(all[p].data)
                               : received[p].data();
    for (int64_t i = 0; i < all[p].count; ++i)
      total += values[i];
  }
  *sum = total;
  forgetParts();
  peers.clear();
  for (int32_t rank : ranksOf(all))
    if (rank != me) {
      sendPart(rank, collective, sum, sizeof *sum);
      peers.push_back(rank);
    }
  for (size_t i = 0; i < peers.size(); ++i)
    waitForPart(i, collective, peers[i]);
  forgetParts();
}
