//===- stream_values.cpp - Numbers that a stream may have -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/stream_values.h"

#include "runtime/base/random.h"

using namespace rondo::runtime;

void rondo::runtime::drawRow(const StreamDesc &stream, uint64_t row,
                             void *values) {
  const uint64_t key = mix(hashName(stream.name), row);
  const auto below = static_cast<uint64_t>(stream.below > 0 ? stream.below : 2);
  const int64_t count = rowElements(stream);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = mix(key, static_cast<uint64_t>(i));
    switch (stream.type) {
    case StreamType::Fp32:
      // 24 bits are exact in fp32.
      static_cast<float *>(values)[i] =
          static_cast<float>(bits >> 40) * 0x1p-23f - 1;
      break;
    case StreamType::Int32:
      static_cast<int32_t *>(values)[i] = static_cast<int32_t>(bits % below);
      break;
    case StreamType::Uint8:
      static_cast<uint8_t *>(values)[i] = static_cast<uint8_t>(bits % below);
      break;
    }
  }
}
