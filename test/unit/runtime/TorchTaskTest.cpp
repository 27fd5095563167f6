//===- TorchTaskTest.cpp - Graphs of PyTorch as tasks ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs written here as PyTorch's ahead-of-time compiler writes them, in terms
// of its C functions.
//
//===----------------------------------------------------------------------===//

#include "runtime/torch/tensor.h"

#include "gtest/gtest.h"

#include <array>
#include <cmath>
#include <numeric>
#include <random>

using namespace rondo::torch;

extern "C" {
int32_t aoti_torch_empty_strided(int64_t, const int64_t *, const int64_t *,
                                 int32_t, int32_t, int32_t, Tensor **);
int32_t aoti_torch_delete_tensor_object(Tensor *);
int32_t aoti_torch_cpu_mm_out(Tensor *, Tensor *, Tensor *);
int32_t aoti_torch_cpu_bmm_out(Tensor *, Tensor *, Tensor *);
int32_t aoti_torch_cpu_addmm_out(Tensor *, Tensor *, Tensor *, Tensor *, double,
                                 double);
int32_t aoti_torch_cpu_cumsum(Tensor *, int64_t, int32_t *, Tensor **);
int32_t aoti_torch_cpu_sort_stable(Tensor *, int32_t *, int64_t, int32_t,
                                   Tensor **, Tensor **);
int32_t aoti_torch_cpu_histc(Tensor *, int64_t, double, double, Tensor **);
int32_t aoti_torch_cpu__grouped_mm(Tensor *, Tensor *, Tensor **, Tensor **,
                                   int32_t *, Tensor **);
int32_t aoti_torch_cpu_topk(Tensor *, int64_t, int64_t, int32_t, int32_t,
                            Tensor **, Tensor **);
int32_t aoti_torch_cpu_convolution(Tensor *, Tensor *, Tensor **,
                                   const int64_t *, int64_t, const int64_t *,
                                   int64_t, const int64_t *, int64_t, int32_t,
                                   const int64_t *, int64_t, int64_t,
                                   Tensor **);
int32_t aoti_torch_cpu_convolution_backward(
    Tensor *, Tensor *, Tensor *, const int64_t **, int64_t, const int64_t *,
    int64_t, const int64_t *, int64_t, const int64_t *, int64_t, int32_t,
    const int64_t *, int64_t, int64_t, const int32_t *, int64_t, Tensor **,
    Tensor **, Tensor **);
int32_t aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu(
    Tensor *, Tensor *, Tensor *, double, int32_t, Tensor **, double *,
    Tensor **, Tensor **);
int32_t aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu_backward(
    Tensor *, Tensor *, Tensor *, Tensor *, Tensor *, Tensor *, double, int32_t,
    Tensor **, double *, Tensor **, Tensor **, Tensor **);
}

namespace {

constexpr int32_t float32 = 6;

/// A tensor over memory of the test.
Tensor over(std::vector<float> &memory, std::vector<int64_t> sizes,
            std::vector<int64_t> strides = {}) {
  Tensor tensor{};
  tensor.storage = reinterpret_cast<char *>(memory.data());
  tensor.dtype = float32;
  tensor.numDims = int32_t(sizes.size());
  tensor.allocation = -1;
  int64_t stride = 1;
  for (int32_t d = tensor.numDims - 1; d >= 0; --d) {
    tensor.sizes[d] = sizes[d];
    tensor.strides[d] = strides.empty() ? stride : strides[d];
    stride *= sizes[d];
  }
  return tensor;
}

std::vector<float> randomly(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> result(count);
  for (float &value : result)
    value = normal(random);
  return result;
}

//===----------------------------------------------------------------------===//
// A graph: twice its input, by way of a temporary.
//===----------------------------------------------------------------------===//

int numLoaded = 0;
int numTemporaries = 1;

int32_t create(void **model, const void *, size_t) {
  ++numLoaded;
  *model = &numLoaded;
  return 0;
}

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
  Allocator allocator;
  Allocator::here() = &allocator;
  std::vector<float> memory(4);
  Tensor *input = newTensor();
  *input = over(memory, {4});
  Tensor *output = nullptr;
  numTemporaries = 1;
  ASSERT_EQ(twice(nullptr, &input, &output), 0);
  ASSERT_EQ(allocator.recorded().size(), 2u);
  EXPECT_EQ(allocator.recorded()[0].bytes, 16);
  EXPECT_EQ(allocator.recorded()[0].begin, 0);
  EXPECT_EQ(allocator.recorded()[0].end, 2) << "after the second allocation";
  EXPECT_EQ(allocator.recorded()[1].end, -1) << "the graph returned it";
  deleteTensor(output);
  EXPECT_EQ(allocator.recorded()[1].end, 3);
  Allocator::here() = nullptr;
}

