// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix products of compiled graphs on a GPU against sums in fp64. What they
// allocate is recorded without a GPU first.

#include "TorchOperations.h"

namespace rondo::torch {

extern "C" {
int32_t aoti_torch_cuda_mm_out(Tensor *, Tensor *, Tensor *);
int32_t aoti_torch_cuda_bmm_out(Tensor *, Tensor *, Tensor *);
int32_t aoti_torch_cuda_addmm_out(Tensor *, Tensor *, Tensor *, Tensor *,
                                  double, double);
int32_t aoti_torch_cuda_baddbmm_out(Tensor *, Tensor *, Tensor *, Tensor *,
                                    double, double);
}

namespace {

template <typename T> class TorchProduct : public TorchOperations {};
using Types = testing::Types<float, Bf16>;
TYPED_TEST_SUITE(TorchProduct, Types);

/// alpha a b + what `before` has.
template <typename T, typename Out>
std::vector<double>
expected(const Held<T> &a, const Held<T> &b, const Held<Out> &out, double alpha,
         const std::function<double(int64_t, int64_t, int64_t)> &before) {
  std::vector<double> result = doubles(out.host);
  const size_t d = out.sizes.size() - 2;
  for (int64_t s = 0; s < (d == 1 ? out.sizes[0] : 1); ++s)
    for (int64_t i = 0; i < out.sizes[d]; ++i)
      for (int64_t j = 0; j < out.sizes[d + 1]; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < a.sizes[d + 1]; ++k)
          sum += number(a.host[a.at(s, i, k)]) * number(b.host[b.at(s, k, j)]);
        result[out.at(s, i, j)] = alpha * sum + (before ? before(s, i, j) : 0);
      }
  return result;
}

// Rows, columns, neither, and repeated rows; aligned and not.
TYPED_TEST(TorchProduct, TakesAnyLayout) {
  using T = TypeParam;
  const std::vector<Extents> as = {{5, 1}, {1, 3}, {10, 2}};
  const std::vector<Extents> bs = {{4, 1}, {1, 5}, {0, 1}, {8, 1}};
  const std::vector<Extents> outs = {{4, 1}, {1, 3}, {8, 1}};
  for (const Extents &aStrides : as)
    for (const Extents &bStrides : bs)
      for (const Extents &outStrides : outs)
        for (int64_t first : {0, 1}) {
          const Held<T> a(1, {3, 5}, aStrides, first),
              b(2, {5, 4}, bStrides, first), out(3, {3, 4}, outStrides, first);
          ASSERT_EQ(this->run([&] {
            Tensor onA = a.tensor(), onB = b.tensor(), onOut = out.tensor();
            return aoti_torch_cuda_mm_out(&onOut, &onA, &onB);
          }),
                    0)
              << lastFault();
          expectClose(out.device.read(), expected<T, T>(a, b, out, 1, nullptr),
                      tolerance<T>(), "a product");
        }
}

TYPED_TEST(TorchProduct, TakesSamples) {
  using T = TypeParam;
  for (int64_t apart : {24, 0}) {
    const Held<T> a(1, {7, 3, 5}, {15, 5, 1}), b(2, {7, 5, 4}, {apart, 1, 5}),
        out(3, {7, 3, 4}, {16, 4, 1});
    ASSERT_EQ(this->run([&] {
      Tensor onA = a.tensor(), onB = b.tensor(), onOut = out.tensor();
      return aoti_torch_cuda_bmm_out(&onOut, &onA, &onB);
    }),
              0)
        << lastFault();
    expectClose(out.device.read(), expected<T, T>(a, b, out, 1, nullptr),
                tolerance<T>(), "seven products");
  }
}

// A bias, a matrix, what the result has, and a number.
TYPED_TEST(TorchProduct, AddsWhatItGets) {
  using T = TypeParam;
  const Held<T> a(1, {6, 8}, {8, 1}), b(2, {8, 16}, {1, 8});
  const std::vector<Extents> addends = {{0, 1}, {16, 1}, {1, 6}, {0, 0}};
  for (const Extents &strides : addends) {
    const Held<T> out(3, {6, 16}, {16, 1}), addend(4, {6, 16}, strides);
    ASSERT_EQ(this->run([&] {
      Tensor onA = a.tensor(), onB = b.tensor(), onOut = out.tensor(),
             added = addend.tensor();
      return aoti_torch_cuda_addmm_out(&onOut, &added, &onA, &onB, 1, 0.5);
    }),
              0)
        << lastFault();
    expectClose(out.device.read(),
                expected<T, T>(a, b, out, 0.5,
                               [&](int64_t s, int64_t i, int64_t j) {
                                 return number(addend.host[addend.at(s, i, j)]);
                               }),
                tolerance<T>(), "a sum");
  }
  const Held<T> bias(5, {16}, {1}), out(3, {6, 16}, {16, 1});
  ASSERT_EQ(this->run([&] {
    Tensor onA = a.tensor(), onB = b.tensor(), onOut = out.tensor(),
           added = bias.tensor();
    return aoti_torch_cuda_addmm_out(&onOut, &added, &onA, &onB, 1, 1);
  }),
            0);
  expectClose(out.device.read(),
              expected<T, T>(a, b, out, 1,
                             [&](int64_t, int64_t, int64_t j) {
                               return number(bias.host[j]);
                             }),
              tolerance<T>(), "with a bias of one dimension");
}

// Gradients of weights are fp32, in place.
TYPED_TEST(TorchProduct, AddsToGradients) {
  using T = TypeParam;
  const Held<T> a(1, {8, 6}, {1, 8}), b(2, {6, 16}, {16, 1});
  const Held<float> out(3, {8, 16}, {16, 1});
  ASSERT_EQ(this->run([&] {
    Tensor onA = a.tensor(), onB = b.tensor(), onOut = out.tensor();
    return aoti_torch_cuda_addmm_out(&onOut, &onOut, &onA, &onB, 1, 1);
  }),
            0)
      << lastFault();
  expectClose(out.device.read(),
              expected<T, float>(a, b, out, 1,
                                 [&](int64_t s, int64_t i, int64_t j) {
                                   return number(out.host[out.at(s, i, j)]);
                                 }),
              tolerance<T>(), "gradients");
}

using TorchProducts = TorchOperations;
TEST_F(TorchProducts, AreRefusedInWords) {
  const Held<float> a(1, {2, 4}, {4, 1}), b(2, {4, 8}, {8, 1}),
      out(3, {2, 8}, {8, 1});
  const Held<Bf16> narrow(1, {2, 4}, {4, 1});
  auto faultOf = [&](const Tensor &left, const Tensor &to, double beta) {
    EXPECT_EQ(run([&] {
                Tensor onA = left, onB = b.tensor(), onOut = to;
                return aoti_torch_cuda_addmm_out(&onOut, &onOut, &onA, &onB,
                                                 beta, 1);
              }),
              1);
    return lastFault();
  };
  EXPECT_EQ(faultOf(narrow.tensor(), out.tensor(), 1),
            "a matrix product on a GPU takes fp32, or bf16 with a result in "
            "bf16 or fp32, and adds what has the result's type");
  EXPECT_EQ(faultOf(a.tensor(), out.tensor(), 0.5),
            "a matrix product on a GPU adds once or not at all: beta is 0 or "
            "1");
  Tensor gaps = out.tensor();
  gaps.strides[1] = 2;
  gaps.strides[0] = 16;
  EXPECT_EQ(faultOf(a.tensor(), gaps, 0),
            "a matrix product on a GPU needs a result with rows or columns of "
            "consecutive elements");
}

} // namespace
} // namespace rondo::torch
