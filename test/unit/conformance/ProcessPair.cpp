//===- ProcessPair.cpp - Ranks that see each other as processes -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProcessPair.h"

#include "AllProcesses.h"
#include "MemoryEndpoint.h"

#include "runtime/base/error.h"
#include "runtime/transport/endpoint.h"
#include "test/unit/runtime/ExchangeStore.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

/// A value from each rank for all ranks, each rank in its own thread, as often
/// as they like.
class Exchange {
public:
  explicit Exchange(int32_t count) : values(count) {}
  std::vector<std::string> run(int32_t rank, const std::string &value) {
    std::unique_lock<std::mutex> lock(mutex);
    const size_t mine = round;
    values[rank] = value;
    if (++told == values.size()) {
      results = values;
      told = 0;
      ++round;
      changed.notify_all();
    }
    if (!changed.wait_for(lock, std::chrono::seconds(60),
                          [&] { return round != mine; }))
      throw Error("a rank did not exchange its value within 60 s");
    // Nobody can end the next round before all have left this one.
    return results;
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> values, results;
  size_t told = 0, round = 0;
};

class StoreOfRank : public ExchangeStore {
public:
  StoreOfRank(std::shared_ptr<Exchange> all, int32_t rank)
      : all(std::move(all)), rank(rank) {}
  std::vector<std::string>
  exchange(const std::string &, const std::string &value, Patience) override {
    return all->run(rank, value);
  }

private:
  const std::shared_ptr<Exchange> all;
  const int32_t rank;
};

struct Stores {
  explicit Stores(int32_t ranks) {
    auto all = std::make_shared<Exchange>(ranks);
    for (int32_t r = 0; r < ranks; ++r)
      stores.push_back(std::make_unique<StoreOfRank>(all, r));
  }
  std::vector<std::unique_ptr<Store>> stores;
};

/// The stores must outlive the endpoints.
class OverEndpoints : private Stores, public AllProcesses {
public:
  using MakeEndpoint = std::function<std::unique_ptr<Endpoint>(
      const World &, const Peers &, const TransportOptions &)>;

  OverEndpoints(const TransportParams &params, const TransportOptions &options,
                const MakeEndpoint &make)
      : Stores(params.ranks),
        AllProcesses(params, params.ranks, [&](int32_t process) {
          World world;
          world.process = process;
          world.processes = world.localProcesses = params.ranks;
          world.store = stores[process].get();
          return makeProcessTransport(
              params, world, make(world, peersOf(params, world), options),
              options);
        }) {}
};

} // namespace

static std::unique_ptr<Transport> overMemory(const TransportParams &params,
                                             const std::vector<Device *> &,
                                             const TransportOptions &options,
                                             const World &) {
  auto network = std::make_shared<Network>();
  return std::make_unique<OverEndpoints>(
      params, options,
      [&](const World &world, const Peers &, const TransportOptions &) {
        return std::make_unique<MemoryEndpoint>(network, world.process);
      });
}

static std::unique_ptr<Transport> overTcp(const TransportParams &params,
                                          const std::vector<Device *> &,
                                          const TransportOptions &options,
                                          const World &) {
  return std::make_unique<OverEndpoints>(params, options, makeTcpEndpoint);
}

static std::unique_ptr<Device> makeDevice(int32_t, int32_t, const World &) {
  return makeCpuDevice();
}

const Backend rondo::runtime::test::processBackend = {makeDevice, overMemory};
const Backend rondo::runtime::test::tcpBackend = {makeDevice, overTcp};
