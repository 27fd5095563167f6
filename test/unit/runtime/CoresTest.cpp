//===- CoresTest.cpp - How many cores and threads a rank has --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ForwardingDevice.h"
#include "Training.h"

#include "runtime/base/thread_pool.h"
#include "runtime/execution/state.h"
#include "runtime/execution/team.h"
#include "runtime/launch/cores.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

std::vector<int> range(int first, int count) {
  std::vector<int> cores(count);
  std::iota(cores.begin(), cores.end(), first);
  return cores;
}

/// ownCores() of each process.
std::vector<int> own(const std::vector<AllowedCores> &processes) {
  std::vector<int> counts;
  for (size_t p = 0; p < processes.size(); ++p)
    counts.push_back(ownCores(processes, p));
  return counts;
}

/// Control groups as the kernel shows them.
class Groups {
public:
  void write(const std::string &name, const std::string &text) const {
    const std::filesystem::path file = folder.of(name);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  AllowedCores quotaOf(const std::string &groups) const {
    AllowedCores allowed{"a", range(0, 8)};
    readQuota(groups, folder.path, allowed);
    return allowed;
  }

private:
  const TemporaryFolder folder;
};

/// A container may have less time than its cores would give.
TEST(Cores, AControlGroupLimitsThem) {
  const Groups groups;
  groups.write("slice/cpu.max", "350000 100000\n");
  groups.write("slice/job/cpu.max", "max 100000\n");
  const AllowedCores job = groups.quotaOf("0::/slice/job\n");
  EXPECT_EQ(job.quota, 3.5);
  EXPECT_EQ(job.count(), 3);
  EXPECT_EQ(own({job}), (std::vector<int>{3}));
  // A smaller one within it.
  groups.write("slice/job/cpu.max", "50000 100000\n");
  const AllowedCores half = groups.quotaOf("0::/slice/job\n");
  EXPECT_EQ(half.quota, 0.5);
  EXPECT_EQ(own({half}), (std::vector<int>{1}));
  EXPECT_EQ(groups.quotaOf("0::/other\n").count(), 8);
}

TEST(Cores, ControlGroupsOfVersionOneLimitThem) {
  const Groups groups;
  groups.write("cpu/box/cpu.cfs_quota_us", "200000\n");
  groups.write("cpu/box/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(groups.quotaOf("3:memory:/box\n2:cpuacct,cpu:/box\n").count(), 2);
  EXPECT_EQ(groups.quotaOf("3:cpuset:/box\n").count(), 8);
  // A container sees its own group as the top.
  groups.write("cpu/cpu.cfs_quota_us", "300000\n");
  groups.write("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(groups.quotaOf("2:cpu:/machine/box\n").count(), 3);
  // No limit.
  groups.write("cpu/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(groups.quotaOf("2:cpu:/machine/box\n").count(), 8);
}

TEST(Cores, ProcessesOfAControlGroupShareItsQuota) {
  AllowedCores mine{"a", range(0, 8)};
  mine.quota = 4;
  mine.quotaGroup = 7;
  AllowedCores other = mine, elsewhere = mine;
  other.quotaGroup = 8;
  elsewhere.machine = "b";
  EXPECT_EQ(own({mine, mine}), (std::vector<int>{2, 2}));
  // The cores are shared, the quota is not.
  EXPECT_EQ(own({mine, other}), (std::vector<int>{4, 4}));
  EXPECT_EQ(own({mine, elsewhere}), (std::vector<int>{4, 4}));
}

TEST(Cores, AllOfALoneProcess) {
  EXPECT_EQ(own({{"a", range(0, 6)}}), (std::vector<int>{6}));
}

/// As torchrun starts them.
TEST(Cores, ProcessesWithTheSameCoresShareThem) {
  EXPECT_EQ(own({{"a", range(0, 8)}, {"a", range(0, 8)}, {"a", range(0, 8)}}),
            (std::vector<int>{2, 2, 2}));
  EXPECT_EQ(own({{"a", range(0, 9)}, {"a", range(0, 9)}, {"a", range(0, 9)}}),
            (std::vector<int>{3, 3, 3}));
  EXPECT_EQ(own({{"a", {0}}, {"a", {0}}}), (std::vector<int>{1, 1}));
}

/// As srun and mpirun bind them.
TEST(Cores, ProcessesWithTheirOwnCoresKeepThem) {
  EXPECT_EQ(own({{"a", range(0, 4)}, {"a", range(4, 4)}}),
            (std::vector<int>{4, 4}));
  EXPECT_EQ(own({{"a", range(0, 4)}, {"a", range(2, 4)}}),
            (std::vector<int>{3, 3}));
}

TEST(Cores, OtherMachinesShareNothing) {
  EXPECT_EQ(own({{"a", range(0, 8)}, {"b", range(0, 4)}, {"a", range(0, 8)}}),
            (std::vector<int>{4, 4, 4}));
}

TEST(Cores, SlurmsNumberIsTheMost) {
  EXPECT_EQ(own({{"a", range(0, 64), 4}, {"a", range(0, 64), 48}}),
            (std::vector<int>{4, 32}));
  setenv("SLURM_CPUS_PER_TASK", "1", 1);
  EXPECT_EQ(exchangeOwnCores(World()), 1);
  unsetenv("SLURM_CPUS_PER_TASK");
}

TEST(ThreadPool, RunsEachPartOnceOnItsThreads) {
  Team team(2, 3);
  std::atomic<int> parts[2][64] = {};
  std::set<std::thread::id> threads[2];
  team.run(2, [&](int32_t rank) {
    EXPECT_EQ(threadsHere(), 3);
    std::mutex mutex;
    std::condition_variable changed;
    // Three parts that wait for each other need three threads.
    runParts(3, [&](int64_t) {
      std::unique_lock<std::mutex> lock(mutex);
      threads[rank].insert(std::this_thread::get_id());
      changed.notify_all();
      EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] {
        return threads[rank].size() == 3;
      })) << "fewer than three threads";
    });
    for (int round = 0; round < 100; ++round)
      runParts(64, [&](int64_t p) { ++parts[rank][p]; });
  });
  for (int rank = 0; rank < 2; ++rank)
    for (std::atomic<int> &count : parts[rank])
      EXPECT_EQ(count, 100);
  for (std::thread::id thread : threads[0])
    EXPECT_EQ(threads[1].count(thread), 0u);
}

TEST(ThreadPool, PartsOfAPartRunOnItsThread) {
  Team team(1, 3);
  std::atomic<int> parts{0};
  team.run(1, [&](int32_t) {
    for (int round = 0; round < 100; ++round)
      runParts(5, [&](int64_t) {
        const std::thread::id thread = std::this_thread::get_id();
        runParts(7, [&](int64_t) {
          EXPECT_EQ(std::this_thread::get_id(), thread);
          ++parts;
        });
      });
  });
  EXPECT_EQ(parts, 100 * 5 * 7);
}

TEST(ThreadPool, ExceptionOfAPartIsTheCallers) {
  ThreadPool pool(2);
  for (int round = 0; round < 20; ++round) {
    EXPECT_THROW(pool.run(8,
                          [](int64_t p) {
                            if (p == 5)
                              throw std::runtime_error("part 5");
                          }),
                 std::runtime_error);
    int sum = 0;
    pool.run(1, [&](int64_t) { ++sum; });
    EXPECT_EQ(sum, 1);
  }
}

TEST(ThreadPool, RangesCoverAllOnce) {
  Team team(1, 4);
  std::vector<int> seen(100'003);
  team.run(1, [&](int32_t) {
    forRanges(static_cast<int64_t>(seen.size()), 10,
              [&](int64_t first, int64_t count) {
                for (int64_t i = first; i < first + count; ++i)
                  ++seen[static_cast<size_t>(i)];
              });
  });
  EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
}

/// The device of each rank says on which thread its arena was made.
std::map<int32_t, std::thread::id> arenaThreads;
class NotingDevice : public ForwardingDevice {
public:
  explicit NotingDevice(int32_t rank) : rank(rank) {}
  std::unique_ptr<Arena> makeArena(int64_t bytes) override {
    static std::mutex mutex;
    std::lock_guard<std::mutex> lock(mutex);
    arenaThreads[rank] = std::this_thread::get_id();
    return ForwardingDevice::makeArena(bytes);
  }
  int64_t stamp() override {
    std::lock_guard<std::mutex> lock(mutexOfTasks);
    taskThreads[rank].insert(std::this_thread::get_id());
    return ForwardingDevice::stamp();
  }
  static std::mutex mutexOfTasks;
  static std::map<int32_t, std::set<std::thread::id>> taskThreads;

private:
  const int32_t rank;
};
std::mutex NotingDevice::mutexOfTasks;
std::map<int32_t, std::set<std::thread::id>> NotingDevice::taskThreads;

/// So its pages are near the cores that use them.
TEST(Cores, ArenaIsFirstTouchedByTheThreadOfItsRank) {
  Backend noting = cpuBackend;
  noting.makeDevice = [](int32_t rank, int32_t,
                         const World &) -> std::unique_ptr<Device> {
    return std::make_unique<NotingDevice>(rank);
  };
  Program program(timedOnRanks(3, 0));
  program.exe.backend = &noting;
  TemporaryFile trace;
  ASSERT_EQ(runProgram(program,
                       {"--quiet", "--iterations", "1", "--trace", trace.path}),
            0);
  ASSERT_EQ(arenaThreads.size(), 3u);
  for (const auto &[rank, thread] : arenaThreads)
    EXPECT_EQ(NotingDevice::taskThreads[rank],
              std::set<std::thread::id>{thread})
        << "rank " << rank;
}

using Threads = Training;

/// Layers large enough that their products are cut into parts.
Spec wide() {
  Spec spec = gpt({4}, {0}, true);
  for (LayerDesc &layer : spec.layers) {
    layer.batch = 8;
    layer.sequence = 64;
    layer.hidden = 64;
    layer.heads = 4;
    layer.ffn = 512;
  }
  return spec;
}

TEST_F(Threads, DoNotChangeBits) {
  Program program(wide());
  train(program, {"--iterations", "2", "--threads", "1", "--save", first.path});
  const std::string expected = first.read();
  for (const char *threads : {"2", "3", "7"}) {
    train(program,
          {"--iterations", "2", "--threads", threads, "--save", second.path});
    EXPECT_TRUE(second.read() == expected) << threads;
  }
}

/// A resumed run may have others.
TEST_F(Threads, MayChangeWhenARunIsResumed) {
  Program program(wide());
  train(program, {"--iterations", "2", "--threads", "1", "--save", first.path});
  const std::string expected = first.read();
  train(program,
        {"--iterations", "1", "--threads", "2", "--save", second.path});
  train(program, {"--iterations", "2", "--threads", "3", "--save", second.path,
                  "--resume", second.path});
  EXPECT_TRUE(second.read() == expected);
}

TEST_F(Threads, AreInTheLog) {
  Program program(wide());
  const std::vector<std::string> words = {"--data", data.path, "--iterations",
                                          "1"};
  auto logOf = [&](const char *threads) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--threads", threads});
    return run(program, all).out;
  };
  EXPECT_NE(logOf("3").find("\nthreads: 3 a rank\n"), std::string::npos);
  EXPECT_EQ(logOf("1").find("\nthreads: "), std::string::npos);
}

} // namespace
