// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of columns against double precision on random input. Buffers start full
// of NaNs and end with a guard.

#include "DeviceTest.h"

#include "runtime/bodies/cuda/kernels.h"

namespace rondo::runtime::cuda {
namespace {

template <typename T> class ColumnSums : public DeviceTest {};
using Types = testing::Types<float, Bf16>;
TYPED_TEST_SUITE(ColumnSums, Types);

struct Extent {
  int64_t rows, columns;
};

// One row, rows without packs, full and other chunks, columns inside of wider
// rows; one launch for these and the memory before them.
TYPED_TEST(ColumnSums, Add) {
  using T = TypeParam;
  for (auto [rows, columns] : {Extent{1, 1},
                               {5, 3},
                               {64, 36},
                               {65, 520},
                               {128, 8},
                               {700, 132},
                               {9000, 4}})
    for (int64_t more : {0, 3, 8, 264}) {
      const int64_t stride = columns + more, chunks = columnSumChunks(rows);
      auto values = randoms<T>(1, rows * stride);
      auto start = randoms<float>(2, columns);
      std::vector<double> sums = doubles(start), alone(columns), front(more);
      for (int64_t i = 0; i < rows * stride; ++i) {
        const int64_t column = i % stride;
        (column < more ? front[column] : alone[column - more]) +=
            number(values[i]);
      }
      for (int64_t c = 0; c < columns; ++c)
        sums[c] += alone[c];
      DeviceArray<T> onValues(values);
      DeviceArray<float> onSums(start), set(columns), vector(start);
      DeviceArray<float> onFront(more);
      DeviceArray<float> partials(chunks * columns), ofFront(chunks * more);
      columnSums<T>(this->stream, rows,
                    {{more, stride, onValues.get(), ofFront.get()},
                     {columns, stride, onValues.get() + more, partials.get()}});
      addPartials(this->stream,
                  {{chunks, columns, partials.get(), onSums.get()}});
      // Several of different sizes in one launch.
      setPartials(this->stream, {{1, columns, onSums.get(), vector.get()},
                                 {chunks, more, ofFront.get(), onFront.get()},
                                 {chunks, columns, partials.get(), set.get()}});
      this->wait();
      expectClose(onSums.read(), sums, 1e-5, "sums");
      expectClose(set.read(), alone, 1e-5, "sums alone");
      expectClose(onFront.read(), front, 1e-5, "sums in front");
      EXPECT_TRUE(same(vector.read(), onSums.read()));
    }
}

} // namespace
} // namespace rondo::runtime::cuda
