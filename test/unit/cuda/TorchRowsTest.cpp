// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums into rows of compiled graphs on a GPU, such as the gradients of an
// embedding.

#include "TorchOperations.h"

extern "C" int32_t aoti_torch_index_put_out(rondo::torch::Tensor *,
                                            rondo::torch::Tensor *,
                                            rondo::torch::Tensor *const *,
                                            uint32_t, rondo::torch::Tensor *,
                                            bool);

namespace rondo::torch {
namespace {

template <typename T> class TorchRows : public TorchOperations {};
using Types = testing::Types<float, Bf16>;
TYPED_TEST_SUITE(TorchRows, Types);

// Both types of indices, in place and not, with gaps between rows and without.
TYPED_TEST(TorchRows, AddsRowsWhereIndicesSay) {
  using T = TypeParam;
  const std::vector<int64_t> wide = {3, 0, 3, 6, 3, 0};
  const std::vector<int32_t> narrow(wide.begin(), wide.end());
  const DeviceArray<int64_t> onWide(wide);
  const DeviceArray<int32_t> onNarrow(narrow);
  for (const bool isWide : {true, false})
    for (const bool inPlace : {true, false})
      for (const int64_t columns : {8, 5})
        for (const int64_t apart : {columns, columns + 3}) {
          const Held<float> before(1, {7, columns}, {columns, 1}),
              after(2, {7, columns}, {columns, 1});
          const Held<T> values(3, {2, 3, columns}, {3 * apart, apart, 1});
          const Held<float> &out = inPlace ? before : after;
          ASSERT_EQ(this->run([&] {
            Tensor index{}, to = out.tensor(), from = before.tensor(),
                            rows = values.tensor();
            index.storage = isWide ? reinterpret_cast<char *>(onWide.get())
                                   : reinterpret_cast<char *>(onNarrow.get());
            index.dtype =
                int32_t(isWide ? ScalarType::Int64 : ScalarType::Int32);
            index.numDims = 2;
            index.sizes[0] = 2;
            index.sizes[1] = index.strides[0] = 3;
            index.strides[1] = 1;
            Tensor *const indices[] = {&index};
            return aoti_torch_index_put_out(&to, &from, indices, 1, &rows,
                                            true);
          }),
                    0)
              << lastFault();
          std::vector<double> expected = doubles(before.host);
          for (int64_t i = 0; i < 6; ++i)
            for (int64_t c = 0; c < columns; ++c)
              expected[wide[i] * columns + c] +=
                  number(values.host[i / 3 * 3 * apart + i % 3 * apart + c]);
          expectClose(out.device.read(), expected, 1e-6, "sums");
        }
}

using TorchRowsFaults = TorchOperations;
TEST_F(TorchRowsFaults, AreInWords) {
  const Held<float> sums(1, {7, 8}, {8, 1}), values(2, {6, 8}, {8, 1});
  auto faultOf = [&](bool accumulates, int32_t indexType) {
    EXPECT_EQ(run([&] {
                Tensor index = values.tensor(), to = sums.tensor(),
                       rows = values.tensor();
                index.dtype = indexType;
                index.numDims = 1;
                Tensor *const indices[] = {&index};
                return aoti_torch_index_put_out(&to, &to, indices, 1, &rows,
                                                accumulates);
              }),
              1);
    return lastFault();
  };
  EXPECT_EQ(faultOf(false, int32_t(ScalarType::Int64)),
            "index_put on a GPU adds to rows of the first dimension");
  EXPECT_EQ(faultOf(true, int32_t(ScalarType::Float32)),
            "index_put on a GPU takes indices of int32 or int64");
}

} // namespace
} // namespace rondo::torch
