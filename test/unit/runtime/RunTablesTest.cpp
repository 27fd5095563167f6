// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host memory through which enqueued runs get their values.

#include "runtime/execution/run_tables.h"

#include <cstring>
#include <gtest/gtest.h>
#include <string>

namespace rondo::runtime::test {
namespace {

RunTables::Sizes sizesOf(int64_t iterations, int64_t headers,
                         int64_t dataBytes) {
  RunTables::Sizes sizes;
  sizes.iterations = iterations;
  sizes.headers = headers;
  sizes.microbatches = 2 * iterations;
  sizes.dataBytes = dataBytes;
  return sizes;
}

TEST(RunTables, MemoryIsAnotherOneOnlyIfItGrows) {
  const std::unique_ptr<Device> device = makeCpuDevice();
  RunTables tables(*device);
  EXPECT_TRUE(tables.reserve(sizesOf(4, 1, 64)));
  EXPECT_FALSE(tables.reserve(sizesOf(4, 1, 64)));
  EXPECT_FALSE(tables.reserve(sizesOf(2, 1, 64)));
  EXPECT_TRUE(tables.reserve(sizesOf(5, 1, 64)));
  EXPECT_FALSE(tables.reserve(sizesOf(4, 1, 64)));
  EXPECT_TRUE(tables.reserve(sizesOf(4, 2, 64)));
  EXPECT_TRUE(tables.reserve(sizesOf(4, 2, 0)));
}

TEST(RunTables, ValuesGoBothWays) {
  const std::unique_ptr<Device> device = makeCpuDevice();
  RunTables tables(*device);
  tables.reserve(sizesOf(3, 2, 64));
  for (int64_t t = 0; t < 3; ++t) {
    tables.before(t) = 10 + t;
    for (int64_t h = 0; h < 2; ++h)
      tables.control(t, h) = {100 * h + t, 0.5f * static_cast<float>(t), 1};
  }
  for (int64_t m = 0; m < 6; ++m)
    std::memset(tables.data(m), static_cast<int>('a' + m), 64);

  ControlHeader header{};
  header.step.clipFactor = 0.25f;
  header.norm = 3;
  tables.writeControl(&header, 2, 1);
  EXPECT_EQ(header.step.step, 102);
  EXPECT_EQ(header.step.learningRate, 1.0f);
  // The norm's.
  EXPECT_EQ(header.step.clipFactor, 0.25f);
  EXPECT_EQ(header.norm, 3);

  std::string slot(64, ' ');
  tables.writeData(slot.data(), 4);
  EXPECT_EQ(slot, std::string(64, 'e'));
  for (int64_t m = 0; m < 6; ++m) {
    const float loss = 2.5f + static_cast<float>(m);
    tables.readLoss(&loss, m);
  }
  EXPECT_EQ(tables.loss(5), 7.5f);

  // A step is finite if all of its headers are.
  for (int64_t t = 0; t < 3; ++t)
    for (int64_t h = 0; h < 2; ++h) {
      header.isFinite = t == 0 || h != t - 1;
      tables.readHeader(&header, t, h);
    }
  EXPECT_TRUE(tables.isFinite(0));
  EXPECT_FALSE(tables.isFinite(1));
  EXPECT_FALSE(tables.isFinite(2));
  tables.readEnd(0);
  tables.readEnd(1);
  EXPECT_GT(tables.endTime(0), 0);
  EXPECT_GE(tables.endTime(1), tables.endTime(0));
  EXPECT_EQ(tables.before(1), 11);
}

} // namespace
} // namespace rondo::runtime::test