//===----------------------------------------------------------------------===//
// Products.
//===----------------------------------------------------------------------===//

/// sum over k of a[i][k] b[k][j].
float productAt(const Tensor &a, const Tensor &b, int64_t i, int64_t j) {
  float sum = 0;
  for (int64_t k = 0; k < a.sizes[1]; ++k)
    sum += a.floats()[i * a.strides[0] + k * a.strides[1]] *
           b.floats()[k * b.strides[0] + j * b.strides[1]];
  return sum;
}

TEST(TorchTask, MultipliesAnyLayout) {
  Allocator allocator;
  Allocator::here() = &allocator;
  std::vector<float> x = randomly(64, 1), y = randomly(64, 2), z(64);
  const std::vector<std::vector<int64_t>> as = {{5, 1}, {1, 3}, {10, 2}};
  const std::vector<std::vector<int64_t>> bs = {{4, 1}, {1, 5}, {0, 1}};
  const std::vector<std::vector<int64_t>> outs = {{4, 1}, {1, 3}};
  for (const auto &aStrides : as)
    for (const auto &bStrides : bs)
      for (const auto &outStrides : outs) {
        Tensor a = over(x, {3, 5}, aStrides), b = over(y, {5, 4}, bStrides);
        Tensor out = over(z, {3, 4}, outStrides);
        ASSERT_EQ(aoti_torch_cpu_mm_out(&out, &a, &b), 0);
        for (int64_t i = 0; i < 3; ++i)
          for (int64_t j = 0; j < 4; ++j)
            ASSERT_NEAR(z[i * outStrides[0] + j * outStrides[1]],
                        productAt(a, b, i, j), 1e-5);
      }
  Allocator::here() = nullptr;
}

TEST(TorchTask, AddsToWhatIsThere) {
  std::vector<float> x = randomly(15, 1), y = randomly(20, 2),
                     bias = {1, 2, 3, 4};
  std::vector<float> z = randomly(12, 3);
  const std::vector<float> before = z;
  Tensor a = over(x, {3, 5}), b = over(y, {5, 4}), out = over(z, {3, 4});
  ASSERT_EQ(aoti_torch_cpu_addmm_out(&out, &out, &a, &b, 1, 1), 0);
  EXPECT_NEAR(z[7], before[7] + productAt(a, b, 1, 3), 1e-5);
  Tensor row = over(bias, {4});
  ASSERT_EQ(aoti_torch_cpu_addmm_out(&out, &row, &a, &b, 2, 0.5), 0);
  EXPECT_NEAR(z[7], 2 * bias[3] + 0.5 * productAt(a, b, 1, 3), 1e-5);
}

