//===- Standstill.h - A clock for runs that stand still ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_RUNTIME_STANDSTILL_H
#define RONDO_TEST_UNIT_RUNTIME_STANDSTILL_H

#include "runtime/base/clock.h"
#include "runtime/execution/program_run.h"

#include <string>
#include <utility>

namespace rondo::runtime::test {

/// Stands still until the ranks wait for each other as `expected` says, then
/// advances a minute per look; also if they have not after a minute.
class ClockOfWaits : public Clock {
public:
  ClockOfWaits(const ProgramRun *&run, std::string expected)
      : run(run), expected(std::move(expected)) {}
  int64_t now() override {
    if (run && (run->describeWaits() == expected || ++looks > 600))
      ns += 60'000'000'000;
    return ns;
  }

private:
  const ProgramRun *&run;
  const std::string expected;
  int looks = 0;
  int64_t ns = 0;
};

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_RUNTIME_STANDSTILL_H
