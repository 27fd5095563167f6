//===- Conformance.h - Ranks on any device and transport --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One set of tests for all pairs of a device and a transport. A test says what
// each rank does, with ranks as threads of this process; it touches data only
// as a program does: from the host between iterations, and by the device within
// one.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TEST_UNIT_CONFORMANCE_CONFORMANCE_H
#define RONDO_TEST_UNIT_CONFORMANCE_CONFORMANCE_H

#include "runtime/backend/backend.h"
#include "runtime/base/error.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace rondo::runtime::test {

/// A device and a transport.
struct Pair {
  const char *name;
  const Backend *backend;
  /// Work of the device itself, in the order of the rank's actions.
  void (*fill)(Device &device, void *to, int byte, int64_t bytes);
  void (*copy)(Device &device, void *to, const void *from, int64_t bytes);
  /// Whether the transport knows the sizes at both ends before it moves a
  /// message.
  bool comparesSizes;
  /// Whether it repeats recorded iterations.
  bool hasGraphs;
  /// Called before and after each test: prepares order number `round`.
  void (*begin)(int round);
  void (*end)();
  /// The number of orders worth trying.
  int rounds;
};

/// Target of its devices.
inline Target targetOf(const Pair &pair) {
  return std::strncmp(pair.name, "cpu", 3) == 0 ? Target::Cpu : Target::Cuda;
}

/// The pairs of this build, sorted by name. Defined once in each executable of
/// the suite.
const std::vector<Pair> &allPairs();

/// Ranks with an arena each, connected by a transport.
class Ranks {
public:
  Ranks(const Pair &pair, int count, int64_t arenaBytes) : pair(pair) {
    params.ranks = count;
    // The last one skips a stage.
    params.edges = {{Message::Activation, 0, 1},
                    {Message::Gradient, 1, 0},
                    {Message::Activation, 0, 2}};
    for (int r = 0; r < count; ++r) {
      devices.push_back(pair.backend->makeDevice(r, count, {}));
      arenas.push_back(devices.back()->makeArena(arenaBytes));
    }
  }

  /// `params` gives channels and collectives. Ranks get the staging memory that
  /// these need, to the byte, unless `params` has some.
  void connect(double timeoutSeconds = 20) {
    if (params.staging.empty())
      stage(stagingNeeds());
    TransportOptions options;
    options.cores = 2;
    options.timeoutSeconds = timeoutSeconds;
    std::vector<Device *> all;
    for (const std::unique_ptr<Device> &device : devices)
      all.push_back(device.get());
    transport = pair.backend->makeTransport(params, all, options, {});
  }

  /// Key: rank. Bytes that the transport stages, as sums of parts and as sums
  /// of all elements.
  std::map<int32_t, int64_t> stagingNeeds() const {
    std::map<int32_t, int64_t> needs;
    for (const CollectiveParams &parts : params.collectives)
      for (CollectiveKind kind :
           {CollectiveKind::ReplicaGradients, CollectiveKind::GradientNorm})
        for (auto [rank, bytes] : stagingBytes(kind, parts, pair.backend->sums))
          needs[rank] = std::max(needs[rank], bytes);
    return needs;
  }
  /// Gives ranks staging memory.
  void stage(const std::map<int32_t, int64_t> &bytesOf) {
    params.staging.resize(static_cast<size_t>(params.ranks));
    for (auto [rank, bytes] : bytesOf) {
      arenas.push_back(devices[rank]->makeArena(bytes));
      params.staging[rank] = {arenas.back()->base(), bytes};
    }
  }

  /// Runs one iteration, with a thread per rank. Returns the error of the first
  /// rank that failed; the others are then aborted.
  std::string iterate(const std::function<void(int)> &actions,
                      bool mayReplay = false) {
    std::string failure;
    std::mutex mutex;
    std::condition_variable changed;
    int running = params.ranks;
    std::vector<std::thread> threads;
    for (int r = 0; r < params.ranks; ++r)
      threads.emplace_back([&, r] {
        std::string mine;
        try {
          transport->iterate(r, mayReplay, [&] { actions(r); });
        } catch (const Aborted &) {
        } catch (const std::exception &error) {
          mine = error.what();
        }
        if (!mine.empty())
          transport->abort();
        std::lock_guard<std::mutex> lock(mutex);
        if (failure.empty())
          failure = mine;
        --running;
        changed.notify_all();
      });
    {
      std::unique_lock<std::mutex> lock(mutex);
      if (!changed.wait_for(lock, std::chrono::seconds(120),
                            [&] { return running == 0; })) {
        failure = "the iteration does not end";
        transport->abort();
      }
    }
    for (std::thread &thread : threads)
      thread.join();
    return failure;
  }

  char *at(int rank, int64_t offset) const {
    return arenas[rank]->base() + offset;
  }
  template <typename T>
  void write(int rank, int64_t offset, const std::vector<T> &values) {
    arenas[rank]->write(at(rank, offset), values.data(),
                        static_cast<int64_t>(sizeof(T) * values.size()));
  }
  template <typename T>
  std::vector<T> read(int rank, int64_t offset, size_t count) const {
    std::vector<T> values(count);
    arenas[rank]->read(values.data(), at(rank, offset),
                       static_cast<int64_t>(sizeof(T) * count));
    return values;
  }
  // Done by the device, in the rank's order.
  void fill(int rank, int64_t offset, int byte, int64_t bytes) {
    pair.fill(*devices[rank], at(rank, offset), byte, bytes);
  }
  void copy(int rank, int64_t to, int64_t from, int64_t bytes) {
    pair.copy(*devices[rank], at(rank, to), at(rank, from), bytes);
  }

  // A collective in one go.
  void sumParts(int32_t collective, int32_t rank) {
    transport->startSumParts(collective, rank);
    transport->waitCollective(collective, rank);
  }
  /// The result is written at `offset` of the rank.
  void addAll(int32_t collective, int32_t rank, int64_t offset) {
    startAddAll(collective, rank, offset);
    transport->waitCollective(collective, rank);
  }
  void startAddAll(int32_t collective, int32_t rank, int64_t offset) {
    transport->startAddAll(collective, rank,
                           reinterpret_cast<double *>(at(rank, offset)));
  }

  const Pair &pair;
  TransportParams params;
  std::vector<std::unique_ptr<Device>> devices;
  /// One arena per rank, followed by the staging memory.
  std::vector<std::unique_ptr<Arena>> arenas;
  std::unique_ptr<Transport> transport;
};

class Conformance : public testing::TestWithParam<Pair> {
protected:
  void SetUp() override { GetParam().begin(0); }
  void TearDown() override { GetParam().end(); }
  /// Calls the test once for each order.
  void inAllOrders(const std::function<void()> &test) {
    for (int round = 0; round < GetParam().rounds && !HasFailure(); ++round) {
      GetParam().begin(round);
      test();
    }
  }
};

inline std::string nameOfPair(const testing::TestParamInfo<Pair> &info) {
  return info.param.name;
}

inline MessageName activation(int32_t i) { return {0, i, 0, 1}; }
inline MessageName gradient(int32_t i) { return {1, i, 1, 0}; }
/// The same as activation(i), on another edge.
inline MessageName skipping(int32_t i) { return {2, i, 0, 2}; }

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_CONFORMANCE_CONFORMANCE_H