/// Products of three groups, the second of which is empty, against a loop over
/// all elements: `a` and `b` are matrices, or have one for each group.
void checkGroups(std::vector<int64_t> aSizes, std::vector<int64_t> aStrides,
                 std::vector<int64_t> bSizes) {
  std::vector<float> x = randomly(512, 1), y = randomly(512, 2);
  Tensor a = over(x, aSizes, aStrides), b = over(y, bSizes);
  int32_t ends[] = {3, 3, 7};
  Tensor groups{};
  groups.storage = reinterpret_cast<char *>(ends);
  groups.dtype = 3;
  groups.numDims = 1;
  groups.sizes[0] = 3;
  groups.strides[0] = 1;
  Tensor *given = &groups, *out = nullptr;
  ASSERT_EQ(aoti_torch_cpu__grouped_mm(&a, &b, &given, nullptr, nullptr, &out),
            0);
  const bool aHas = aSizes.size() == 3, bHas = bSizes.size() == 3;
  const int64_t rows = aSizes[aHas], inner = aSizes[aHas + 1];
  const int64_t columns = bSizes[bHas + 1];
  auto element = [](const Tensor &of, int64_t g, int64_t i, int64_t j) {
    const int32_t d = of.numDims - 2;
    return of.floats()[(d ? g * of.strides[0] : 0) + i * of.strides[d] +
                       j * of.strides[d + 1]];
  };
  for (int64_t g = 0; g < 3; ++g)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        const int64_t first = g == 0 ? 0 : ends[g - 1];
        auto isIn = [&](int64_t k) { return k >= first && k < ends[g]; };
        if ((bHas && !isIn(i)) || (aHas && !isIn(j)))
          continue;
        float sum = 0;
        for (int64_t k = 0; k < inner; ++k)
          if (aHas || bHas || isIn(k))
            sum += element(a, g, i, k) * element(b, g, k, j);
        ASSERT_NEAR(element(*out, g, i, j), sum, 1e-5)
            << g << " " << i << " " << j;
      }
  deleteTensor(out);
}

TEST(TorchTask, MultipliesGroups) {
  Allocator allocator;
  Allocator::here() = &allocator;
  checkGroups({9, 5}, {}, {3, 5, 4});
  checkGroups({9, 5}, {1, 9}, {3, 5, 4});
  checkGroups({3, 4, 5}, {}, {5, 9});
  checkGroups({5, 9}, {1, 5}, {9, 6});
  Allocator::here() = nullptr;
}

TEST(TorchTask, LeavesRowsOfNoGroupAtZero) {
  Allocator allocator;
  Allocator::here() = &allocator;
  std::vector<float> x(8, 1), y(4, 1);
  Tensor a = over(x, {4, 2}), b = over(y, {1, 2, 2}), groups{};
  int32_t end = 3;
  groups.storage = reinterpret_cast<char *>(&end);
  groups.dtype = 3;
  groups.numDims = 1;
  groups.sizes[0] = 1;
  Tensor *given = &groups, *out = nullptr;
  ASSERT_EQ(aoti_torch_cpu__grouped_mm(&a, &b, &given, nullptr, nullptr, &out),
            0);
  EXPECT_EQ(out->strides[0], 4) << "rows begin at multiples of 16 bytes";
  EXPECT_EQ(out->floats()[2 * 4 + 1], 2);
  EXPECT_EQ(out->floats()[3 * 4 + 1], 0);
  deleteTensor(out);
  Allocator::here() = nullptr;
}

//===----------------------------------------------------------------------===//
// Operations along a dimension.
//===----------------------------------------------------------------------===//

TEST(TorchTask, AddsUpAlongADimension) {
  Allocator allocator;
  Allocator::here() = &allocator;
  std::vector<float> x(12);
  std::iota(x.begin(), x.end(), 1.0f);
  Tensor tensor = over(x, {2, 3, 2});
  Tensor *sums = nullptr;
  ASSERT_EQ(aoti_torch_cpu_cumsum(&tensor, 1, nullptr, &sums), 0);
  const std::vector<float> expected = {1, 2, 4, 6, 9, 12, 7, 8, 16, 18, 27, 30};
  EXPECT_EQ(std::vector<float>(sums->floats(), sums->floats() + 12), expected);
  deleteTensor(sums);
  ASSERT_EQ(aoti_torch_cpu_cumsum(&tensor, -1, nullptr, &sums), 0);
  EXPECT_EQ(sums->floats()[1], 3);
  deleteTensor(sums);
  Allocator::here() = nullptr;
}

