//===- Threads.cpp - The problems of a batch on several threads -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Threads.h"

#include <atomic>
#include <thread>
#include <vector>

namespace rondo::driver {

void forEachOnThreads(size_t count, int64_t threads,
                      llvm::function_ref<void(size_t)> work) {
  std::atomic<size_t> next{0};
  auto run = [&] {
    for (size_t i; (i = next++) < count;)
      work(i);
  };
  std::vector<std::thread> others;
  for (int64_t i = 1; i < threads && static_cast<size_t>(i) < count; ++i)
    others.emplace_back(run);
  run();
  for (std::thread &thread : others)
    thread.join();
}

} // namespace rondo::driver
