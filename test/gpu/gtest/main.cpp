//===- main.cpp - Runs the tests of the stand-in for GoogleTest -----------===//

#include "gtest/gtest.h"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <thread>

using namespace testing::internal;

namespace {

/// Ends the process where a case takes more than RONDO_CASE_SECONDS, or 40: one
/// that hangs must not take the time of those behind it.
class Watch {
public:
  explicit Watch(const std::string &name)
      : watcher([this, name] {
          const char *text = std::getenv("RONDO_CASE_SECONDS");
          const std::chrono::seconds limit(text ? std::atoi(text) : 40);
          std::unique_lock<std::mutex> lock(mutex);
          if (changed.wait_for(lock, limit, [this] { return hasEnded; }))
            return;
          std::cout << name << " takes more than " << limit.count() << " s"
                    << std::endl;
          std::_Exit(124);
        }) {}
  ~Watch() {
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

/// Does `text` match a pattern of letters, * and ?.
static bool matches(const char *pattern, const char *text) {
  if (*pattern == '\0')
    return *text == '\0';
  if (*pattern == '*')
    return matches(pattern + 1, text) || (*text && matches(pattern, text + 1));
  return *text && (*pattern == '?' || *pattern == *text) &&
         matches(pattern + 1, text + 1);
}

/// Any of the patterns with : between them.
static bool matchesAny(const std::string &patterns, const std::string &name) {
  std::stringstream list(patterns);
  for (std::string pattern; std::getline(list, pattern, ':');)
    if (matches(pattern.c_str(), name.c_str()))
      return true;
  return false;
}

/// `these:those-not these`, as GoogleTest has it.
static bool isWanted(const std::string &filter, const std::string &name) {
  size_t minus = filter.find('-');
  std::string wanted = filter.substr(0, minus);
  if (!wanted.empty() && !matchesAny(wanted, name))
    return false;
  return minus == std::string::npos ||
         !matchesAny(filter.substr(minus + 1), name);
}

static void runBody(const Case &test) {
  Report unexpected{test.name.c_str(), 0, ""};
  try {
    testing::Test *instance = test.make();
    try {
      instance->SetUp();
      if (!testing::Test::HasFatalFailure() && !testing::Test::IsSkipped())
        instance->TestBody();
    } catch (const std::exception &error) {
      unexpected = testing::Message() << "it threw: " << error.what();
    } catch (...) {
      unexpected = testing::Message() << "it threw something";
    }
    instance->TearDown();
    delete instance;
  } catch (const std::exception &error) {
    unexpected = testing::Message() << "its fixture threw: " << error.what();
  }
}

static Outcome runOne(const Case &test) {
  Running &running = Running::get();
  running.outcome = Outcome::Passed;
  running.hasFatalFailure = false;
  std::string name = test.suite + "." + test.name;
  std::cout << "[ RUN      ] " << name << std::endl;
  auto start = std::chrono::steady_clock::now();
  {
    Watch watch(name);
    runBody(test);
  }
  auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - start);
  const char *word = running.outcome == Outcome::Passed    ? "       OK "
                     : running.outcome == Outcome::Skipped ? "  SKIPPED "
                                                           : "  FAILED  ";
  std::cout << "[" << word << "] " << name << " (" << ms.count() << " ms)"
            << std::endl;
  return running.outcome;
}

int main(int argc, char **argv) {
  std::string filter = "*";
  const std::string flag = "--gtest_filter=";
  for (int i = 1; i < argc; ++i)
    if (std::string(argv[i]).compare(0, flag.size(), flag) == 0)
      filter = argv[i] + flag.size();
  for (const auto &expand : expansions())
    expand();

  int counts[3] = {0, 0, 0};
  std::vector<std::string> failed;
  const Case *previous = nullptr;
  for (const Case &test : cases()) {
    if (!isWanted(filter, test.suite + "." + test.name))
      continue;
    if (!previous || previous->suite != test.suite) {
      if (previous)
        previous->tearDownSuite();
      test.setUpSuite();
    }
    previous = &test;
    Outcome outcome = runOne(test);
    ++counts[static_cast<int>(outcome)];
    if (outcome == Outcome::Failed)
      failed.push_back(test.suite + "." + test.name);
  }
  if (previous)
    previous->tearDownSuite();

  std::cout << "[  PASSED  ] " << counts[0] << " tests.\n";
  if (counts[1])
    std::cout << "[  SKIPPED ] " << counts[1] << " tests.\n";
  if (counts[2])
    std::cout << "[  FAILED  ] " << counts[2] << " tests, listed below:\n";
  for (const std::string &name : failed)
    std::cout << "[  FAILED  ] " << name << "\n";
  return failed.empty() ? 0 : 1;
}