TEST(TorchTask, AddsUpInAnotherType) {
  Allocator allocator;
  Allocator::here() = &allocator;
  std::vector<float> x = {2, 0, 3};
  Tensor tensor = over(x, {3}), *sums = nullptr;
  int32_t int32 = 3, float64 = 7;
  ASSERT_EQ(aoti_torch_cpu_cumsum(&tensor, 0, &int32, &sums), 0);
  const auto *found = reinterpret_cast<const int32_t *>(sums->data());
  EXPECT_EQ(std::vector<int32_t>(found, found + 3),
            (std::vector<int32_t>{2, 2, 5}));
  deleteTensor(sums);
  EXPECT_EQ(aoti_torch_cpu_cumsum(&tensor, 0, &float64, &sums), 1);
  EXPECT_EQ(lastFault(), "cumsum takes and gives fp32, int32 and int64");
  deleteTensor(sums);
  Allocator::here() = nullptr;
}

TEST(TorchTask, SortsWithEqualValuesInOrder) {
  Allocator allocator;
  Allocator::here() = &allocator;
  std::vector<float> x = {2, NAN, 1, 2, 1, 3};
  Tensor tensor = over(x, {6}), *values = nullptr, *places = nullptr;
  auto order = [&](int32_t descending) {
    EXPECT_EQ(aoti_torch_cpu_sort_stable(&tensor, nullptr, 0, descending,
                                         &values, &places),
              0);
    const auto *index = reinterpret_cast<const int64_t *>(places->data());
    std::vector<int64_t> result(index, index + 6);
    EXPECT_EQ(values->floats()[2], 2) << descending;
    deleteTensor(values);
    deleteTensor(places);
    return result;
  };
  EXPECT_EQ(order(0), (std::vector<int64_t>{2, 4, 0, 3, 5, 1}));
  EXPECT_EQ(order(1), (std::vector<int64_t>{1, 5, 0, 3, 2, 4}));
  Allocator::here() = nullptr;
}

TEST(TorchTask, CountsValuesInBins) {
  Allocator allocator;
  Allocator::here() = &allocator;
  std::vector<float> x = {0, 1, 1, 3, 2.9f, -1, 4, NAN};
  Tensor tensor = over(x, {8}), *counts = nullptr;
  ASSERT_EQ(aoti_torch_cpu_histc(&tensor, 4, 0, 3, &counts), 0);
  EXPECT_EQ(std::vector<float>(counts->floats(), counts->floats() + 4),
            (std::vector<float>{1, 2, 0, 2}));
  deleteTensor(counts);
  Allocator::here() = nullptr;
}

TEST(TorchTask, TakesTheLargestAndOfEqualOnesTheFirst) {
  Allocator allocator;
  Allocator::here() = &allocator;
  std::vector<float> x = {1, 3, 3, 2, NAN, 0, 5, 4};
  Tensor tensor = over(x, {2, 4});
  Tensor *values = nullptr, *places = nullptr;
  ASSERT_EQ(aoti_torch_cpu_topk(&tensor, 2, -1, 1, 1, &values, &places), 0);
  const auto *index = reinterpret_cast<const int64_t *>(places->data());
  EXPECT_EQ(std::vector<int64_t>(index, index + 4),
            (std::vector<int64_t>{1, 2, 0, 2}));
  EXPECT_EQ(values->floats()[3], 5);
  deleteTensor(values);
  deleteTensor(places);
  ASSERT_EQ(aoti_torch_cpu_topk(&tensor, 2, 0, 0, 1, &values, &places), 0);
  const auto *least = reinterpret_cast<const int64_t *>(places->data());
  EXPECT_EQ(std::vector<int64_t>(least, least + 4),
            (std::vector<int64_t>{0, 1, 0, 0}));
  deleteTensor(values);
  deleteTensor(places);
  Allocator::here() = nullptr;
}

//===----------------------------------------------------------------------===//
// Attention.
//===----------------------------------------------------------------------===//

