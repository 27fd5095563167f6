// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products for which cuBLASLt has no algorithm, as simulated by the emulation.

#include "DeviceTest.h"

#include "test/cuda_emulation/emulation.h"

namespace rondo::runtime::cuda {
namespace {

/// The next request for an algorithm finds none.
void refuseOne() {
  emulation::failCall("cublasLtMatmulAlgoGetHeuristic", 0, 15);
}

template <typename T> class MissingAlgorithm : public DeviceTest {};
using Types = testing::Types<float, Bf16>;
TYPED_TEST_SUITE(MissingAlgorithm, Types);

// With a bias, the product is made without it, then added to; otherwise the
// error names the shape.
TYPED_TEST(MissingAlgorithm, OnlyWithBiasIsThereAnotherWay) {
  using T = TypeParam;
  const int64_t rows = 5, columns = 300, inner = 2, stride = 304;
  auto a = randoms<T>(1, rows * inner), b = randoms<T>(2, inner * columns);
  auto bias = randoms<T>(3, columns), c = randoms<T>(4, rows * stride);
  DeviceArray<T> onA(a), onB(b), onBias(bias), onD(c);
  const Workspace scratch;
  Product product{};
  product.rows = rows;
  product.columns = columns;
  product.inner = inner;
  product.type = product.resultType = dtypeOf<T>();
  product.a = {onA.get(), inner};
  product.b = {onB.get(), columns};
  product.c = product.d = onD.get();
  product.stride = stride;
  product.epilogue = Epilogue::Bias;
  product.bias = onBias.get();
  std::vector<double> expected = doubles(c);
  // The setups of both steps are kept.
  for (int time = 0; time < 2; ++time) {
    if (time == 0)
      refuseOne();
    this->gemms->multiply(this->stream, product, scratch.get());
    this->wait();
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < columns; ++j) {
        double sum = number(bias[j]);
        for (int64_t k = 0; k < inner; ++k)
          sum += number(a[r * inner + k]) * number(b[k * columns + j]);
        expected[r * stride + j] += sum;
      }
    expectClose(onD.read(), expected, tolerance<T>(), "in two steps");
  }

  product.epilogue = Epilogue::None;
  product.bias = nullptr;
  product.rows = 4;
  refuseOne();
  try {
    this->gemms->multiply(this->stream, product, scratch.get());
    FAIL() << "no error";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "cuBLASLt has no algorithm for a product of 4 x "
                               "300 x 2 in a workspace of 65536 bytes");
  }
}

} // namespace
} // namespace rondo::runtime::cuda
