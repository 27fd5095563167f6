//===- SimpleBody.h - Bodies of one input and one weight --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_BODIES_SIMPLEBODY_H
#define RONDO_TEST_UNIT_BODIES_SIMPLEBODY_H

#include "runtime/bodies/rondo_body.h"

#include <cstdint>

namespace rondo::runtime {

/// Elements of the weight.
inline constexpr int64_t simpleWidth = 16;

inline float *floats(void *buffer) { return static_cast<float *>(buffer); }
inline const float *floats(const void *buffer) {
  return static_cast<const float *>(buffer);
}

/// A body whose tensor 'weight' has 1 in each element at first.
inline rondo_body simpleBody(decltype(rondo_body::sizes) sizes,
                             const rondo_functions &cpu) {
  rondo_body body{};
  body.version = RONDO_BODY_VERSION;
  body.min_inputs = body.max_inputs = 1;
  body.sizes = sizes;
  body.tensors = [](const rondo_layer *, rondo_tensor *out,
                    int32_t capacity) -> int32_t {
    if (capacity > 0)
      out[0] = {"weight", 1, {simpleWidth}, 0, RONDO_INIT_ONES, 0, 0};
    return 1;
  };
  body.cpu = cpu;
  return body;
}

} // namespace rondo::runtime

#endif // RONDO_TEST_UNIT_BODIES_SIMPLEBODY_H
