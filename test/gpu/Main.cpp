//===- Main.cpp - Runs tests with a time limit ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GoogleTest has no time limit, and on a GPU a wait may never end.
//
//===----------------------------------------------------------------------===//

#include "gtest/gtest.h"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

namespace {

/// Ends the process with status 124 if a case takes more than
/// RONDO_CASE_SECONDS, or 40: one that hangs must not take the time of the
/// following ones.
class TimeLimit : public testing::EmptyTestEventListener {
public:
  void OnTestStart(const testing::TestInfo &test) override {
    hasEnded = false;
    const std::string name =
        std::string(test.test_suite_name()) + "." + test.name();
    watcher = std::thread([this, name] {
      const char *text = std::getenv("RONDO_CASE_SECONDS");
      const std::chrono::seconds limit(text ? std::atoi(text) : 40);
      std::unique_lock<std::mutex> lock(mutex);
      if (changed.wait_for(lock, limit, [this] { return hasEnded; }))
        return;
      std::printf("%s takes more than %d s\n", name.c_str(),
                  static_cast<int>(limit.count()));
      std::fflush(stdout);
      std::_Exit(124);
    });
  }
  void OnTestEnd(const testing::TestInfo &) override {
    {
      std::lock_guard<std::mutex> lock(mutex);
      hasEnded = true;
    }
    changed.notify_all();
    watcher.join();
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  bool hasEnded = false;
  std::thread watcher;
};

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new TimeLimit);
  return RUN_ALL_TESTS();
}
