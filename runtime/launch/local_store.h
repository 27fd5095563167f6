//===- local_store.h - The store of a run of one process --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_LAUNCH_LOCAL_STORE_H
#define RONDO_RUNTIME_LAUNCH_LOCAL_STORE_H

#include "runtime/base/error.h"
#include "runtime/launch/store.h"

#include <map>
#include <mutex>

namespace rondo::runtime {

/// Remembers values; no other process waits, fails or reports.
class LocalStore : public Store {
public:
  void set(const std::string &key, const std::string &value) override {
    std::lock_guard<std::mutex> lock(mutex);
    values[key] = value;
  }
  std::string get(const std::string &key) override {
    std::lock_guard<std::mutex> lock(mutex);
    auto it = values.find(key);
    // No other process could set it.
    if (it == values.end())
      throw Error("the only process of the run asks for '" + key +
                      "', which it has not set",
                  Exit::RunFailure);
    return it->second;
  }
  void barrier(const std::string &) override {}
  std::vector<std::string>
  exchange(const std::string &, const std::string &value, Patience) override {
    return {value};
  }
  void give(const std::string &key, const std::string &value) override {
    set(key, value);
  }
  std::string take(const std::string &key) override { return get(key); }
  void check() override {}
  bool fail(Exit, const std::string &) override { return false; }
  void leave() override {}
  void report(const std::string &) override {}
  std::vector<Report> reports() override { return {}; }
  Addresses addresses() override { return {}; }
  int64_t clockOffsetNs() override { return 0; }

private:
  std::mutex mutex;
  std::map<std::string, std::string> values;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_LOCAL_STORE_H
