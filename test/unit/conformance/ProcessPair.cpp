//===- ProcessPair.cpp - Ranks that see each other as processes -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProcessPair.h"

#include "AllProcesses.h"

#include "runtime/launch/store.h"
#include "runtime/transport/tcp.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <tuple>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

/// One end of a message; completes once both are posted.
struct Post {
  void *data;
  int64_t bytes;
  int32_t tag;
  bool hasEnded = false;
  Endpoint::Ended ended;
};

/// What connects the endpoints of all ranks.
struct Network {
  using Posts = std::deque<std::shared_ptr<Post>>;
  /// From, to, lane.
  std::map<std::tuple<int, int, int>, std::pair<Posts, Posts>> queues;
  std::mutex mutex;
};

class MemoryEndpoint : public Endpoint {
public:
  MemoryEndpoint(std::shared_ptr<Network> network, int32_t rank)
      : network(std::move(network)), me(rank) {}

  /// The fewest that an MPI may have.
  int32_t largestTag() const override { return INT16_MAX; }
  int32_t send(int32_t to, Lane lane, int32_t tag, const void *data,
               int64_t bytes) override {
    EXPECT_LE(tag, largestTag());
    std::lock_guard<std::mutex> lock(network->mutex);
    auto &queue = network->queues[{me, to, lane}];
    return add(queue, queue.first,
               {const_cast<void *>(data), bytes, tag, false, {}});
  }
  int32_t receive(int32_t from, Lane lane, void *data, int64_t bytes) override {
    std::lock_guard<std::mutex> lock(network->mutex);
    auto &queue = network->queues[{from, me, lane}];
    return add(queue, queue.second, {data, bytes, -1, false, {}});
  }
  bool test(int32_t operation, Ended &ended) override {
    std::lock_guard<std::mutex> lock(network->mutex);
    ended = posts[operation]->ended;
    return posts[operation]->hasEnded;
  }

private:
  int32_t add(std::pair<Network::Posts, Network::Posts> &queue,
              Network::Posts &side, Post post) {
    posts.push_back(std::make_shared<Post>(post));
    side.push_back(posts.back());
    while (!queue.first.empty() && !queue.second.empty()) {
      Post &sent = *queue.first.front(), &received = *queue.second.front();
      // A message of 0 bytes has a null address, which memcpy() must not get.
      if (int64_t bytes = std::min(sent.bytes, received.bytes); bytes > 0)
        std::memcpy(received.data, sent.data, static_cast<size_t>(bytes));
      received.ended = {sent.tag, sent.bytes};
      sent.hasEnded = received.hasEnded = true;
      queue.first.pop_front();
      queue.second.pop_front();
    }
    return static_cast<int32_t>(posts.size()) - 1;
  }

  const std::shared_ptr<Network> network;
  const int32_t me;
  std::vector<std::shared_ptr<Post>> posts;
};

/// A value from each rank for all ranks, each rank in its own thread; used
/// once.
class Exchange {
public:
  explicit Exchange(int32_t count) : values(count) {}
  std::vector<std::string> run(int32_t rank, const std::string &value) {
    std::unique_lock<std::mutex> lock(mutex);
    values[rank] = value;
    ++told;
    changed.notify_all();
    changed.wait(lock, [&] { return told == values.size(); });
    return values;
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> values;
  size_t told = 0;
};

/// The part of a store that an endpoint needs.
class ExchangeStore : public Store {
public:
  ExchangeStore(std::shared_ptr<Exchange> all, int32_t rank)
      : all(std::move(all)), rank(rank) {}
  std::vector<std::string>
  exchange(const std::string &, const std::string &value, Patience) override {
    return all->run(rank, value);
  }
  void set(const std::string &, const std::string &) override {}
  std::string get(const std::string &) override { return {}; }
  void barrier(const std::string &) override {}
  void give(const std::string &, const std::string &) override {}
  std::string take(const std::string &) override { return {}; }
  void check() override {}
  bool fail(Exit, const std::string &) override { return false; }
  void leave() override {}
  void report(const std::string &) override {}
  std::vector<Report> reports() override { return {}; }
  Addresses addresses() override { return {}; }
  int64_t clockOffsetNs() override { return 0; }

private:
  const std::shared_ptr<Exchange> all;
  const int32_t rank;
};

struct Stores {
  explicit Stores(int32_t ranks) {
    auto all = std::make_shared<Exchange>(ranks);
    for (int32_t r = 0; r < ranks; ++r)
      stores.push_back(std::make_unique<ExchangeStore>(all, r));
  }
  std::vector<std::unique_ptr<Store>> stores;
};

/// The stores must outlive the endpoints.
class OverEndpoints : private Stores, public AllProcesses {
public:
  using MakeEndpoint =
      std::function<std::unique_ptr<Endpoint>(const World &world)>;

  OverEndpoints(const TransportParams &params, int cores,
                const MakeEndpoint &make)
      : Stores(params.ranks),
        AllProcesses(params, params.ranks, [&](int32_t process) {
          World world;
          world.process = process;
          world.processes = world.localProcesses = params.ranks;
          world.store = stores[process].get();
          return makeProcessTransport(params, world, make(world), cores);
        }) {}
};

} // namespace

static std::unique_ptr<Transport> overMemory(const TransportParams &params,
                                             const std::vector<Device *> &,
                                             const TransportOptions &options,
                                             const World &) {
  auto network = std::make_shared<Network>();
  return std::make_unique<OverEndpoints>(
      params, options.cores, [&](const World &world) {
        return std::make_unique<MemoryEndpoint>(network, world.process);
      });
}

static std::unique_ptr<Transport> overTcp(const TransportParams &params,
                                          const std::vector<Device *> &,
                                          const TransportOptions &options,
                                          const World &) {
  return std::make_unique<OverEndpoints>(params, options.cores,
                                         makeTcpEndpoint);
}

static std::unique_ptr<Device> makeDevice(int32_t, int32_t, const World &) {
  return makeCpuDevice();
}

const Backend rondo::runtime::test::processBackend = {makeDevice, overMemory};
const Backend rondo::runtime::test::tcpBackend = {makeDevice, overTcp};
