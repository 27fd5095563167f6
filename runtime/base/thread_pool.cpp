//===- thread_pool.cpp - The threads of one rank --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/thread_pool.h"

#include <utility>

using namespace rondo::runtime;

static thread_local ThreadPool *poolHere = nullptr;

void ThreadPool::useHere(ThreadPool *pool) { poolHere = pool; }

int32_t rondo::runtime::threadsHere() {
  return poolHere ? poolHere->size() : 1;
}

void rondo::runtime::runParts(int64_t count,
                              const std::function<void(int64_t)> &part) {
  if (poolHere)
    return poolHere->run(count, part);
  for (int64_t p = 0; p < count; ++p)
    part(p);
}

ThreadPool::ThreadPool(int32_t threads) {
  try {
    for (int32_t t = 1; t < threads; ++t)
      helpers.emplace_back([this] { help(); });
  } catch (...) {
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isStopping = true;
  }
  started.notify_all();
  for (std::thread &helper : helpers)
    helper.join();
}

/// Runs parts until all have begun. The caller holds the lock. What a part does
/// in parts itself, it does alone.
void ThreadPool::takeParts(std::unique_lock<std::mutex> &lock) {
  ThreadPool *const pool = std::exchange(poolHere, nullptr);
  while (next < count) {
    const int64_t mine = next++;
    ++running;
    lock.unlock();
    std::exception_ptr exception;
    try {
      (*part)(mine);
    } catch (...) {
      exception = std::current_exception();
    }
    lock.lock();
    --running;
    if (!exception)
      continue;
    next = count;
    if (!failure)
      failure = exception;
  }
  poolHere = pool;
}

void ThreadPool::help() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    started.wait(lock, [&] { return isStopping || next < count; });
    if (isStopping)
      return;
    takeParts(lock);
    if (running == 0)
      ended.notify_one();
  }
}

void ThreadPool::run(int64_t numParts,
                     const std::function<void(int64_t)> &newPart) {
  if (helpers.empty() || numParts < 2) {
    for (int64_t p = 0; p < numParts; ++p)
      newPart(p);
    return;
  }
  std::unique_lock<std::mutex> lock(mutex);
  part = &newPart;
  next = 0;
  count = numParts;
  failure = nullptr;
  started.notify_all();
  takeParts(lock);
  ended.wait(lock, [&] { return running == 0; });
  next = count = 0;
  if (failure)
    std::rethrow_exception(failure);
}
