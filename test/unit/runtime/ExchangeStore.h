//===- ExchangeStore.h - A store that only exchanges ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_RUNTIME_EXCHANGESTORE_H
#define RONDO_TEST_UNIT_RUNTIME_EXCHANGESTORE_H

#include "runtime/launch/store.h"

namespace rondo::runtime::test {

/// The part of a store that connections need is exchange(). All else does
/// nothing and finds nothing.
class ExchangeStore : public Store {
public:
  void set(const std::string &, const std::string &) override {}
  std::string get(const std::string &) override { return {}; }
  void barrier(const std::string &) override {}
  void give(const std::string &, const std::string &) override {}
  std::string take(const std::string &) override { return {}; }
  void check() override {}
  bool fail(Exit, const std::string &) override { return false; }
  void leave() override {}
  void report(const std::string &) override {}
  std::vector<Report> reports() override { return {}; }
  Addresses addresses() override { return {}; }
  int64_t clockOffsetNs() override { return 0; }
};

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_RUNTIME_EXCHANGESTORE_H
