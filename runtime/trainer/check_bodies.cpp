//===- check_bodies.cpp - Checks custom layers against their contract -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "kinds/Counts.h"
#include "runtime/base/error.h"
#include "runtime/bodies/custom.h"
#include "runtime/bodies/gradient_check.h"
#include "runtime/execution/state.h"
#include "runtime/model/share.h"
#include "runtime/trainer/extras.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>
#include <vector>

using rondo::countOf;
using namespace rondo::runtime;

/// The custom layers of all programs, once for each number of samples.
static std::vector<LayerDesc> customLayers(const Executable &executable) {
  std::vector<LayerDesc> layers;
  auto add = [&](const LayerDesc &layer) {
    const bool isKnown =
        std::any_of(layers.begin(), layers.end(), [&](const LayerDesc &other) {
          return layer.batch == other.batch &&
                 std::strcmp(layer.name, other.name) == 0;
        });
    if (layer.kind == LayerKind::Custom && !isKnown)
      layers.push_back(layer);
  };
  for (int32_t l = 0; l < executable.numLayers; ++l)
    add(executable.layers[l]);
  for (int32_t p = 0; p < executable.numPrograms; ++p) {
    const ProgramDesc &program = executable.programs[p];
    for (int32_t h = 0; h < executable.numReplicas; ++h) {
      const StageDesc &stage = executable.stages[executable.replicas[h].stage];
      const Samples samples{program.shares[h].firstSample,
                            program.shares[h].samples};
      for (int32_t l = 0; l < stage.numLayers; ++l)
        add(shareOf(program.layers[stage.firstLayer + l], samples,
                    samplesOf(program)));
    }
  }
  return layers;
}

static int checkBodies(const Executable &executable, const Options &options) {
  const std::vector<LayerDesc> layers = customLayers(executable);
  int32_t wrong = 0;
  for (const LayerDesc &layer : layers) {
    if (layer.target != Target::Cpu)
      throw Error(
          "--check-bodies runs on the CPU: compile the model for target cpu",
          Exit::Usage);
    checkCustomLayer(layer);
    const LoadedBody body(layer, /*rank=*/0, /*device=*/0);
    const GradientCheck check =
        checkGradients(layer, tasksOf(layer, cpuBody(layer.kind)),
                       options.seed.value_or(1), body.get());
    wrong += !check.fault.empty();
    std::printf("layer '%s', body '%s'", layer.name, layer.custom.name);
    if (layer.custom.numSizes > 0)
      std::printf(", %s", countOf(layer.batch, "sample").c_str());
    if (check.fault.empty())
      std::printf(": gradients of %s and %s agree with F\n",
                  countOf(check.tensors, "tensor").c_str(),
                  countOf(check.inputs, "input").c_str());
    else
      std::printf(": %s\n", check.fault.c_str());
  }
  std::set<std::string> names;
  for (const LayerDesc &layer : layers)
    names.insert(layer.name);
  std::string checked = countOf(int64_t(names.size()), "layer");
  // A layer is checked once for each number of samples.
  if (names.size() < layers.size())
    checked = countOf(int64_t(layers.size()), "check") + " of " + checked;
  if (wrong == 0) {
    std::printf("check-bodies: PASS %s\n", checked.c_str());
    return 0;
  }
  std::printf("check-bodies: FAIL %d of %s\n", wrong, checked.c_str());
  return static_cast<int>(Exit::Failure);
}

const BodyCheck rondo::runtime::bodyCheck = {checkBodies, checkCustomLayer};
