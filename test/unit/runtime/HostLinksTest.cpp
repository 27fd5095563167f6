//===- HostLinksTest.cpp - Turns on links to the host ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/runtime/ExchangeStore.h"

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/shared_memory.h"
#include "runtime/execution/host_links.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

/// Values that threads exchange as if they were processes.
class Exchanges {
public:
  explicit Exchanges(int32_t processes) : processes(processes) {}

  std::vector<std::string> exchange(const std::string &name, int32_t process,
                                    const std::string &value) {
    std::unique_lock<std::mutex> lock(mutex);
    auto &values = all[name];
    values.resize(processes);
    values[process] = value;
    ++arrived[name];
    changed.notify_all();
    changed.wait(lock, [&] { return arrived[name] == processes; });
    return values;
  }

  /// Files of the memory that the processes have named, and that are there.
  int64_t numNamed() {
    std::lock_guard<std::mutex> lock(mutex);
    int64_t count = 0;
    for (const std::string &value : all["host links"]) {
      const std::string name = value.substr(value.find_last_of('\n') + 1);
      count += !name.empty() && std::filesystem::exists("/dev/shm" + name);
    }
    return count;
  }

private:
  const int32_t processes;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::vector<std::string>> all;
  std::map<std::string, int32_t> arrived;
};

class SharedStore : public ExchangeStore {
public:
  SharedStore(Exchanges &all, int32_t process) : all(all), process(process) {}

  std::vector<std::string> exchange(const std::string &name,
                                    const std::string &value,
                                    Patience) override {
    // A process on another machine.
    const bool isOther = !otherHost.empty() && name == "host links";
    return all.exchange(name, process,
                        isOther ? "another boot\n" + otherHost +
                                      value.substr(value.find_last_of('\n'))
                                : value);
  }
  std::string otherHost;

private:
  Exchanges &all;
  const int32_t process;
};

