//===- HashIndexTest.cpp - Numbers by hash --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/model/HashIndex.h"

#include "gtest/gtest.h"

using namespace rondo;

namespace {

/// Entries that are 64-bit numbers.
struct Entries {
  uint32_t numberOf(uint64_t entry, uint64_t hash) {
    const auto next = static_cast<uint32_t>(entries.size());
    const uint32_t number = index.findOrAdd(
        hash, next, [&](uint32_t known) { return entries[known] == entry; });
    if (number == next)
      entries.push_back(entry);
    return number;
  }

  std::vector<uint64_t> entries;
  HashIndex index;
};

} // namespace

TEST(HashIndex, FindsEntriesAfterItGrows) {
  Entries all;
  constexpr uint64_t count = 5000, golden = 0x9e3779b97f4a7c15u;
  for (uint64_t entry = 0; entry < count; ++entry)
    ASSERT_EQ(all.numberOf(entry, entry * golden), entry);
  for (uint64_t entry = 0; entry < count; ++entry)
    ASSERT_EQ(all.numberOf(entry, entry * golden), entry);
}

TEST(HashIndex, TellsEntriesOfOneHashApart) {
  Entries all;
  for (uint64_t entry = 0; entry < 300; ++entry)
    ASSERT_EQ(all.numberOf(entry, ~uint64_t(0)), entry);
  for (uint64_t entry = 0; entry < 300; ++entry)
    ASSERT_EQ(all.numberOf(entry, ~uint64_t(0)), entry);
}

TEST(HashIndex, IsEmptyOnceCleared) {
  Entries all;
  EXPECT_EQ(all.numberOf(7, 1), 0u);
  all.entries.clear();
  all.index.clear();
  EXPECT_EQ(all.numberOf(8, 1), 0u);
  EXPECT_EQ(all.numberOf(7, 1), 1u);
}
