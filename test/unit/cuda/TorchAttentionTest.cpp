// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention of compiled graphs on a GPU against that on the CPU.

#include "TorchOperations.h"

extern "C" {
#define RONDO_ATTENTION(target)                                                \
  int32_t aoti_torch_##target##__scaled_dot_product_flash_attention_for_cpu(   \
      rondo::torch::Tensor *, rondo::torch::Tensor *, rondo::torch::Tensor *,  \
      double, int32_t, rondo::torch::Tensor **, double *,                      \
      rondo::torch::Tensor **, rondo::torch::Tensor **);                       \
  int32_t                                                                      \
  aoti_torch_##target##__scaled_dot_product_flash_attention_for_cpu_backward(  \
      rondo::torch::Tensor *, rondo::torch::Tensor *, rondo::torch::Tensor *,  \
      rondo::torch::Tensor *, rondo::torch::Tensor *, rondo::torch::Tensor *,  \
      double, int32_t, rondo::torch::Tensor **, double *,                      \
      rondo::torch::Tensor **, rondo::torch::Tensor **,                        \
      rondo::torch::Tensor **)
RONDO_ATTENTION(cpu);
RONDO_ATTENTION(cuda);
}

namespace rondo::torch {
namespace {

/// [samples, heads, tokens, width], with tokens or heads one after another.
Extents stridesOf(const Extents &sizes, bool tokenMajor) {
  if (tokenMajor)
    return {sizes[2] * sizes[1] * sizes[3], sizes[3], sizes[1] * sizes[3], 1};
  return {sizes[2] * sizes[1] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
}

/// The elements of a tensor in the order of its dimensions.
template <typename T>
std::vector<double> elements(const std::vector<T> &memory, const Tensor &of) {
  std::vector<double> result;
  for (int64_t i = 0; i < of.count(); ++i) {
    int64_t place = 0, rest = i;
    for (int32_t d = of.numDims - 1; d >= 0; --d) {
      place += rest % of.sizes[d] * of.strides[d];
      rest /= of.sizes[d];
    }
    result.push_back(number(memory[place]));
  }
  return result;
}

/// A tensor on the host with the numbers of another on the device.
template <typename T> struct OnHost {
  std::vector<float> floats;
  Tensor tensor;
  explicit OnHost(const Held<T> &of) : tensor(of.tensor()) {
    for (const T &value : of.host)
      floats.push_back(static_cast<float>(number(value)));
    tensor.storage = reinterpret_cast<char *>(floats.data());
    tensor.dtype = int32_t(ScalarType::Float32);
  }
};

template <typename T> class TorchAttention : public TorchOperations {
protected:
  /// The results of an operation on the device, each read from where it lies.
  std::vector<std::vector<double>>
  results(size_t count, const std::function<int32_t(Tensor **)> &operation) {
    std::vector<Tensor *> made(count);
    std::vector<std::vector<double>> values(count);
    EXPECT_EQ(run([&] { return operation(made.data()); },
                  [&] {
                    for (size_t r = 0; r < count; ++r)
                      values[r] = valuesOf(*made[r]);
                  }),
              0)
        << lastFault();
    return values;
  }

private:
  static std::vector<double> valuesOf(const Tensor &of) {
    auto read = [&](auto number) {
      std::vector<decltype(number)> memory(of.count());
      RONDO_CUDA(cudaMemcpy(memory.data(), of.data(),
                            memory.size() * sizeof(number),
                            cudaMemcpyDeviceToHost));
      return elements(memory, of);
    };
    return of.dtype == int32_t(ScalarType::Float32) ? read(0.0f) : read(Bf16());
  }
};
using Types = testing::Types<float, Bf16>;
TYPED_TEST_SUITE(TorchAttention, Types);

// Heads that share keys or not, and rows of tokens or of heads.
TYPED_TEST(TorchAttention, IsThatOfTheCpu) {
  using T = TypeParam;
  for (const int64_t kvHeads : {4, 2})
    for (const bool tokenMajor : {true, false}) {
      const Extents wide = {2, 4, 9, 8}, shared = {2, kvHeads, 9, 8};
      const Held<T> q(1, wide, stridesOf(wide, tokenMajor)),
          k(2, shared, stridesOf(shared, tokenMajor)),
          v(3, shared, stridesOf(shared, false)),
          outGrad(4, wide, stridesOf(wide, !tokenMajor));
      // The same on the host.
      OnHost<T> hostQ(q), hostK(k), hostV(v), hostGrad(outGrad);
      Allocator onHost;
      Allocator::here() = &onHost;
      Tensor *hostOut = nullptr, *hostSums = nullptr, *grads[3] = {};
      ASSERT_EQ(aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu(
                    &hostQ.tensor, &hostK.tensor, &hostV.tensor, 0, 1, nullptr,
                    nullptr, &hostOut, &hostSums),
                0);
      ASSERT_EQ(
          aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu_backward(
              &hostGrad.tensor, &hostQ.tensor, &hostK.tensor, &hostV.tensor,
              hostOut, hostSums, 0, 1, nullptr, nullptr, &grads[0], &grads[1],
              &grads[2]),
          0);
      Allocator::here() = nullptr;
      auto expected = [](const Tensor &of) {
        return elements(
            std::vector<float>(of.floats(), of.floats() + of.count()), of);
      };

      const auto forward = this->results(2, [&](Tensor **made) {
        Tensor onQ = q.tensor(), onK = k.tensor(), onV = v.tensor();
        return aoti_torch_cuda__scaled_dot_product_flash_attention_for_cpu(
            &onQ, &onK, &onV, 0, 1, nullptr, nullptr, &made[0], &made[1]);
      });
      expectClose(forward[0], expected(*hostOut), tolerance<T>(), "output");
      expectClose(forward[1], expected(*hostSums), tolerance<T>(), "sums");

      Held<T> out(5, wide, stridesOf(wide, tokenMajor));
      Held<float> sums(6, {2, 4, 9}, {36, 1, 4});
      auto write = [](auto &held, const std::vector<double> &values,
                      const Tensor &layout) {
        using Element = typename std::decay_t<decltype(held.host)>::value_type;
        for (int64_t i = 0; i < layout.count(); ++i) {
          int64_t place = 0, rest = i;
          for (int32_t d = layout.numDims - 1; d >= 0; --d) {
            place += rest % layout.sizes[d] * layout.strides[d];
            rest /= layout.sizes[d];
          }
          held.host[place] = rounded<Element>(values[i]);
        }
        held.device.write(held.host);
      };
      write(out, forward[0], out.tensor());
      write(sums, forward[1], sums.tensor());
      const auto backward = this->results(3, [&](Tensor **made) {
        Tensor onGrad = outGrad.tensor(), onQ = q.tensor(), onK = k.tensor(),
               onV = v.tensor(), onOut = out.tensor(), onSums = sums.tensor();
        return aoti_torch_cuda__scaled_dot_product_flash_attention_for_cpu_backward(
            &onGrad, &onQ, &onK, &onV, &onOut, &onSums, 0, 1, nullptr, nullptr,
            &made[0], &made[1], &made[2]);
      });
      const char *const names[] = {"of q", "of k", "of v"};
      for (int r = 0; r < 3; ++r)
        expectClose(backward[r], expected(*grads[r]), 3 * tolerance<T>(),
                    std::string("gradient ") + names[r]);
    }
}

// q, k and v that are views of the same rows are read there.
TYPED_TEST(TorchAttention, ReadsRowsWhereTheyAre) {
  using T = TypeParam;
  const int64_t row = 4 * 8 + 2 * 2 * 8 + 8;
  const Held<T> rows(1, {2, 9, row}, {9 * row, row, 1});
  auto part = [&](Tensor of, int64_t first, int64_t heads) {
    of.numDims = 4;
    of.offset = first;
    const int64_t sizes[] = {2, heads, 9, 8};
    const int64_t strides[] = {9 * row, 8, row, 1};
    std::copy_n(sizes, 4, of.sizes);
    std::copy_n(strides, 4, of.strides);
    return of;
  };
  OnHost<T> host(rows);
  Tensor hostQ = part(host.tensor, 0, 4), hostK = part(host.tensor, 32, 2),
         hostV = part(host.tensor, 48, 2), *out = nullptr, *sums = nullptr;
  Allocator onHost;
  Allocator::here() = &onHost;
  ASSERT_EQ(aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu(
                &hostQ, &hostK, &hostV, 0, 1, nullptr, nullptr, &out, &sums),
            0);
  Allocator::here() = nullptr;
  const auto found = this->results(2, [&](Tensor **made) {
    Tensor q = part(rows.tensor(), 0, 4), k = part(rows.tensor(), 32, 2),
           v = part(rows.tensor(), 48, 2);
    return aoti_torch_cuda__scaled_dot_product_flash_attention_for_cpu(
        &q, &k, &v, 0, 1, nullptr, nullptr, &made[0], &made[1]);
  });
  expectClose(
      found[0],
      elements(std::vector<float>(out->floats(), out->floats() + out->count()),
               *out),
      tolerance<T>(), "output");
  EXPECT_EQ(this->numRecorded, 3) << "both results and the rows' sums";
}

using TorchAttentions = TorchOperations;
TEST_F(TorchAttentions, AreRefusedInWords) {
  const Extents sizes = {1, 2, 4, 8}, fewer = {1, 2, 3, 8};
  const Held<float> q(1, sizes, stridesOf(sizes, true)),
      k(2, fewer, stridesOf(fewer, true));
  auto faultOf = [&](const Held<float> &keys, double dropout, int32_t isCausal,
                     double *scale) {
    EXPECT_EQ(
        run([&] {
          Tensor onQ = q.tensor(), onK = keys.tensor(), *made[2];
          return aoti_torch_cuda__scaled_dot_product_flash_attention_for_cpu(
              &onQ, &onK, &onK, dropout, isCausal, nullptr, scale, &made[0],
              &made[1]);
        }),
        1);
    return lastFault();
  };
  double scale = 1;
  EXPECT_EQ(faultOf(q, 0, 0, nullptr),
            "attention on a GPU is causal and has no mask");
  EXPECT_EQ(faultOf(q, 0.1, 1, nullptr), "attention on a GPU has no dropout");
  EXPECT_EQ(faultOf(k, 0, 1, nullptr),
            "attention on a GPU takes as many queries as keys");
  EXPECT_EQ(faultOf(q, 0, 1, &scale),
            "attention on a GPU divides scores by the square root of a head's "
            "width");
}

} // namespace
} // namespace rondo::torch