/// [samples, heads, tokens, width] as PyTorch's linear layers leave it: the
/// heads of a token side by side, and the tokens of a sample, or the samples of
/// a token.
struct HeadsOf {
  int64_t samples, heads, tokens, width;
  bool hasTokensFirst = false;
  int64_t count() const { return samples * heads * tokens * width; }
  Tensor tensor(std::vector<float> &memory) const {
    const int64_t row = heads * width;
    return over(memory, {samples, heads, tokens, width},
                {hasTokensFirst ? row : row * tokens, width,
                 hasTokensFirst ? row * samples : row, 1});
  }
  int64_t at(int64_t s, int64_t h, int64_t t, int64_t w) const {
    const int64_t token = hasTokensFirst ? t * samples + s : s * tokens + t;
    return (token * heads + h) * width + w;
  }
  /// The place of an element that is at `i` if the tokens of a sample lie side
  /// by side.
  int64_t placeOf(int64_t i) const {
    const int64_t token = i / (heads * width);
    return at(token / tokens, i / width % heads, token % tokens, i % width);
  }
};

struct Shapes {
  HeadsOf q, k, v;
  bool isCausal;
};

/// sum of `weights` times the output of attention, in fp64, as a loop over
/// everything.
double weighted(const Shapes &of, const std::vector<float> &q,
                const std::vector<float> &k, const std::vector<float> &v,
                const std::vector<float> &weights) {
  double total = 0;
  const int64_t group = of.q.heads / of.k.heads;
  for (int64_t s = 0; s < of.q.samples; ++s)
    for (int64_t h = 0; h < of.q.heads; ++h)
      for (int64_t i = 0; i < of.q.tokens; ++i) {
        const int64_t seen = of.isCausal ? i + 1 : of.k.tokens;
        std::vector<double> p(seen);
        for (int64_t j = 0; j < seen; ++j) {
          for (int64_t w = 0; w < of.q.width; ++w)
            p[j] +=
                double(q[of.q.at(s, h, i, w)]) * k[of.k.at(s, h / group, j, w)];
          p[j] = std::exp(p[j] / std::sqrt(double(of.q.width)));
        }
        const double sum = std::accumulate(p.begin(), p.end(), 0.0);
        for (int64_t j = 0; j < seen; ++j)
          for (int64_t w = 0; w < of.v.width; ++w)
            total += p[j] / sum * v[of.v.at(s, h / group, j, w)] *
                     weights[of.q.at(s, h, i, w)];
      }
  return total;
}

/// Both functions against the loop, and its differences.
void checkAttention(const Shapes &of) {
  std::vector<float> q = randomly(of.q.count(), 1),
                     k = randomly(of.k.count(), 2),
                     v = randomly(of.v.count(), 3),
                     weights = randomly(of.q.count(), 4);
  Allocator allocator;
  Allocator::here() = &allocator;
  Tensor tq = of.q.tensor(q), tk = of.k.tensor(k), tv = of.v.tensor(v),
         tWeights = of.q.tensor(weights);
  Tensor *out = nullptr, *sums = nullptr, *grads[3] = {};
  ASSERT_EQ(aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu(
                &tq, &tk, &tv, 0, of.isCausal, nullptr, nullptr, &out, &sums),
            0);
  EXPECT_TRUE(std::equal(tq.strides, tq.strides + 4, out->strides))
      << "an output has the layout of its queries";
  ASSERT_EQ(aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu_backward(
                &tWeights, &tq, &tk, &tv, out, sums, 0, of.isCausal, nullptr,
                nullptr, &grads[0], &grads[1], &grads[2]),
            0);
  double found = 0;
  for (int64_t i = 0; i < of.q.count(); ++i)
    found += double(out->floats()[i]) * weights[i];
  EXPECT_NEAR(found, weighted(of, q, k, v, weights), 1e-4);
  std::vector<float> *values[3] = {&q, &k, &v};
  const HeadsOf *shapes[3] = {&of.q, &of.k, &of.v};
  for (int which = 0; which < 3; ++which)
    for (int64_t i = 0; i < shapes[which]->count(); i += 7) {
      // Gradients have the tokens of a sample side by side.
      float &value = (*values[which])[shapes[which]->placeOf(i)];
      const float kept = value, step = 1e-2f;
      value = kept + step;
      const double more = weighted(of, q, k, v, weights);
      value = kept - step;
      const double less = weighted(of, q, k, v, weights);
      value = kept;
      ASSERT_NEAR(grads[which]->floats()[i], (more - less) / (2 * step), 2e-3)
          << "gradient " << which << ", element " << i;
    }
  for (Tensor *tensor : {out, sums, grads[0], grads[1], grads[2]})
    deleteTensor(tensor);
  Allocator::here() = nullptr;
}

