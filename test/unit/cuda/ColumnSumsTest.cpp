// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of columns against double precision on random input. Buffers start full
// of NaNs and end with a guard.

#include "DeviceTest.h"

#include "runtime/bodies/cuda/reduce.h"

namespace rondo::runtime::cuda {
namespace {

template <typename T> class ColumnSums : public DeviceTest {};
using Types = testing::Types<float, Bf16>;
TYPED_TEST_SUITE(ColumnSums, Types);

struct Extent {
  int64_t rows, columns;
};

// One row, rows without packs, full and other chunks, and columns inside of
// wider rows.
TYPED_TEST(ColumnSums, Add) {
  using T = TypeParam;
  for (auto [rows, columns] : {Extent{1, 1},
                               {5, 3},
                               {64, 36},
                               {65, 520},
                               {128, 8},
                               {700, 132},
                               {9000, 4}})
    for (int64_t more : {0, 3, 8}) {
      const int64_t stride = columns + more;
      auto values = randoms<T>(1, rows * stride);
      auto start = randoms<float>(2, columns);
      std::vector<double> sums = doubles(start), alone(columns);
      for (int64_t i = 0; i < rows * columns; ++i)
        alone[i % columns] +=
            number(values[i / columns * stride + more + i % columns]);
      for (int64_t c = 0; c < columns; ++c)
        sums[c] += alone[c];
      DeviceArray<T> onValues(values);
      DeviceArray<float> onSums(start), set(columns), vector(start);
      DeviceArray<float> partials(columnSumChunks(rows) * columns);
      addColumnSums(this->stream, rows, columns, stride, onValues.get() + more,
                    partials.get(), onSums.get());
      // Two of different sizes in one launch.
      setPartials(this->stream, {{1, columns, onSums.get(), vector.get()},
                                 {columnSumChunks(rows), columns,
                                  partials.get(), set.get()}});
      this->wait();
      expectClose(onSums.read(), sums, 1e-5, "sums");
      expectClose(set.read(), alone, 1e-5, "sums alone");
      EXPECT_TRUE(same(vector.read(), onSums.read()));
    }
}

} // namespace
} // namespace rondo::runtime::cuda
