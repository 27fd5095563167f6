//===- check_bodies.cpp - Checks custom layers against their contract -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "kinds/Counts.h"
#include "runtime/base/error.h"
#include "runtime/bodies/custom.h"
#include "runtime/bodies/gradient_check.h"
#include "runtime/trainer/extras.h"

#include <cstdio>

using rondo::countOf;
using namespace rondo::runtime;

static int checkBodies(const Executable &executable, const Options &options) {
  int32_t checked = 0, wrong = 0;
  for (int32_t l = 0; l < executable.numLayers; ++l) {
    const LayerDesc &layer = executable.layers[l];
    if (layer.kind != LayerKind::Custom)
      continue;
    if (layer.target != Target::Cpu)
      throw Error(
          "--check-bodies runs on the CPU: compile the model for target cpu",
          Exit::Usage);
    checkCustomLayer(layer);
    const LoadedBody body(layer, /*rank=*/0, /*device=*/0);
    const GradientCheck check =
        checkGradients(layer, tasksOf(layer, cpuBody(layer.kind)),
                       options.seed.value_or(1), body.get());
    ++checked;
    wrong += !check.fault.empty();
    std::printf("layer '%s', body '%s': ", layer.name, layer.custom.name);
    if (check.fault.empty())
      std::printf("gradients of %s and %s agree with F\n",
                  countOf(check.tensors, "tensor").c_str(),
                  countOf(check.inputs, "input").c_str());
    else
      std::printf("%s\n", check.fault.c_str());
  }
  if (wrong == 0) {
    std::printf("check-bodies: PASS %s\n", countOf(checked, "layer").c_str());
    return 0;
  }
  std::printf("check-bodies: FAIL %d of %s\n", wrong,
              countOf(checked, "layer").c_str());
  return static_cast<int>(Exit::Failure);
}

const BodyCheck rondo::runtime::bodyCheck = {checkBodies};