TEST(TorchTask, AttendsCausally) {
  // More queries than a block has.
  const HeadsOf heads{1, 2, 70, 4};
  checkAttention({heads, heads, heads, true});
}

TEST(TorchTask, AttendsWithSharedKeys) {
  checkAttention({{2, 4, 9, 4}, {2, 2, 9, 4}, {2, 2, 9, 4}, false});
}

TEST(TorchTask, AttendsToOtherTokens) {
  checkAttention({{1, 2, 5, 4}, {1, 2, 11, 4}, {1, 2, 11, 4}, false});
}

TEST(TorchTask, AttendsToTokensWithSamplesSideBySide) {
  const HeadsOf heads{3, 2, 9, 4, true};
  checkAttention({heads, heads, heads, true});
}

TEST(TorchTask, RefusesAttentionThatItDoesNotHave) {
  std::vector<float> memory(64);
  const HeadsOf heads{1, 1, 2, 4};
  Tensor q = heads.tensor(memory);
  Tensor *out = nullptr, *sums = nullptr;
  Allocator allocator;
  Allocator::here() = &allocator;
  EXPECT_EQ(aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu(
                &q, &q, &q, 0.5, 0, nullptr, nullptr, &out, &sums),
            1);
  EXPECT_EQ(lastFault(), "attention has no dropout");
  Allocator::here() = nullptr;
}

//===----------------------------------------------------------------------===//
// Convolutions.
//===----------------------------------------------------------------------===//

/// A convolution over images; `isSequence` drops the first spatial dimension.
struct Convolved {
  std::array<int64_t, 4> input, weight;
  std::array<int64_t, 2> stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  int64_t groups = 1;
  bool isSequence = false;
  std::vector<int64_t> inputStrides = {}, outGradStrides = {};

  int64_t out(int d) const {
    return (input[2 + d] + 2 * padding[d] - dilation[d] * (weight[2 + d] - 1) -
            1) /
               stride[d] +
           1;
  }
  std::array<int64_t, 4> output() const {
    return {input[0], weight[0], out(0), out(1)};
  }
  /// Calls each(n, o, y, x, w, i, j) for each pair of an output and an input
  /// pixel: w is the channel of the weight, i and j its place.
  template <typename Each> void forAll(const Each &each) const {
    for (int64_t n = 0; n < input[0]; ++n)
      for (int64_t o = 0; o < weight[0]; ++o)
        for (int64_t y = 0; y < out(0); ++y)
          for (int64_t x = 0; x < out(1); ++x)
            for (int64_t w = 0; w < weight[1]; ++w)
              for (int64_t i = 0; i < weight[2]; ++i)
                for (int64_t j = 0; j < weight[3]; ++j)
                  each(n, o, y, x, w, i, j);
  }
  Tensor tensor(std::vector<float> &memory, const std::array<int64_t, 4> &sizes,
                const std::vector<int64_t> &strides = {}) const {
    if (!isSequence)
      return over(memory, {sizes.begin(), sizes.end()}, strides);
    return over(memory, {sizes[0], sizes[1], sizes[3]}, strides);
  }
};

int64_t countOf(const std::array<int64_t, 4> &sizes) {
  return sizes[0] * sizes[1] * sizes[2] * sizes[3];
}

/// The element [n, c, y, x].
float &at(const Tensor &tensor, int64_t n, int64_t c, int64_t y, int64_t x) {
  const int64_t *strides = tensor.strides;
  return tensor.floats()[n * strides[0] + c * strides[1] +
                         (tensor.numDims == 4 ? y * strides[2] : 0) +
                         x * strides[tensor.numDims - 1]];
}

