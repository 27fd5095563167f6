//===- DomainsTest.cpp - Devices that fast links connect ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/groups/Domains.h"

#include <gtest/gtest.h>

using namespace rondo::groups;

namespace {

TEST(Domains, FollowTheFastLinks) {
  const Domains domains = domainsOf(12, [](int32_t from, int32_t to) {
    return from / 4 == to / 4 ? 450 : 50;
  });
  EXPECT_EQ(domains.fault, "");
  EXPECT_EQ(domains.size, 4);
  EXPECT_EQ(domains.count, 3);
  EXPECT_EQ(domains.insideBytesPerUs, 450);
  EXPECT_EQ(domains.acrossBytesPerUs, 50);
}

// In a ring of fast links all devices are in one domain, whose slowest pair
// counts.
TEST(Domains, AreConnectedByChains) {
  const Domains domains = domainsOf(4, [](int32_t from, int32_t to) {
    return (from + 1) % 4 == to || (to + 1) % 4 == from ? 400 : 30;
  });
  EXPECT_EQ(domains.size, 4);
  EXPECT_EQ(domains.count, 1);
  EXPECT_EQ(domains.insideBytesPerUs, 30);
  EXPECT_EQ(domains.acrossBytesPerUs, 0);
}

// A link that is fast in one direction alone connects nothing.
TEST(Domains, NeedBothDirections) {
  const Domains domains =
      domainsOf(2, [](int32_t from, int32_t) { return from == 0 ? 400 : 100; });
  EXPECT_EQ(domains.size, 1);
  EXPECT_EQ(domains.count, 2);
  EXPECT_EQ(domains.acrossBytesPerUs, 100);
}

TEST(Domains, MustBeEqualAndInOrder) {
  const Domains unequal = domainsOf(5, [](int32_t from, int32_t to) {
    return from / 3 == to / 3 ? 400 : 50;
  });
  EXPECT_NE(unequal.fault, "");
  const Domains mixed = domainsOf(4, [](int32_t from, int32_t to) {
    return from % 2 == to % 2 ? 400 : 50;
  });
  EXPECT_NE(mixed.fault.find("device 1"), std::string::npos) << mixed.fault;
}

TEST(Domains, OfOneDevice) {
  const Domains domains = domainsOf(1, [](int32_t, int32_t) { return 0; });
  EXPECT_EQ(domains.size, 1);
  EXPECT_EQ(domains.count, 1);
}

} // namespace
