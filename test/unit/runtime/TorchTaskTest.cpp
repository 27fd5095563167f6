//===- TorchTaskTest.cpp - Graphs of PyTorch as tasks ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs written here as PyTorch's ahead-of-time compiler writes them, in terms
// of its C functions.
//
//===----------------------------------------------------------------------===//

#include "TorchTensors.h"

#include "gtest/gtest.h"

#include <array>

namespace rondo::torch {

extern "C" {
int32_t aoti_torch_empty_strided(int64_t, const int64_t *, const int64_t *,
                                 int32_t, int32_t, int32_t, Tensor **);
int32_t aoti_torch_delete_tensor_object(Tensor *);
int32_t aoti_torch_cpu_topk(Tensor *, int64_t, int64_t, int32_t, int32_t,
                            Tensor **, Tensor **);
}

namespace {

constexpr auto float32 = int32_t(ScalarType::Float32);

int numLoaded = 0;
int numTemporaries = 1;

int32_t create(void **model, const void *, size_t) {
  ++numLoaded;
  *model = &numLoaded;
  return 0;
}

/// The graph: twice its input, by way of temporaries.
int32_t twice(void *, Tensor **inputs, Tensor **outputs) {
  const int64_t size = 4, stride = 1;
  Tensor *out = nullptr;
  for (int t = 0; t < numTemporaries; ++t) {
    Tensor *temporary = nullptr;
    if (aoti_torch_empty_strided(1, &size, &stride, float32, 0, 0, &temporary))
      return 1;
    for (int i = 0; i < 4; ++i)
      temporary->floats()[i] = inputs[0]->floats()[i];
    if (t == 0 &&
        aoti_torch_empty_strided(1, &size, &stride, float32, 0, 0, &out))
      return 1;
    for (int i = 0; i < 4; ++i)
      out->floats()[i] = 2 * temporary->floats()[i];
    aoti_torch_delete_tensor_object(temporary);
  }
  aoti_torch_delete_tensor_object(inputs[0]);
  outputs[0] = out;
  return 0;
}

/// The task "output = 2 input", whose result lies in the output's place or, if
/// it is not `inPlace`, in the workspace.
struct TwiceTask {
  Graph graph{"twice", create, twice};
  Value input{{Space::Inputs, 0, 0}, float32, 1, {4}, {1}};
  Value output{{Space::Output, 0, 0}, float32, 1, {4}, {1}};
  std::array<Planned, 2> allocations;
  std::array<Copy, 2> copies{
      {{{Space::SavedForWeightGrad, 0, 16}, {Space::Inputs, 0, 4}, 8, false},
       {{Space::Saved, 1, 4}, {Space::Inputs, 0, 8}, 4, false}}};
  alignas(64) float in[4] = {1, 2, 3, 4}, out[4] = {}, work[32] = {},
                    saved[16] = {}, part[16] = {};
  const void *inputs[1] = {in};
  void *const parts[2] = {nullptr, part};
  rondo_layer layer{};
  rondo_task buffers{};

  explicit TwiceTask(bool inPlace) {
    const Place place = inPlace ? output.place : Place{Space::Workspace, 0, 64};
    allocations = {{{{Space::Workspace, 0, 0}, 16}, {place, 16}}};
    layer.name = "h0";
    buffers.inputs = inputs;
    buffers.output = out;
    buffers.workspace = work;
    buffers.saved_for_weight_grad = saved;
    buffers.saved = parts;
    numTemporaries = 1;
  }