void expectNear(const Tensor &found, const std::vector<double> &expected,
                const std::array<int64_t, 4> &sizes) {
  double most = 0;
  for (const double value : expected)
    most = std::max(most, std::abs(value));
  size_t k = 0;
  for (int64_t n = 0; n < sizes[0]; ++n)
    for (int64_t c = 0; c < sizes[1]; ++c)
      for (int64_t y = 0; y < sizes[2]; ++y)
        for (int64_t x = 0; x < sizes[3]; ++x, ++k)
          ASSERT_NEAR(at(found, n, c, y, x), expected[k], 1e-6 * most)
              << n << " " << c << " " << y << " " << x;
}

/// All results against a plain loop in fp64.
struct ConvolutionResults {
  std::vector<double> output, input, weight, bias;
};

ConvolutionResults plainly(const Convolved &of, const Tensor &input,
                           const Tensor &weight, const Tensor &outGrad,
                           const std::vector<float> &bias) {
  const std::array<int64_t, 4> sizes = of.output();
  ConvolutionResults result{std::vector<double>(countOf(sizes)),
                            std::vector<double>(countOf(of.input)),
                            std::vector<double>(countOf(of.weight)),
                            std::vector<double>(sizes[1])};
  for (int64_t k = 0; k < countOf(sizes); ++k) {
    const int64_t pixels = sizes[2] * sizes[3], o = k / pixels % sizes[1];
    result.output[k] = bias.empty() ? 0 : bias[o];
    result.bias[o] += at(outGrad, k / pixels / sizes[1], o,
                         k / sizes[3] % sizes[2], k % sizes[3]);
  }
  of.forAll([&](int64_t n, int64_t o, int64_t y, int64_t x, int64_t w,
                int64_t i, int64_t j) {
    const int64_t c = o / (sizes[1] / of.groups) * of.weight[1] + w;
    const int64_t inY = y * of.stride[0] + i * of.dilation[0] - of.padding[0];
    const int64_t inX = x * of.stride[1] + j * of.dilation[1] - of.padding[1];
    if (inY < 0 || inX < 0 || inY >= of.input[2] || inX >= of.input[3])
      return;
    const int64_t k = ((n * sizes[1] + o) * sizes[2] + y) * sizes[3] + x;
    const int64_t in =
        ((n * of.input[1] + c) * of.input[2] + inY) * of.input[3] + inX;
    const int64_t tap =
        ((o * of.weight[1] + w) * of.weight[2] + i) * of.weight[3] + j;
    const double value = at(input, n, c, inY, inX),
                 factor = at(weight, o, w, i, j);
    const double grad = at(outGrad, n, o, y, x);
    result.output[k] += value * factor;
    result.input[in] += factor * grad;
    result.weight[tap] += value * grad;
  });
  return result;
}

