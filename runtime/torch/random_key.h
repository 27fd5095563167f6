//===- random_key.h - What random numbers of tasks depend on ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TORCH_RANDOM_KEY_H
#define RONDO_RUNTIME_TORCH_RANDOM_KEY_H

#include "runtime/base/random.h"
#include "runtime/bodies/rondo_body.h"

namespace rondo::torch {

/// The key of a task, once its iteration is known: the same for all tasks of a
/// micro-batch, and under every schedule. Replicas that divide its samples draw
/// other numbers each.
struct RandomKeys {
  uint64_t run;
  int64_t microbatch, firstSample;

  RandomKeys(const rondo_layer &layer, const rondo_task &task)
      : run(runtime::mix(runtime::hashName(layer.name), task.seed)),
        microbatch(task.microbatch), firstSample(layer.first_sample) {}

  RONDO_HOST_DEVICE uint64_t of(int64_t iteration) const {
    const uint64_t key =
        runtime::mix(runtime::mix(run, static_cast<uint64_t>(iteration)),
                     static_cast<uint64_t>(microbatch));
    return firstSample == 0
               ? key
               : runtime::mix(key, static_cast<uint64_t>(firstSample));
  }
};

} // namespace rondo::torch

#endif // RONDO_RUNTIME_TORCH_RANDOM_KEY_H
