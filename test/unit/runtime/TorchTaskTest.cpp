//===- TorchTaskTest.cpp - Graphs of PyTorch as tasks ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs written here as PyTorch's ahead-of-time compiler writes them, in terms
// of its C functions.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/error.h"
#include "runtime/torch/tensor.h"

#include "gtest/gtest.h"

#include <array>
#include <cmath>
#include <numeric>
#include <random>

using namespace rondo::torch;
using rondo::runtime::Error;

extern "C" {
int32_t aoti_torch_empty_strided(int64_t, const int64_t *, const int64_t *,
                                 int32_t, int32_t, int32_t, Tensor **);
int32_t aoti_torch_delete_tensor_object(Tensor *);
int32_t aoti_torch_cpu_mm_out(Tensor *, Tensor *, Tensor *);
int32_t aoti_torch_cpu_bmm_out(Tensor *, Tensor *, Tensor *);
int32_t aoti_torch_cpu_addmm_out(Tensor *, Tensor *, Tensor *, Tensor *, double,
                                 double);
int32_t aoti_torch_cpu_cumsum(Tensor *, int64_t, int32_t *, Tensor **);
int32_t aoti_torch_cpu_topk(Tensor *, int64_t, int64_t, int32_t, int32_t,
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
  std::array<Copy, 1> copies{
      {{{Space::SavedForWeightGrad, 0, 16}, {Space::Inputs, 0, 4}, 8, false}}};
  alignas(64) float in[4] = {1, 2, 3, 4}, out[4] = {}, work[32] = {},
                    saved[16] = {};
  const void *inputs[1] = {in};
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
    numTemporaries = 1;
  }

  void run() {
    const Task task{&graph, &input,        1, &output, 1, allocations.data(),
                    2,      copies.data(), 1, nullptr};
    runTask(task, layer, buffers);
  }
};

TEST(TorchTask, PutsResultsInPlace) {
  for (bool inPlace : {true, false}) {
    TwiceTask task(inPlace);
    task.run();
    EXPECT_EQ(task.out[3], 8) << inPlace;
    EXPECT_EQ(task.work[16], inPlace ? 0 : 2) << "where the result lies";
    EXPECT_EQ(task.saved[4], 2);
    EXPECT_EQ(task.saved[5], 3);
    EXPECT_EQ(task.saved[6], 0) << "copies are as long as the tables say";
  }
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
  EXPECT_THROW(more.run(), Error);

  TwiceTask larger(true);
  larger.allocations[0].bytes = 32;
  EXPECT_THROW(larger.run(), Error);

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
  try {
    runTask(task, fewer.layer, fewer.buffers);
    FAIL() << "an allocation was left out";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "layer 'h0': graph 'twice' made 2 allocations, "
                               "not 3 as when exported");
  }
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
/// heads of a token side by side.
struct HeadsOf {
  int64_t samples, heads, tokens, width;
  int64_t count() const { return samples * heads * tokens * width; }
  Tensor tensor(std::vector<float> &memory) const {
    return over(memory, {samples, heads, tokens, width},
                {heads * tokens * width, width, heads * width, 1});
  }
  int64_t at(int64_t s, int64_t h, int64_t t, int64_t w) const {
    return ((s * tokens + t) * heads + h) * width + w;
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
  ASSERT_EQ(aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu_backward(
                &tWeights, &tq, &tk, &tv, out, sums, 0, of.isCausal, nullptr,
                nullptr, &grads[0], &grads[1], &grads[2]),
            0);
  double found = 0;
  for (int64_t i = 0; i < of.q.count(); ++i)
    found += double(out->floats()[i]) * weights[i];
  EXPECT_NEAR(found, weighted(of, q, k, v, weights), 1e-4);
  std::vector<float> *values[3] = {&q, &k, &v};
  for (int which = 0; which < 3; ++which)
    for (int64_t i = 0; i < int64_t(values[which]->size()); i += 7) {
      float &value = (*values[which])[i];
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

TEST(TorchTask, RefusesAttentionThatItDoesNotHave) {
  std::vector<float> memory(64);
  const HeadsOf heads{1, 1, 2, 4};
  Tensor q = heads.tensor(memory);
  Tensor *out = nullptr, *sums = nullptr;
  Allocator allocator;
  Allocator::here() = &allocator;
  testing::internal::CaptureStderr();
  EXPECT_EQ(aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu(
                &q, &q, &q, 0.5, 0, nullptr, nullptr, &out, &sums),
            1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "rondo.torch: attention has no dropout\n");
  Allocator::here() = nullptr;
}

} // namespace
