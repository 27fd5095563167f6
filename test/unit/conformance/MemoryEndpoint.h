//===- MemoryEndpoint.h - Messages of processes in memory -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_CONFORMANCE_MEMORYENDPOINT_H
#define RONDO_TEST_UNIT_CONFORMANCE_MEMORYENDPOINT_H

#include "runtime/transport/endpoint.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

namespace rondo::runtime::test {

/// One end of a message; ends when both are there.
struct Post {
  void *data;
  int64_t bytes;
  int32_t tag;
  bool hasEnded = false;
  Endpoint::Ended ended;
};

/// Connects the endpoints of all ranks.
struct Network {
  using Posts = std::deque<std::shared_ptr<Post>>;
  /// From, to, purpose.
  std::map<std::tuple<int, int, int>, std::pair<Posts, Posts>> queues;
  std::mutex mutex;
};

class MemoryEndpoint : public Endpoint {
public:
  MemoryEndpoint(std::shared_ptr<Network> network, int32_t rank)
      : network(std::move(network)), me(rank) {}

  /// As few as an MPI may have.
  int32_t largestTag() const override { return INT16_MAX; }
  int32_t send(int32_t to, Purpose purpose, int32_t tag, const void *data,
               int64_t bytes) override {
    if (tag > largestTag())
      throw Error("tag " + std::to_string(tag) + " is too large");
    std::lock_guard<std::mutex> lock(network->mutex);
    auto &queue = network->queues[{me, to, purpose}];
    return add(queue, queue.first,
               {const_cast<void *>(data), bytes, tag, false, {}});
  }
  int32_t receive(int32_t from, Purpose purpose, void *data,
                  int64_t bytes) override {
    std::lock_guard<std::mutex> lock(network->mutex);
    auto &queue = network->queues[{from, me, purpose}];
    return add(queue, queue.second, {data, bytes, -1, false, {}});
  }
  bool test(int32_t operation, Ended &ended) override {
    std::lock_guard<std::mutex> lock(network->mutex);
    if (!posts[operation]->hasEnded)
      return false;
    ended = posts[operation]->ended;
    unused.push_back(operation);
    return true;
  }

private:
  int32_t add(std::pair<Network::Posts, Network::Posts> &queue,
              Network::Posts &side, Post post) {
    if (unused.empty()) {
      unused.push_back(static_cast<int32_t>(posts.size()));
      posts.emplace_back();
    }
    const int32_t number = unused.back();
    unused.pop_back();
    posts[number] = std::make_shared<Post>(post);
    side.push_back(posts[number]);
    while (!queue.first.empty() && !queue.second.empty()) {
      Post &sent = *queue.first.front(), &received = *queue.second.front();
      // A message of 0 bytes has no address, which memcpy() may not get.
      if (int64_t bytes = std::min(sent.bytes, received.bytes); bytes > 0)
        std::memcpy(received.data, sent.data, static_cast<size_t>(bytes));
      received.ended = {sent.tag, sent.bytes};
      sent.hasEnded = received.hasEnded = true;
      queue.first.pop_front();
      queue.second.pop_front();
    }
    return number;
  }

  const std::shared_ptr<Network> network;
  const int32_t me;
  std::vector<std::shared_ptr<Post>> posts;
  std::vector<int32_t> unused;
};

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_CONFORMANCE_MEMORYENDPOINT_H
