//===- checkpoint.cpp - Fuzzes the reader of checkpoints ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/checkpoint.h"
#include "runtime/base/error.h"
#include "runtime/execution/state.h"
#include "test/fuzz/InputFile.h"
#include "test/unit/runtime/Fixture.h"

using namespace rondo::runtime;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static test::Program program(test::timedOnRanks(1, 0, 1));
  static State state(program.exe);
  static const rondo::fuzz::InputFile file;
  file.write(data, size);
  try {
    rondo::fuzz::require(
        loadCheckpoint(file.path(), state, OptimizerKind::AdamW).step >= 0,
        "a step is not negative");
  } catch (const Error &) {
  }
  return 0;
}
