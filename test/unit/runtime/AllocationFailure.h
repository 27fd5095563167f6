//===- AllocationFailure.h - No memory for a moment -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_RUNTIME_ALLOCATIONFAILURE_H
#define RONDO_TEST_UNIT_RUNTIME_ALLOCATIONFAILURE_H

#include <cstddef>

namespace rondo::runtime::test {

/// While it lives, an allocation by `new` of at least `bytes` fails, once: the
/// one after `passes` others.
class AllocationFailure {
public:
  enum Whose { ThisThread, OtherThreads };
  AllocationFailure(size_t bytes, Whose whose, size_t passes = 0);
  ~AllocationFailure();
  bool hasStruck() const;
};

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_RUNTIME_ALLOCATIONFAILURE_H
