//===- team.cpp - The threads that run ranks ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/team.h"

#include "runtime/base/error.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/prctl.h>
#include <system_error>

using namespace rondo::runtime;

static std::string messageOf(const std::exception_ptr &exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception &e) {
    return e.what();
  } catch (const PeerFailed &) {
    return "";
  } catch (...) {
    return "an unknown exception";
  }
}

Team::Team(int32_t numThreads, int32_t threadsOfRank) {
  try {
    for (int32_t r = 0; r < numThreads; ++r)
      pools.push_back(std::make_unique<ThreadPool>(threadsOfRank));
    for (int32_t r = 0; r < numThreads; ++r)
      threads.emplace_back([this, r] { work(r); });
  } catch (const std::system_error &error) {
    stop();
    throw Error("cannot start " + std::to_string(numThreads) + " ranks with " +
                std::to_string(threadsOfRank) +
                " threads each: " + error.code().message());
  }
}

Team::~Team() { stop(); }

void Team::stop() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isStopping = true;
  }
  started.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void Team::fail(int32_t thread, const std::exception_ptr &exception) {
  if (failure)
    return;
  failure = exception;
  failed = thread;
}

void Team::work(int32_t rank) {
  // Otherwise sleeps of timed tasks and links would end 50 us late.
  prctl(PR_SET_TIMERSLACK, 1000UL, 0, 0, 0);
  ThreadPool::useHere(pools[rank].get());
  uint64_t seen = 0;
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    started.wait(lock, [&] { return isStopping || round != seen; });
    if (isStopping)
      return;
    seen = round;
    if (rank >= count)
      continue;
    lock.unlock();
    std::exception_ptr exception;
    try {
      (*task)(rank);
    } catch (const Aborted &) {
      // Another rank has thrown; its exception is the error.
      exception = nullptr;
    } catch (...) {
      exception = std::current_exception();
    }
    lock.lock();
    if (exception)
      fail(rank, exception);
    if (--running == 0 || exception)
      ended.notify_all();
  }
}

void Team::run(int32_t numRanks, const std::function<void(int32_t)> &newTask) {
  Watch watch;
  watch.stopAll = [](int32_t, const std::exception_ptr &) {};
  watch.look = [] {};
  watch.say = [](Exit, const std::string &why) {
    std::fprintf(stderr, "error: %s\n", why.c_str());
  };
  run(numRanks, newTask, watch);
}

void Team::run(int32_t numRanks, const std::function<void(int32_t)> &newTask,
               const Watch &watch) {
  using Clock = std::chrono::steady_clock;
  std::unique_lock<std::mutex> lock(mutex);
  task = &newTask;
  count = running = numRanks;
  failure = nullptr;
  ++round;
  started.notify_all();
  while (running > 0 && !failure) {
    if (ended.wait_for(lock, std::chrono::milliseconds(100)) ==
        std::cv_status::timeout) {
      // It may talk to other processes; no rank waits for that.
      lock.unlock();
      std::exception_ptr exception;
      try {
        watch.look();
      } catch (...) {
        exception = std::current_exception();
      }
      lock.lock();
      if (exception)
        fail(-1, exception);
    }
  }
  if (!failure)
    return;
  // stopAll sends to other processes and writes files; ranks that end meanwhile
  // need the lock. If it throws, the others have not been stopped, and `task`
  // must outlive them: the wait below is the same.
  lock.unlock();
  try {
    watch.stopAll(failed, failure);
  } catch (...) {
    // The first failure is the error.
  }
  lock.lock();
  // A thread inside MPI, NCCL or the driver does not see the abort flag, and no
  // call of these libraries can be interrupted from outside: such a process
  // ends here, stopSeconds after the failure.
  constexpr std::chrono::seconds stopSeconds(5);
  if (!ended.wait_until(lock, Clock::now() + stopSeconds,
                        [&] { return running == 0; })) {
    const Exit code = codeOf(failure);
    std::string message = messageOf(failure);
    if (!message.empty())
      watch.say(code, message);
    std::fflush(nullptr);
    std::_Exit(static_cast<int>(code));
  }
  std::rethrow_exception(failure);
}
