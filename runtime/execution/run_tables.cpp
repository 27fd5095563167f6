//===- run_tables.cpp - Host memory of an enqueued run --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/run_tables.h"

#include <algorithm>
#include <cstddef>

using namespace rondo::runtime;

bool RunTables::reserve(const Sizes &needed) {
  if (memory && needed.iterations <= sizes.iterations &&
      needed.microbatches <= sizes.microbatches &&
      needed.headers == sizes.headers && needed.dataBytes == sizes.dataBytes)
    return false;
  sizes.iterations = std::max(sizes.iterations, needed.iterations);
  sizes.microbatches = std::max(sizes.microbatches, needed.microbatches);
  sizes.headers = needed.headers;
  sizes.dataBytes = needed.dataBytes;
  memory.reset();
  memory = device.makeHostMemory(dataOffset() +
                                 sizes.microbatches * sizes.dataBytes);
  return true;
}

bool RunTables::isFinite(int64_t step) const {
  bool isFinite = true;
  for (int64_t header = 0; header < sizes.headers; ++header)
    isFinite &= stepAt(step, header).result.isFinite != 0;
  return isFinite;
}

/// The clip factor, which follows, belongs to the norm.
void RunTables::writeControl(ControlHeader *to, int64_t step, int64_t header) {
  device.copy(&to->step, &control(step, header),
              offsetof(StepControl, clipFactor));
}
