//===- failure.cpp - Fuzzes the reader of rondo-failure/1 -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/FailureReader.h"
#include "test/fuzz/Target.h"

using namespace rondo;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Result<json::Failure> failure = json::readFailure(fuzz::textOf(data, size));
  if (!failure) {
    fuzz::require(!describe(failure.fault()).empty(), "an error says why");
    return 0;
  }
  fuzz::require(failure->rank >= 0 && failure->rank < failure->ranks,
                "the rank is one of the run's");
  for (const json::FailureAction &action : failure->actions) {
    fuzz::require(!action.isUnfinished() || &action == &failure->actions.back(),
                  "only the last action is unfinished");
    fuzz::require(!action.wait || (action.wait->rank >= 0 &&
                                   action.wait->rank < failure->ranks),
                  "ranks wait for ranks of the run");
  }
  return 0;
}
