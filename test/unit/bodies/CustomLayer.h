//===- CustomLayer.h - A custom layer and a body of any answers -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_BODIES_CUSTOMLAYER_H
#define RONDO_TEST_UNIT_BODIES_CUSTOMLAYER_H

#include "runtime/bodies/custom.h"
#include "test/unit/ErrorThrownBy.h"

#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

namespace rondo::runtime {

/// The answers of a body to a test.
struct CustomAnswers {
  const char *complaint = nullptr;
  rondo_sizes sizes = {256, 64, 128, 448, 192, 320, 384, 0, 0, 0, {}};
  std::vector<rondo_tensor> tensors = {
      {"matrix", 2, {8, 4}, 0, RONDO_INIT_NORMAL, 1, 0},
      {"vector", 1, {20, 0}, 32, RONDO_INIT_ONES, 0, 0}};
  /// Result of `tensors` instead of their number.
  std::optional<int32_t> count;
  /// What tasks and load() return.
  const char *failure = nullptr;
};

/// The arguments of the last call of a body.
struct CustomCall {
  int32_t rank = -1, device = -1, unloaded = 0;
  rondo_layer layer{};
  rondo_task task{};
  std::vector<const void *> inputs;
  std::vector<rondo_stream> streams;
  std::vector<const void *> staged;
};

/// A layer of two inputs. Its body answers as a test says, and remembers what
/// it was called with.
class Custom : public testing::Test {
protected:
  inline static CustomAnswers answers;
  inline static CustomCall called;

  Custom() {
    answers = CustomAnswers();
    called = CustomCall();
    body = {RONDO_BODY_VERSION,
            1,
            2,
            sizes,
            tensors,
            {remember, remember, remember, nullptr, nullptr},
            {},
            nullptr,
            nullptr,
            0};
    layer.name = "mix";
    layer.kind = LayerKind::Custom;
    layer.activationBytes = 192;
    layer.inputGradFreesBytes = 64;
    layer.numInputs = 2;
    layer.inputBytes[0] = 192;
    layer.inputBytes[1] = 64;
    layer.outputBytes = 192;
    layer.weightBytes = 256;
    layer.custom.name = "mixer";
    layer.custom.body = &body;
    layer.custom.workspaceBytes = 320;
    layer.custom.backwardWorkspaceBytes = 384;
    layer.inputGradKeepsBytes = 448;
  }

  static const char *sizes(const rondo_layer *, rondo_sizes *out) {
    *out = answers.sizes;
    return answers.complaint;
  }
  static int32_t tensors(const rondo_layer *, rondo_tensor *out,
                         int32_t capacity) {
    const int32_t count = static_cast<int32_t>(answers.tensors.size());
    for (int32_t t = 0; t < count && t < capacity; ++t)
      out[t] = answers.tensors[t];
    return answers.count.value_or(count);
  }
  static const char *remember(const rondo_layer *layer,
                              const rondo_task *task) {
    called.layer = *layer;
    called.task = *task;
    called.inputs.assign(task->inputs, task->inputs + layer->num_inputs);
    called.streams.assign(layer->streams, layer->streams + layer->num_streams);
    called.staged.assign(task->streams, task->streams + layer->num_streams);
    return answers.failure;
  }
  static const char *load(const rondo_layer *layer, int32_t rank,
                          int32_t device, void **state) {
    called.layer = *layer;
    called.rank = rank;
    called.device = device;
    *state = &answers;
    return answers.failure;
  }
  static void unload(const rondo_layer *, void *state) {
    called.unloaded += state == &answers;
  }

  std::string error() {
    return errorThrownBy([this] { checkCustomLayer(layer); });
  }

  rondo_body body{};
  LayerDesc layer{};
};

} // namespace rondo::runtime

#endif // RONDO_TEST_UNIT_BODIES_CUSTOMLAYER_H
