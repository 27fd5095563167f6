//===- ExchangeStore.h - A store that only exchanges ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_RUNTIME_EXCHANGESTORE_H
#define RONDO_TEST_UNIT_RUNTIME_EXCHANGESTORE_H

#include "runtime/launch/local_store.h"

namespace rondo::runtime::test {

/// A store for connections: all that they need of one is exchange().
class ExchangeStore : public LocalStore {
public:
  std::vector<std::string> exchange(const std::string &name,
                                    const std::string &value,
                                    Patience patience) override = 0;
};

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_RUNTIME_EXCHANGESTORE_H
