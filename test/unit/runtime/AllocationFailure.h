//===- AllocationFailure.h - No memory for a moment -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_RUNTIME_ALLOCATIONFAILURE_H
#define RONDO_TEST_UNIT_RUNTIME_ALLOCATIONFAILURE_H

#include <cstddef>

namespace rondo::runtime::test {

/// While it lives, the next allocation by `new` of at least `bytes` fails,
/// once.
class AllocationFailure {
public:
  enum Whose { ThisThread, OtherThreads };
  AllocationFailure(size_t bytes, Whose whose);
  ~AllocationFailure();
  bool hasStruck() const;
};

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_RUNTIME_ALLOCATIONFAILURE_H
