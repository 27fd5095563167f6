// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradient norm and optimizers on CUDA against the CPU's.

#include "DeviceTest.h"

#include "runtime/optimizer/cuda.h"

#include <array>

namespace rondo::runtime::cuda {
namespace {

class Optimizer : public DeviceTest {};

// Sizes around a pack, and more tensors than one launch takes.
std::vector<int64_t> someCounts() {
  std::vector<int64_t> counts = {0, 1, 3, 4, 5, 1023, 1025, 2500};
  counts.resize(35, 7);
  return counts;
}

void checkSums(const Stream &stream, const std::vector<int64_t> &counts) {
  std::vector<std::unique_ptr<DeviceArray<float>>> values;
  std::vector<SquaredTensor> tensors;
  std::vector<double> expected;
  DeviceArray<double> sums(counts.size());
  DeviceArray<char> scratch(sumSquaresScratchBytes);
  for (size_t t = 0; t < counts.size(); ++t) {
    auto random = randoms<float>(t, counts[t]);
    values.push_back(std::make_unique<DeviceArray<float>>(random));
    tensors.push_back({values.back()->get(), counts[t], sums.get() + t});
    expected.push_back(0);
    for (float value : random)
      expected.back() += double(value) * double(value);
  }
  std::vector<double> first;
  for (int i = 0; i < 2; ++i) {
    sums.poison();
    scratch.poison();
    sumSquares(stream, tensors, scratch.get());
    RONDO_CUDA(cudaStreamSynchronize(stream.handle));
    if (i == 0)
      first = sums.read();
  }
  EXPECT_TRUE(same(first, sums.read()));
  for (size_t t = 0; t < counts.size(); ++t)
    EXPECT_NEAR(first[t], expected[t], 1e-12 * expected[t]) << counts[t];
}

TEST_F(Optimizer, SumsOfSquares) {
  checkSums(stream, someCounts());
  // More than one pass of all blocks, so that some threads, or all, have
  // several packs in flight.
  checkSums(stream, {270001});
  checkSums(stream, {2000003, 2500002});
}

TEST_F(Optimizer, CopiesGetTheSum) {
  for (int64_t count : {1, 6, 4097}) {
    auto a = randoms<float>(1, count), b = randoms<float>(2, count);
    DeviceArray<float> onA(a), onB(b);
    addCopies(stream, onA.get(), onB.get(), count);
    wait();
    for (int64_t i = 0; i < count; ++i)
      a[i] += b[i];
    EXPECT_EQ(onA.read(), a);
    EXPECT_EQ(onB.read(), a);
  }
}

TEST_F(Optimizer, NormIsClipped) {
  const double infinity = std::numeric_limits<double>::infinity();
  struct Case {
    double sum, maxNorm;
  };
  for (auto [sum, maxNorm] : {Case{4, 1},
                              {4, 2},
                              {4, 3},
                              {4, 0},
                              {0, 1},
                              {infinity, 1},
                              {std::nan(""), 1},
                              {std::nan(""), 0}}) {
    std::vector<ControlHeader> headers(2);
    headers[0].step.step = 7;
    headers[0].norm = sum;
    DeviceArray<ControlHeader> onHeaders(headers);
    ControlHeader *first = onHeaders.get();
    // The sum is in one of the headers.
    finishNorm(stream, &first->norm, maxNorm, {first, first + 1});
    wait();
    for (const ControlHeader &header : onHeaders.read()) {
      const double norm = std::sqrt(sum);
      EXPECT_EQ(header.isFinite, std::isfinite(norm));
      EXPECT_EQ(header.step.clipFactor,
                std::isfinite(norm) ? clipFactor(norm, maxNorm) : 0);
      if (!std::isnan(norm)) {
        EXPECT_EQ(header.norm, norm);
      }
    }
    EXPECT_EQ(onHeaders.read()[0].step.step, 7);
  }
}

// Another norm takes the place of their own, unless either is not finite. More
// headers than one launch takes.
TEST_F(Optimizer, ClipsByAnotherNorm) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (double sum : {4.0, 0.25, infinity, std::nan("")}) {
    std::vector<ControlHeader> headers(40);
    for (size_t h = 0; h < headers.size(); ++h) {
      headers[h].step = {7, 0.5f, 0.75f};
      headers[h].norm = 3;
      headers[h].isFinite = h % 3 != 0;
    }
    DeviceArray<ControlHeader> onHeaders(headers);
    DeviceArray<double> onSum(std::vector<double>{sum});
    std::vector<ControlHeader *> pointers;
    for (size_t h = 0; h < headers.size(); ++h)
      pointers.push_back(onHeaders.get() + h);
    clipBy(stream, onSum.get(), /*maxNorm=*/1, pointers);
    wait();
    const std::vector<ControlHeader> after = onHeaders.read();
    for (size_t h = 0; h < headers.size(); ++h) {
      const bool isClipped = headers[h].isFinite && std::isfinite(sum);
      EXPECT_EQ(after[h].step.clipFactor,
                isClipped ? clipFactor(std::sqrt(sum), 1) : 0.75f)
          << h;
      EXPECT_EQ(after[h].norm, 3);
      EXPECT_EQ(after[h].step.step, 7);
    }
  }
}

TEST_F(Optimizer, AdamW) {
  const AdamWConfig config;
  ControlHeader header{};
  header.step = {3, 1e-2f, 0.5f};
  header.isFinite = 1;
  std::vector<std::unique_ptr<DeviceArray<float>>> arrays;
  std::vector<std::unique_ptr<DeviceArray<Bf16>>> copies;
  std::vector<OptimizedTensor> tensors;
  std::vector<std::array<std::vector<float>, 4>> expected;
  for (int64_t count : someCounts()) {
    std::array<std::vector<float>, 4> state;
    float *pointers[4];
    for (int i = 0; i < 4; ++i) {
      state[i] = randoms<float>(i + 10 * count, count);
      if (i == 3) // Second moments are squares.
        for (float &value : state[i])
          value *= value;
      arrays.push_back(std::make_unique<DeviceArray<float>>(state[i]));
      pointers[i] = arrays.back()->get();
    }
    copies.push_back(std::make_unique<DeviceArray<Bf16>>(count));
    const bool decay = count % 2, copied = count != 5;
    tensors.push_back({pointers[0], pointers[1], pointers[2], pointers[3],
                       copied ? copies.back()->get() : nullptr, count, decay});
    runtime::adamw(config, &header.step, decay, count, state[0].data(),
                   state[1].data(), state[2].data(), state[3].data());
    expected.push_back(state);
  }
  DeviceArray<ControlHeader> onHeader(std::vector<ControlHeader>{header});
  adamw(stream, config, onHeader.get(), tensors);
  wait();
  for (size_t t = 0; t < tensors.size(); ++t) {
    const std::string what = std::to_string(tensors[t].count) + " elements";
    for (int i : {0, 2, 3})
      expectClose(arrays[4 * t + i]->read(), doubles(expected[t][i]), 1e-6,
                  what);
    if (tensors[t].copy) {
      auto weights = arrays[4 * t]->read();
      std::vector<Bf16> rounding;
      for (float weight : weights)
        rounding.push_back(__float2bfloat16(weight));
      EXPECT_TRUE(same(copies[t]->read(), rounding)) << what;
    }
  }

  // Nothing changes if a gradient was not finite.
  auto before = arrays[4 * 7]->read();
  header.isFinite = 0;
  onHeader.write({header});
  adamw(stream, config, onHeader.get(), tensors);
  wait();
  EXPECT_TRUE(same(before, arrays[4 * 7]->read()));
}

TEST_F(Optimizer, Sgd) {
  const SgdConfig config;
  ControlHeader header{};
  header.step = {3, 1e-2f, 0.5f};
  header.isFinite = 1;
  std::vector<std::unique_ptr<DeviceArray<float>>> arrays;
  std::vector<std::unique_ptr<DeviceArray<Bf16>>> copies;
  std::vector<OptimizedTensor> tensors;
  std::vector<std::array<std::vector<float>, 3>> expected;
  for (int64_t count : someCounts()) {
    std::array<std::vector<float>, 3> state;
    float *pointers[3];
    for (int i = 0; i < 3; ++i) {
      state[i] = randoms<float>(i + 10 * count, count);
      arrays.push_back(std::make_unique<DeviceArray<float>>(state[i]));
      pointers[i] = arrays.back()->get();
    }
    copies.push_back(std::make_unique<DeviceArray<Bf16>>(count));
    const bool decay = count % 2, copied = count != 5;
    // There are no second moments to touch.
    tensors.push_back({pointers[0], pointers[1], pointers[2], nullptr,
                       copied ? copies.back()->get() : nullptr, count, decay});
    runtime::sgd(config, &header.step, decay, count, state[0].data(),
                 state[1].data(), state[2].data());
    expected.push_back(state);
  }
  DeviceArray<ControlHeader> onHeader(std::vector<ControlHeader>{header});
  sgd(stream, config, onHeader.get(), tensors);
  wait();
  for (size_t t = 0; t < tensors.size(); ++t) {
    const std::string what = std::to_string(tensors[t].count) + " elements";
    for (int i : {0, 2})
      expectClose(arrays[3 * t + i]->read(), doubles(expected[t][i]), 1e-6,
                  what);
    if (tensors[t].copy) {
      std::vector<Bf16> rounding;
      for (float weight : arrays[3 * t]->read())
        rounding.push_back(__float2bfloat16(weight));
      EXPECT_TRUE(same(copies[t]->read(), rounding)) << what;
    }
  }

  // Nothing changes if a gradient was not finite.
  auto before = arrays[3 * 7]->read();
  header.isFinite = 0;
  onHeader.write({header});
  sgd(stream, config, onHeader.get(), tensors);
  wait();
  EXPECT_TRUE(same(before, arrays[3 * 7]->read()));
}

// The mean of changes follows each step, with either optimizer; a step that is
// skipped counts as no change.
TEST_F(Optimizer, MeanOfChanges) {
  ControlHeader header{};
  header.step = {3, 1e-2f, 0.5f};
  header.isFinite = 1;
  for (OptimizerKind kind : {OptimizerKind::AdamW, OptimizerKind::Sgd})
    for (int64_t count : {0, 1, 3, 4, 1025, 2500}) {
      UpdateRule rule;
      rule.kind = kind;
      std::array<std::vector<float>, 5> state;
      std::vector<std::unique_ptr<DeviceArray<float>>> arrays;
      for (int i = 0; i < 5; ++i) {
        state[i] = randoms<float>(i + 10 * count, count);
        for (float &value : state[i])
          value = i == 3 ? value * value : value;
        arrays.push_back(std::make_unique<DeviceArray<float>>(state[i]));
      }
      const std::vector<OptimizedTensor> tensors = {
          {arrays[0]->get(), arrays[1]->get(), arrays[2]->get(),
           arrays[3]->get(), nullptr, count, /*decay=*/true, arrays[4]->get(),
           /*changeDecay=*/0.75f}};
      UpdatedTensor updated = {count,
                               /*decay=*/true,
                               state[0].data(),
                               state[1].data(),
                               state[2].data(),
                               state[3].data(),
                               state[4].data(),
                               /*changeDecay=*/0.75f};
      DeviceArray<ControlHeader> onHeader(std::vector<ControlHeader>{header});
      auto step = [&] {
        if (kind == OptimizerKind::AdamW)
          adamw(stream, rule.adamw, onHeader.get(), tensors);
        else
          sgd(stream, rule.sgd, onHeader.get(), tensors);
        wait();
      };
      step();
      runtime::update(rule, &header.step, updated);
      const std::string what = std::to_string(count) + " elements";
      for (int i : {0, 2, 4})
        expectClose(arrays[i]->read(), doubles(state[i]), 1e-5, what);

      const std::vector<float> weights = arrays[0]->read();
      ControlHeader skipped = header;
      skipped.isFinite = 0;
      onHeader.write({skipped});
      step();
      runtime::skipUpdate(updated);
      EXPECT_TRUE(same(weights, arrays[0]->read())) << what;
      expectClose(arrays[4]->read(), doubles(state[4]), 1e-5, what);
    }
}

TEST_F(Optimizer, MovesBack) {
  for (int64_t count : {0, 1, 6, 4097}) {
    const auto weights = randoms<float>(1, count),
               changes = randoms<float>(2, count);
    DeviceArray<float> onWeights(weights), onChanges(changes), moved(count);
    moved.poison();
    moveBack(stream, count, 1.5f, onWeights.get(), onChanges.get(),
             moved.get());
    wait();
    std::vector<float> expected(count);
    runtime::moveBack(count, 1.5f, weights.data(), changes.data(),
                      expected.data());
    expectClose(moved.read(), doubles(expected), 1e-6,
                std::to_string(count) + " elements");
  }
}

} // namespace
} // namespace rondo::runtime::cuda
