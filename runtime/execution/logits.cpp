//===- logits.cpp - Logits that a state keeps -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only programs that generate tokens link it.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/half.h"
#include "runtime/execution/state.h"

#include <algorithm>
#include <cstring>

using namespace rondo::runtime;

void State::keepLogits(int32_t replica) {
  if (!holds(replica))
    return;
  int64_t bytes = 0;
  for (const std::vector<ReplicaBinding> &sizes : bindings) {
    const LayerDesc &head = *sizes[replica].layers.back().desc;
    bytes = std::max(bytes, numTokens(head) * logitsStride(head) *
                                cuda::elementBytes(head.dtype));
  }
  logits.resize(exe.numReplicas);
  logits[replica] = devices[exe.replicas[replica].rank]->makeArena(bytes);
  for (std::vector<ReplicaBinding> &sizes : bindings)
    sizes[replica].logits = logits[replica]->base();
}

std::vector<float> State::readLogits(int32_t replica, int64_t first,
                                     int64_t count) const {
  const LayerDesc &head = *replicas()[replica].layers.back().desc;
  const int64_t stride = logitsStride(head),
                size = cuda::elementBytes(head.dtype);
  std::vector<char> bytes(count * stride * size);
  logits[replica]->read(bytes.data(),
                        logits[replica]->base() + first * stride * size,
                        static_cast<int64_t>(bytes.size()));
  std::vector<float> values(count * head.vocab);
  float *value = values.data();
  for (int64_t t = 0; t < count; ++t)
    for (int64_t j = 0; j < head.vocab; ++j, ++value) {
      const char *from = bytes.data() + (t * stride + j) * size;
      if (head.dtype == DType::Bf16) {
        uint16_t half;
        std::memcpy(&half, from, sizeof half);
        *value = fromBf16(half);
      } else {
        std::memcpy(value, from, sizeof *value);
      }
    }
  return values;
}
