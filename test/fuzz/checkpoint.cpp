//===- checkpoint.cpp - Fuzzes the reader of checkpoints ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/checkpoints/checkpoint.h"
#include "runtime/base/error.h"
#include "runtime/execution/state.h"
#include "test/fuzz/InputFile.h"
#include "test/unit/runtime/Fixture.h"

using namespace rondo::runtime;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // One of them keeps the mean changes of its weights.
  static const test::Spec plain = test::timedOnRanks(1, 0, 1);
  static const test::Spec keeping = [] {
    test::Spec spec = plain;
    spec.keepsChanges = true;
    return spec;
  }();
  static test::Program programs[] = {test::Program(plain),
                                     test::Program(keeping)};
  static State states[] = {State(programs[0].exe), State(programs[1].exe)};
  static const rondo::fuzz::InputFile file;
  file.write(data, size);
  for (State &state : states)
    for (OptimizerKind optimizer : {OptimizerKind::AdamW, OptimizerKind::Sgd})
      try {
        rondo::fuzz::require(
            loadCheckpoint(file.path(), state, optimizer).step >= 0,
            "a step is not negative");
      } catch (const Error &) {
      }
  return 0;
}
