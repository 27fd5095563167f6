//===- TorchConvolutionTest.cpp - Convolutions of graphs ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TorchTensors.h"

#include "gtest/gtest.h"

#include <array>
#include <cmath>

namespace rondo::torch {

extern "C" {
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
}

namespace {

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
  const Recording recording;
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
}

TEST(TorchConvolution, ConvolvesImages) {
  checkConvolution({{2, 3, 5, 7}, {4, 3, 3, 2}});
  checkConvolution({{2, 3, 7, 7}, {4, 3, 3, 2}, {2, 1}, {1, 2}, {2, 3}}, false);
  // As patches, whose last pixels are left out.
  checkConvolution({{1, 2, 9, 8}, {4, 2, 4, 4}, {4, 4}});
  // More padding than the kernel reaches over.
  checkConvolution({{1, 1, 2, 2}, {1, 1, 2, 2}, {1, 3}, {3, 4}});
}

TEST(TorchConvolution, ConvolvesGroups) {
  checkConvolution({{2, 4, 5, 5}, {6, 2, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 2});
  checkConvolution({{2, 4, 5, 5}, {4, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 4});
}

TEST(TorchConvolution, ConvolvesSequences) {
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

TEST(TorchConvolution, ConvolvesMoreThanABlock) {
  checkConvolution({{1, 8, 50, 50}, {2, 8, 3, 3}, {1, 1}, {1, 1}});
}

TEST(TorchConvolution, KeepsChannelsLast) {
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

TEST(TorchConvolution, RefusesConvolutionsThatItDoesNotHave) {
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
} // namespace rondo::torch
