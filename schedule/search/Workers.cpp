//===- Workers.cpp - The threads of one search ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/Workers.h"

#include <algorithm>
#include <utility>

using namespace rondo;

/// Number of polls before a thread sleeps: some ten microseconds, as layers of
/// a beam follow each other faster than a sleeping thread wakes up.
static constexpr int looks = 2000;

template <typename Holds> static bool waitBriefly(const Holds &holds) {
  for (int i = 0; i < looks; ++i)
    if (holds())
      return true;
  return false;
}

Workers::Workers(int64_t count) {
  count = std::min(count, most);
  for (int64_t i = 1; i < count; ++i)
    threads.emplace_back(
        [this, i, count] { serve(int32_t(i), /*isLast=*/i + 1 == count); });
}

Workers::~Workers() {
  awaitBeside();
  {
    const std::lock_guard<std::mutex> lock(mutex);
    isOver = true;
  }
  hasCall.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void Workers::forEach(int64_t count,
                      const std::function<void(int32_t, int64_t)> &work) {
  if (threads.empty() || count < 2) {
    for (int64_t i = 0; i < count; ++i)
      work(0, i);
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex);
    present = &work;
    size = count;
    next = 0;
    busy = available() - 1;
    ++call;
  }
  hasCall.notify_all();
  take(0);
  auto haveEnded = [&] { return busy.load() == 0; };
  waitBriefly(haveEnded);
  // Under the lock, so that no other thread joins in after the end.
  std::unique_lock<std::mutex> lock(mutex);
  hasEnded.wait(lock, haveEnded);
  present = nullptr;
}

void Workers::startBeside(std::function<void()> work) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    workBeside = std::move(work);
    isBeside = true;
  }
  hasCall.notify_all();
}

void Workers::awaitBeside() {
  std::unique_lock<std::mutex> lock(mutex);
  hasEnded.wait(lock, [&] { return !isBeside.load(); });
}

void Workers::take(int32_t worker) {
  for (int64_t i; (i = next++) < size;)
    (*present)(worker, i);
}

/// Works on the current call. `busy` must include the thread.
void Workers::serveCall(int32_t worker) {
  take(worker);
  // Under the lock, so that the caller cannot miss the last notification.
  const std::lock_guard<std::mutex> lock(mutex);
  if (--busy == 0)
    hasEnded.notify_all();
}

/// Runs the work of startBeside(), then joins in a call of forEach() that is in
/// progress. Returns the number of the last call that is done for this thread.
uint64_t Workers::serveBeside(int32_t worker) {
  workBeside();
  std::unique_lock<std::mutex> lock(mutex);
  isBeside = false;
  const bool joins = present != nullptr;
  busy += int32_t(joins);
  const uint64_t served = call;
  lock.unlock();
  hasEnded.notify_all();
  if (joins)
    serveCall(worker);
  return served;
}

void Workers::serve(int32_t worker, bool isLast) {
  for (uint64_t served = 0;;) {
    auto mayGo = [&] {
      return call.load() != served || isOver.load() ||
             (isLast && isBeside.load());
    };
    if (!waitBriefly(mayGo)) {
      std::unique_lock<std::mutex> lock(mutex);
      hasCall.wait(lock, mayGo);
    }
    if (isOver)
      return;
    if (isLast && isBeside) {
      served = serveBeside(worker);
      continue;
    }
    served = call;
    serveCall(worker);
  }
}
