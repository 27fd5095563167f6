// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products whose algorithm is measured: measuring changes no operand, and the
// choices of a text give the same bits again.

#include "DeviceTest.h"

#include "runtime/bodies/cuda/gemm_choices.h"

namespace rondo::runtime::cuda {
namespace {

template <typename T> class TunedProduct : public DeviceTest {};
using Types = testing::Types<float, Bf16>;
TYPED_TEST_SUITE(TunedProduct, Types);

TYPED_TEST(TunedProduct, ComputesTheSameEachTime) {
  using T = TypeParam;
  const int64_t rows = 96, columns = 160, inner = 200, stride = 168;
  const auto a = randoms<T>(1, rows * inner),
             b = randoms<T>(2, inner * columns);
  const auto c = randoms<T>(4, rows * stride), bias = randoms<T>(3, columns);
  DeviceArray<T> onA(a), onB(b), onC(c), onBias(bias), onD(c);
  const Workspace scratch;
  // Nothing added, another matrix, and the result itself, which accumulates.
  const T *const addends[] = {nullptr, onC.get(), onD.get()};
  std::string text;
  std::vector<std::vector<T>> bits;
  for (int time = 0; time < 2; ++time) {
    auto choices = std::make_shared<GemmChoices>(
        text, GemmChoices::Options{"the choices", time == 0, nullptr});
    Gemms tuned(Gemms::GeluFusion::ByDevice, choices);
    for (size_t which = 0; which < 3; ++which)
      for (Epilogue epilogue : {Epilogue::None, Epilogue::Bias}) {
        Product product{};
        product.rows = rows;
        product.columns = columns;
        product.inner = inner;
        product.type = product.resultType = dtypeOf<T>();
        product.a = {onA.get(), inner};
        product.b = {onB.get(), columns};
        product.c = addends[which];
        product.d = onD.get();
        product.stride = stride;
        product.epilogue = epilogue;
        product.bias = epilogue == Epilogue::Bias ? onBias.get() : nullptr;
        onD.write(c);
        // The first one is measured; both must be the same.
        for (int again = 0; again < 2; ++again) {
          onD.write(c);
          tuned.multiply(this->stream, product, scratch.get());
          this->wait();
          const std::vector<T> result = onD.read();
          std::vector<double> expected = doubles(c);
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t j = 0; j < columns; ++j) {
              double sum = product.c ? number(c[r * stride + j]) : 0;
              for (int64_t k = 0; k < inner; ++k)
                sum += number(a[r * inner + k]) * number(b[k * columns + j]);
              if (product.bias)
                sum += number(bias[j]);
              expected[r * stride + j] = sum;
            }
          expectClose(result, expected, tolerance<T>(), "tuned");
          bits.push_back(result);
        }
      }
    EXPECT_TRUE(same(onA.read(), a));
    EXPECT_TRUE(same(onB.read(), b));
    EXPECT_TRUE(same(onC.read(), c));
    if (time == 0)
      text = choices->text();
    EXPECT_EQ(choices->text(), text);
    EXPECT_FALSE(text.empty());
  }
  for (size_t i = 0; i < bits.size() / 2; ++i) {
    EXPECT_TRUE(same(bits[i], bits[i / 2 * 2])) << i;
    EXPECT_TRUE(same(bits[i], bits[bits.size() / 2 + i])) << i;
  }
}

// GELU in the product also writes its input, which measuring must not.
TEST_F(DeviceTest, TunedGeluWritesItsInputOnce) {
  const int64_t rows = 64, columns = 96, inner = 40;
  DeviceArray<Bf16> a(randoms<Bf16>(1, rows * inner)),
      b(randoms<Bf16>(2, inner * columns)), bias(randoms<Bf16>(3, columns)),
      aux(rows * columns), d(rows * columns);
  const Workspace scratch;
  Product product{};
  product.rows = rows;
  product.columns = product.stride = columns;
  product.inner = inner;
  product.type = product.resultType = DType::Bf16;
  product.a = {a.get(), inner};
  product.b = {b.get(), columns};
  product.d = d.get();
  product.epilogue = Epilogue::BiasGelu;
  product.bias = bias.get();
  product.aux = aux.get();
  Gemms usual(Gemms::GeluFusion::Always);
  if (!usual.tryGelu(stream, product, scratch.get()))
    GTEST_SKIP() << "the library has no such product";
  wait();
  const auto expected = doubles(d.read()), expectedAux = doubles(aux.read());
  Gemms tuned(Gemms::GeluFusion::Always,
              std::make_shared<GemmChoices>("", GemmChoices::Options{}));
  d.poison();
  aux.poison();
  ASSERT_TRUE(tuned.tryGelu(stream, product, scratch.get()));
  wait();
  expectClose(d.read(), expected, tolerance<Bf16>(), "result");
  expectClose(aux.read(), expectedAux, tolerance<Bf16>(), "input of GELU");
}

} // namespace
} // namespace rondo::runtime::cuda