  const char *run() {
    const Task task{&graph, &input,        1, &output, 1, allocations.data(),
                    2,      copies.data(), 2, nullptr};
    return runTask(task, layer, buffers);
  }
};

TEST(TorchTask, PutsResultsInPlace) {
  for (bool inPlace : {true, false}) {
    TwiceTask task(inPlace);
    EXPECT_EQ(task.run(), nullptr);
    EXPECT_EQ(task.out[3], 8) << inPlace;
    EXPECT_EQ(task.work[16], inPlace ? 0 : 2) << "where the result lies";
    EXPECT_EQ(task.saved[4], 2);
    EXPECT_EQ(task.saved[5], 3);
    EXPECT_EQ(task.saved[6], 0) << "copies are as long as the tables say";
    EXPECT_EQ(task.part[1], 3);
    EXPECT_EQ(task.part[2], 0);
  }
}

/// The key that a task gets.
int64_t randomKey(const char *layerName, uint64_t seed, int64_t iteration,
                  int64_t microbatch, int64_t firstSample = 0) {
  Graph graph{"key", create, [](void *, Tensor **inputs, Tensor **outputs) {
                outputs[0] = inputs[0];
                return int32_t(0);
              }};
  const Value key{{Space::RandomKey, 0, 0}, 4, 1, {1}, {1}};
  const Value output{{Space::Output, 0, 0}, 4, 1, {1}, {1}};
  int64_t found = 0;
  rondo_layer layer{};
  layer.name = layerName;
  layer.first_sample = firstSample;
  rondo_task buffers{};
  buffers.output = &found;
  buffers.seed = seed;
  buffers.iteration = iteration;
  buffers.microbatch = microbatch;
  runTask({&graph, &key, 1, &output, 1, nullptr, 0, nullptr, 0, nullptr}, layer,
          buffers);
  return found;
}

// The first number is what rondo.torch computes for eager execution.
TEST(TorchTask, GivesRandomKeysOfLayerSeedIterationAndMicrobatch) {
  const int64_t key = randomKey("h0", 7, 2, 3);
  EXPECT_EQ(key, 1523089758578852366);
  EXPECT_EQ(randomKey("h0", 7, 2, 3), key);
  EXPECT_NE(randomKey("h1", 7, 2, 3), key);
  EXPECT_NE(randomKey("h0", 8, 2, 3), key);
  EXPECT_NE(randomKey("h0", 7, 1, 3), key);
  EXPECT_NE(randomKey("h0", 7, 2, 4), key);
  // Replicas that divide samples.
  EXPECT_NE(randomKey("h0", 7, 2, 3, 1), key);
  EXPECT_NE(randomKey("h0", 7, 2, 3, 1), randomKey("h0", 7, 2, 3, 2));
}

TEST(TorchTask, LoadsAGraphOnce) {
  TwiceTask task(true);
  const int before = numLoaded;
  task.run();
  task.run();
  EXPECT_EQ(numLoaded, before + 1);
}

TEST(TorchTask, RefusesOtherAllocations) {
  TwiceTask more(true);
  numTemporaries = 2;
  const char *const other = "graph 'twice' failed: a graph allocates other "
                            "tensors than were recorded when it was exported";
  EXPECT_STREQ(more.run(), other);

  TwiceTask larger(true);
  larger.allocations[0].bytes = 32;
  EXPECT_STREQ(larger.run(), other);

  TwiceTask fewer(true);
  std::array<Planned, 3> three{
      {fewer.allocations[0], fewer.allocations[1], fewer.allocations[1]}};
  const Task task{&fewer.graph,
                  &fewer.input,
                  1,
                  &fewer.output,
                  1,
                  three.data(),
                  3,
                  nullptr,
                  0,
                  nullptr};
  EXPECT_STREQ(runTask(task, fewer.layer, fewer.buffers),
               "graph 'twice' made 2 allocations, not 3 as when exported");
}

// A fault of an earlier task is not that of a later one.
TEST(TorchTask, ReturnsTheFaultOfItsOwnOperation) {
  Graph silent{"silent", create,
               [](void *, Tensor **, Tensor **) { return int32_t(1); }};
  Graph unloaded{"unloaded",
                 [](void **, const void *, size_t) { return int32_t(1); },
                 twice};
  rondo_layer layer{};
  layer.name = "h0";
  auto run = [&](Graph &graph) {
    return runTask(
        {&graph, nullptr, 0, nullptr, 0, nullptr, 0, nullptr, 0, nullptr},
        layer, rondo_task{});
  };
  fail("an earlier fault");
  EXPECT_STREQ(run(silent), "graph 'silent' failed");
  EXPECT_STREQ(run(unloaded), "graph 'unloaded' failed: it cannot be loaded");
}

TEST(TorchTask, NamesTheOperationWithoutMemory) {
  std::vector<float> memory(64);
  Tensor tensor = over(memory, {4, 4}), *values = nullptr, *places = nullptr;
  const Task task{};
  const rondo_task buffers{};
  rondo_layer layer{};
  layer.name = "h0";
  const Spaces spaces(layer, buffers, nullptr);
  Allocator allocator(task, spaces);
  Allocator::here() = &allocator;
  EXPECT_EQ(aoti_torch_cpu_topk(&tensor, 2, 1, 1, 1, &values, &places), 1);
  EXPECT_EQ(lastFault(),
            "topk needs memory that was not recorded when it was exported");
  tensor.strides[0] = 8;
  EXPECT_EQ(aoti_torch_cpu_topk(&tensor, 2, 1, 1, 1, &values, &places), 1);
  EXPECT_EQ(lastFault(),
            "topk takes a contiguous tensor: call contiguous() before it");
  Allocator::here() = nullptr;
}

TEST(TorchTask, RecordsWhenAllocationsEnd) {
  const Recording recording;
  std::vector<float> memory(4);
  Tensor *input = newTensor();
  *input = over(memory, {4});
  Tensor *output = nullptr;
  numTemporaries = 1;
  ASSERT_EQ(twice(nullptr, &input, &output), 0);
  ASSERT_EQ(recording.allocator.recorded().size(), 2u);
  EXPECT_EQ(recording.allocator.recorded()[0].bytes, 16);
  EXPECT_EQ(recording.allocator.recorded()[0].begin, 0);
  EXPECT_EQ(recording.allocator.recorded()[0].end, 2)
      << "after the second allocation";
  EXPECT_EQ(recording.allocator.recorded()[1].end, -1)
      << "the graph returned it";
  deleteTensor(output);
  EXPECT_EQ(recording.allocator.recorded()[1].end, 3);
}

} // namespace
} // namespace rondo::torch
