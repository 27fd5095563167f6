// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RONDO_TEST_UNIT_SCHEDULE_CASECOUNT_H
#define RONDO_TEST_UNIT_SCHEDULE_CASECOUNT_H

#include <cstdlib>

namespace rondo::test {

/// How many of `all` random cases a long test tries: a quarter, or all if
/// RONDO_ALL_CASES is set, as in `make nightly`.
inline int caseCount(int all) {
  return std::getenv("RONDO_ALL_CASES") ? all : (all + 3) / 4;
}

} // namespace rondo::test

#endif // RONDO_TEST_UNIT_SCHEDULE_CASECOUNT_H
