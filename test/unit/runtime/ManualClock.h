//===- ManualClock.h - A clock that tests advance ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_RUNTIME_MANUALCLOCK_H
#define RONDO_TEST_UNIT_RUNTIME_MANUALCLOCK_H

#include "runtime/base/clock.h"

namespace rondo::runtime::test {

/// Stands still until advanced. Not thread-safe.
class ManualClock : public Clock {
public:
  int64_t now() override { return ns; }
  void advance(double seconds) { ns += static_cast<int64_t>(seconds * 1e9); }

private:
  int64_t ns = 0;
};

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_RUNTIME_MANUALCLOCK_H
