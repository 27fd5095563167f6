//===- Workers.cpp - The threads of one search ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/Workers.h"

#include <algorithm>

using namespace rondo;

/// How often a thread looks before it sleeps: some ten microseconds, as layers
/// of a beam follow each other faster than a sleeping thread wakes up.
static constexpr int looks = 2000;

template <typename Holds> static bool waitBriefly(const Holds &holds) {
  for (int i = 0; i < looks; ++i)
    if (holds())
      return true;
  return false;
}

Workers::Workers(int64_t count) {
  for (int64_t i = 1; i < std::min(count, most); ++i)
    threads.emplace_back([this, i] { serve(int32_t(i)); });
}

Workers::~Workers() {
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
  present = &work;
  size = count;
  next = 0;
  busy = int32_t(threads.size());
  {
    const std::lock_guard<std::mutex> lock(mutex);
    ++call;
  }
  hasCall.notify_all();
  take(0);
  auto haveEnded = [&] { return busy.load() == 0; };
  if (waitBriefly(haveEnded))
    return;
  std::unique_lock<std::mutex> lock(mutex);
  hasEnded.wait(lock, haveEnded);
}

void Workers::take(int32_t worker) {
  for (int64_t i; (i = next++) < size;)
    (*present)(worker, i);
}

void Workers::serve(int32_t worker) {
  for (uint64_t served = 0;;) {
    auto mayGo = [&] { return call.load() != served || isOver.load(); };
    if (!waitBriefly(mayGo)) {
      std::unique_lock<std::mutex> lock(mutex);
      hasCall.wait(lock, mayGo);
    }
    if (isOver)
      return;
    served = call;
    take(worker);
    // Under the lock, so that the caller cannot miss the last one's notice.
    const std::lock_guard<std::mutex> lock(mutex);
    if (--busy == 0)
      hasEnded.notify_one();
  }
}
