//===- stream_values.h - Numbers that a stream may have ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BODIES_STREAM_VALUES_H
#define RONDO_RUNTIME_BODIES_STREAM_VALUES_H

#include "runtime/model/layer_kinds.h"

namespace rondo::runtime {

/// Writes a row of the stream without a file: fp32 numbers in [-1, 1), others
/// from 0 to `below` - 1, or 0 and 1 if it states none. They depend only on
/// `row` and the stream's name.
void drawRow(const StreamDesc &stream, uint64_t row, void *values);

/// Whether the stream allows a whole number.
constexpr bool allows(const StreamDesc &stream, int64_t value) {
  const bool isByte = stream.type == StreamType::Uint8;
  const int64_t least = isByte ? 0 : INT32_MIN,
                most = isByte ? UINT8_MAX : INT32_MAX;
  if (stream.hasIgnored && value == stream.ignored)
    return true;
  return stream.below > 0 ? value >= 0 && value < stream.below
                          : value >= least && value <= most;
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BODIES_STREAM_VALUES_H
