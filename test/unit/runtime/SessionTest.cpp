//===- SessionTest.cpp - Processes that find each other -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Real processes with the environment that a launcher gives them, on the
// loopback interface. They join and leave; what they would train is tested with
// a transport between processes.
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include "runtime/backend/backend.h"
#include "runtime/base/clock.h"
#include "runtime/launch/socket.h"
#include "runtime/trainer/session.h"

#include "gtest/gtest.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

const ProcessSupport support = {"test", nullptr, nullptr, nullptr};

/// An executable of three ranks.
struct ThreeRanks {
  ThreeRanks() : program(timedOnRanks(3, 1000)), backend(cpuBackend) {
    backend.processes = &support;
    program.exe.backend = &backend;
  }
  Program program;
  Backend backend;
};

/// A process's exit code.
int join(const Executable &exe, const std::function<void(Session &)> &body) {
  try {
    Session session(exe, {}, 60, 60);
    try {
      body(session);
      return session.leave(session.world().isFirst() ? 3 : 0);
    } catch (const Error &error) {
      session.fail(error.code, error.what());
      return static_cast<int>(error.code);
    }
  } catch (const PeerFailed &failure) {
    return static_cast<int>(failure.code);
  } catch (const Error &error) {
    return static_cast<int>(error.code);
  }
}

/// Starts processes as torchrun would, with its agent on MASTER_PORT, and
/// returns their exit codes.
std::vector<int> start(int processes, const char *jobSuffix,
                       const std::function<void(Session &)> &body) {
  ThreeRanks three;
  Socket agent = listenOn(0, true);
  const int port = portOf(agent);
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    pid_t child = fork();
    if (child == 0) {
      setenv("RANK", std::to_string(p).c_str(), 1);
      setenv("WORLD_SIZE", std::to_string(processes).c_str(), 1);
      setenv("LOCAL_RANK", std::to_string(p).c_str(), 1);
      setenv("LOCAL_WORLD_SIZE", std::to_string(processes).c_str(), 1);
      setenv("MASTER_ADDR", "127.0.0.1", 1);
      setenv("MASTER_PORT", std::to_string(port).c_str(), 1);
      setenv("TORCHELASTIC_RUN_ID", jobSuffix, 1);
      // Errors of these processes are not errors of the test.
      if (!std::freopen("/dev/null", "w", stderr))
        _exit(99);
      _exit(join(three.program.exe, body));
    }
    children.push_back(child);
  }
  return exitCodesOf(children);
}

TEST(Session, ProcessesOfTorchrunMeetBehindItsPort) {
  std::vector<int> codes = start(3, "meet", [](Session &session) {
    const World &world = session.world();
    if (world.processes != 3 || world.localProcesses != 3 ||
        world.localProcess != world.process || world.startedBy != "torchrun")
      throw Error("another world");
    std::vector<std::string> all =
        world.store->exchange("ranks", std::to_string(world.process));
    if (all != std::vector<std::string>{"0", "1", "2"})
      throw Error("other values");
  });
  // Process 0's status becomes that of all.
  EXPECT_EQ(codes, (std::vector<int>{3, 3, 3}));
}

TEST(Session, AKilledProcessEndsAll) {
  // Without waiting for the time-out of 60 s.
  int64_t startNs = nowNs();
  std::vector<int> codes = start(3, "killed", [](Session &session) {
    if (session.world().process == 1)
      raise(SIGKILL);
    session.world().store->barrier("never");
  });
  EXPECT_EQ(codes, (std::vector<int>{75, -SIGKILL, 75}));
  EXPECT_LT(nowNs() - startNs, 30'000'000'000);
}

TEST(Session, AProcessThatDoesNotNoticeIsEnded) {
  std::vector<int> codes = start(3, "stuck", [](Session &session) {
    if (session.world().process == 1)
      throw Error("an error", Exit::Failure);
    if (session.world().process == 2)
      sleep(60);
    session.world().store->barrier("never");
  });
  EXPECT_EQ(codes, (std::vector<int>{1, 1, 1}));
}

TEST(Session, AWrongNumberOfProcessesEndsAllAtOnce) {
  // Without waiting for each other for 60 s.
  int64_t startNs = nowNs();
  EXPECT_EQ(start(2, "size", [](Session &) {}), (std::vector<int>{2, 2}));
  EXPECT_LT(nowNs() - startNs, 30'000'000'000);
}

TEST(Session, OneProcessIsAlone) {
  ThreeRanks three;
  Session session(three.program.exe, {}, 1, 1);
  EXPECT_TRUE(session.world().isAlone());
  EXPECT_EQ(session.leave(5), 5);
}

} // namespace
