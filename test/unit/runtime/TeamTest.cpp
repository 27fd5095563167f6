//===- TeamTest.cpp - The threads that run ranks --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/team.h"
#include "runtime/base/error.h"

#include "gtest/gtest.h"

#include <atomic>
#include <stdexcept>
#include <thread>

using namespace rondo::runtime;

namespace {

TEST(Team, AFailureIsTheErrorEvenIfTheOthersCannotBeStopped) {
  Team team(2);
  std::atomic<bool> mayEnd{false};
  std::atomic<int> ended{0};
  Team::Watch watch;
  watch.look = [] {};
  watch.say = [](Exit, const std::string &) {};
  watch.stopAll = [&](int32_t, const std::exception_ptr &) {
    mayEnd = true;
    throw std::runtime_error("no memory for the last words");
  };
  try {
    team.run(
        2,
        [&](int32_t rank) {
          if (rank == 0)
            throw Error("rank 0 has failed");
          while (!mayEnd)
            std::this_thread::yield();
          ++ended;
        },
        watch);
    FAIL();
  } catch (const std::exception &error) {
    EXPECT_STREQ(error.what(), "rank 0 has failed");
  }
  // No thread runs the task any more.
  EXPECT_EQ(ended, 1);
}

} // namespace