void checkConvolution(const Convolved &of, bool hasBias = true,
                      bool expectChannelsLast = false) {
  std::vector<float> x = randomly(countOf(of.input), 1),
                     w = randomly(countOf(of.weight), 2), b,
                     g = randomly(countOf(of.output()), 3);
  if (hasBias)
    b = randomly(of.weight[0], 4);
  Tensor input = of.tensor(x, of.input, of.inputStrides),
         weight = of.tensor(w, of.weight),
         outGrad = of.tensor(g, of.output(), of.outGradStrides),
         bias = over(b, {of.weight[0]});
  Tensor *biasGiven = hasBias ? &bias : nullptr;
  const ConvolutionResults expected = plainly(of, input, weight, outGrad, b);
  Allocator allocator;
  Allocator::here() = &allocator;
  const int first = of.isSequence ? 1 : 0;
  const int64_t dims = 2 - first, zeros[2] = {};
  Tensor *out = nullptr, *inputGrad = nullptr, *weightGrad = nullptr,
         *biasGrad = nullptr;
  ASSERT_EQ(aoti_torch_cpu_convolution(
                &input, &weight, hasBias ? &biasGiven : nullptr,
                &of.stride[first], dims, &of.padding[first], dims,
                &of.dilation[first], dims, 0, zeros, dims, of.groups, &out),
            0);
  expectNear(*out, expected.output, of.output());
  EXPECT_EQ(out->strides[1] == 1, expectChannelsLast);
  auto backward = [&](const int32_t (&mask)[3], Tensor **results0,
                      Tensor **results1, Tensor **results2) {
    return aoti_torch_cpu_convolution_backward(
        &outGrad, &input, &weight, nullptr, 1, &of.stride[first], dims,
        &of.padding[first], dims, &of.dilation[first], dims, 0, zeros, dims,
        of.groups, mask, 3, results0, results1, results2);
  };
  ASSERT_EQ(backward({1, 0, 0}, &inputGrad, nullptr, nullptr), 0);
  expectNear(*inputGrad, expected.input, of.input);
  ASSERT_EQ(backward({0, 1, 1}, nullptr, &weightGrad, &biasGrad), 0);
  expectNear(*weightGrad, expected.weight, of.weight);
  for (int64_t c = 0; c < of.weight[0]; ++c)
    ASSERT_NEAR(biasGrad->floats()[c], expected.bias[c], 1e-3);
  for (Tensor *tensor : {out, inputGrad, weightGrad, biasGrad})
    deleteTensor(tensor);
  Allocator::here() = nullptr;
}

TEST(TorchTask, ConvolvesImages) {
  checkConvolution({{2, 3, 5, 7}, {4, 3, 3, 2}});
  checkConvolution({{2, 3, 7, 7}, {4, 3, 3, 2}, {2, 1}, {1, 2}, {2, 3}}, false);
  // As patches, whose last pixels are left out.
  checkConvolution({{1, 2, 9, 8}, {4, 2, 4, 4}, {4, 4}});
  // More padding than the kernel reaches over.
  checkConvolution({{1, 1, 2, 2}, {1, 1, 2, 2}, {1, 3}, {3, 4}});
}

TEST(TorchTask, ConvolvesGroups) {
  checkConvolution({{2, 4, 5, 5}, {6, 2, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 2});
  checkConvolution({{2, 4, 5, 5}, {4, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 4});
}

TEST(TorchTask, ConvolvesSequences) {
  checkConvolution(
      {{2, 3, 1, 9}, {4, 3, 1, 4}, {1, 2}, {0, 3}, {1, 2}, 1, true});
  // Tokens before channels, as after a transpose: only images have results of
  // such a layout.
  checkConvolution({{2, 3, 1, 9},
                    {4, 3, 1, 3},
                    {1, 1},
                    {0, 1},
                    {1, 1},
                    1,
                    true,
                    {27, 1, 3},
                    {36, 1, 4}});
}

TEST(TorchTask, ConvolvesMoreThanABlock) {
  checkConvolution({{1, 8, 50, 50}, {2, 8, 3, 3}, {1, 1}, {1, 1}});
}

TEST(TorchTask, KeepsChannelsLast) {
  checkConvolution({{2, 3, 5, 7},
                    {4, 3, 3, 3},
                    {1, 1},
                    {1, 1},
                    {1, 1},
                    1,
                    false,
                    {105, 1, 21, 3}},
                   true, true);
}

TEST(TorchTask, RefusesConvolutionsThatItDoesNotHave) {
  std::vector<float> memory(64);
  Tensor input = over(memory, {1, 1, 2, 2, 2}), weight = input, *out = nullptr;
  const int64_t ones[3] = {1, 1, 1}, zeros[3] = {};
  auto convolve = [&](int32_t transposed) {
    EXPECT_EQ(aoti_torch_cpu_convolution(&input, &weight, nullptr, ones, 3,
                                         zeros, 3, ones, 3, transposed, zeros,
                                         3, 1, &out),
              1);
    return lastFault();
  };
  EXPECT_EQ(convolve(0),
            "a convolution has one or two dimensions, and samples");
  EXPECT_EQ(convolve(1), "a convolution is not transposed");
  input.dtype = 7;
  EXPECT_EQ(convolve(0), "a convolution takes fp32 tensors");
}

} // namespace
