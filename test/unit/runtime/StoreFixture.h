//===- StoreFixture.h - Processes of a run, as threads ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_RUNTIME_STOREFIXTURE_H
#define RONDO_TEST_UNIT_RUNTIME_STOREFIXTURE_H

#include "Support.h"

#include "runtime/launch/store_server.h"

#include "gtest/gtest.h"

#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace rondo::runtime::test {

using Endings = std::vector<std::string>;

/// Processes of one run; each is a thread with its own store.
class StoreTest : public testing::Test {
protected:
  StoreTest() {
    where.file = file.path;
    where.isLocal = true;
    std::remove(file.path.c_str());
  }

  StoreParams paramsOf(int process, int processes) {
    StoreParams params;
    params.process = process;
    params.processes = processes;
    params.job = "test";
    params.program = "program";
    params.joinSeconds = 10;
    params.timeoutSeconds = 10;
    params.endsStuckProcess = false;
    params.say = [this](const std::string &text) {
      std::lock_guard<std::mutex> lock(mutex);
      said += text + "\n";
    };
    return params;
  }

  /// Runs `body` in each process and returns how each one ended.
  std::vector<std::string>
  run(int processes, const std::function<void(Store &, int)> &body,
      const std::function<void(StoreParams &)> &change = {}) {
    std::vector<std::string> endings(processes);
    std::vector<std::thread> threads;
    for (int p = 0; p < processes; ++p)
      threads.emplace_back([&, p] {
        StoreParams params = paramsOf(p, processes);
        if (change)
          change(params);
        try {
          std::unique_ptr<Store> store = joinStore(params, where);
          body(*store, p);
          endings[p] = "fine";
        } catch (const PeerFailed &failure) {
          endings[p] = "peer " + std::to_string(static_cast<int>(failure.code));
        } catch (const Error &error) {
          endings[p] = error.what();
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    return endings;
  }

  TemporaryFile file;
  Rendezvous where;
  std::mutex mutex;
  std::string said;
};

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_RUNTIME_STOREFIXTURE_H