/// Ranks with one copy to the host each over one link, whose turns are given.
class HostLinksTest : public testing::Test {
protected:
  void setUp(const std::vector<int32_t> &turns, int64_t latencyNs = 0) {
    const auto ranks = static_cast<int32_t>(turns.size());
    links.assign(ranks, {latencyNs, 0, 0, false});
    replicas.resize(ranks);
    copies.resize(ranks);
    for (int32_t r = 0; r < ranks; ++r) {
      replicas[r].stage = replicas[r].rank = r;
      copies[r] = {ActionKind::Save, r, 0, turns[r]};
      lists.push_back({1, &copies[r], 0, nullptr, false});
    }
    program.numRanks = ranks;
    program.copies = lists.data();
    executable.numRanks = executable.numReplicas = ranks;
    executable.hostLinks = links.data();
    executable.replicas = replicas.data();
    executable.numPrograms = 1;
    executable.programs = &program;
  }
  HostLinks::Copy copyOf(int32_t rank) const {
    return {rank, ActionKind::Save, copies[rank].turn};
  }
  /// Runs a function for each rank, in a process of its own.
  template <typename Run> void inProcesses(Run run, int32_t otherHost = -1) {
    Exchanges exchanges(program.numRanks);
    std::vector<std::thread> threads;
    for (int32_t r = 0; r < program.numRanks; ++r)
      threads.emplace_back([&, r] {
        SharedStore store(exchanges, r);
        if (r == otherHost)
          store.otherHost = "b";
        run(r, World{r, program.numRanks, r, program.numRanks, "", &store});
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(exchanges.numNamed(), 0);
  }

  std::vector<HostLinkDesc> links;
  std::vector<ReplicaDesc> replicas;
  std::vector<CopyDesc> copies;
  std::vector<RankCopiesDesc> lists;
  ProgramDesc program{};
  Executable executable{};
};

TEST_F(HostLinksTest, ProcessesTakeTurnsInTheOrderOfEachIteration) {
  setUp({2, 0, 3, 1});
  constexpr int iterations = 50;
  std::mutex mutex;
  std::vector<int32_t> log;
  inProcesses([&](int32_t rank, const World &world) {
    HostLinks own(executable, world, /*areImposed=*/false);
    for (int t = 0; t < iterations; ++t) {
      own.begin(rank, program);
      ASSERT_TRUE(own.enter(copyOf(rank)));
      {
        std::lock_guard<std::mutex> lock(mutex);
        log.push_back(rank);
      }
      own.leave(copyOf(rank));
    }
  });
  ASSERT_EQ(log.size(), 4u * iterations);
  for (size_t i = 0; i < log.size(); ++i)
    EXPECT_EQ(copies[log[i]].turn, static_cast<int32_t>(i % 4)) << i;
}

TEST_F(HostLinksTest, AnImposedLinkCarriesOneCopyAtATime) {
  setUp({-1, -1, -1}, /*latencyNs=*/200'000);
  std::mutex mutex;
  std::vector<std::pair<int64_t, int64_t>> times;
  inProcesses([&](int32_t rank, const World &world) {
    HostLinks own(executable, world, /*areImposed=*/true);
    own.begin(rank, program);
    ASSERT_TRUE(own.enter(copyOf(rank)));
    const int64_t begin = nowNs();
    own.impose(copyOf(rank), 1, begin);
    const int64_t end = nowNs();
    own.leave(copyOf(rank));
    std::lock_guard<std::mutex> lock(mutex);
    times.emplace_back(begin, end);
  });
  std::sort(times.begin(), times.end());
  for (size_t i = 0; i < times.size(); ++i) {
    EXPECT_GE(times[i].second - times[i].first, 200'000);
    if (i > 0) {
      EXPECT_GE(times[i].first, times[i - 1].second);
    }
  }
}

TEST_F(HostLinksTest, AWaitNamesTheCopyBeforeItAndEndsWithTheRun) {
  setUp({1, 0});
  World alone;
  HostLinks all(executable, alone, /*areImposed=*/false);
  all.begin(0, program);
  all.begin(1, program);
  EXPECT_EQ(all.waitOf(copyOf(0)).text,
            "its turn on host link 0 after 1SAVE0 of rank 1");
  EXPECT_EQ(all.waitOf(copyOf(0)).onRank, 1);
  EXPECT_EQ(all.waitOf(copyOf(1)).text, "");
  std::thread waiting([&] { EXPECT_FALSE(all.enter(copyOf(0))); });
  all.stop();
  waiting.join();
  EXPECT_TRUE(all.enter(copyOf(1)));
}

TEST_F(HostLinksTest, RanksOfALinkOnTwoHostsAreRefused) {
  setUp({1, 0});
  inProcesses(
      [&](int32_t rank, const World &world) {
        try {
          const HostLinks own(executable, world, /*areImposed=*/false);
          ADD_FAILURE() << rank;
        } catch (const Error &error) {
          EXPECT_EQ(rank, 0);
          EXPECT_EQ(error.code, Exit::Usage);
          EXPECT_EQ(std::string(error.what()),
                    "ranks 0 and 1 share host link 0 of the plan, but are on "
                    "hosts '" +
                        thisHost() +
                        "' and 'b': start them on one host, or change "
                        "pipe.host_link");
        } catch (const PeerFailed &failure) {
          EXPECT_EQ(rank, 1);
          EXPECT_EQ(failure.code, Exit::Usage);
        }
      },
      /*otherHost=*/1);
}

TEST(SharedMemory, WritesReachThoseThatHaveOpenedIt) {
  SharedMemory memory(128);
  const SharedMemory other(memory.name(), 128);
  memory.removeName();
  static_cast<char *>(memory.data())[7] = 'x';
  EXPECT_EQ(static_cast<char *>(other.data())[7], 'x');
  EXPECT_THROW(SharedMemory(memory.name(), 128), Error);
}

TEST(SharedMemory, WhatIsNotThereCannotBeOpened) {
  const SharedMemory memory(128);
  EXPECT_THROW(SharedMemory("/rondo-none", 128), Error);
  EXPECT_THROW(SharedMemory(memory.name(), 64), Error);
}

} // namespace
