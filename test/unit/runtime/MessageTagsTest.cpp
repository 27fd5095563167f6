//===- MessageTagsTest.cpp - Message names as numbers and as text ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/process_transport.h"
#include "runtime/transport/transport.h"
#include "test/unit/ErrorThrownBy.h"

#include "gtest/gtest.h"

using namespace rondo::runtime;

namespace {

/// Checks that the expected numbers of edges and micro-batches are distinct,
/// and that tags fit.
void check(int32_t largest, int32_t edges, int32_t microbatches) {
  const MessageTags tags(largest);
  for (int32_t edge : {0, 1, edges / 2, edges - 1})
    for (int32_t microbatch : {0, 1, microbatches - 1}) {
      const int32_t tag = tags.tagOf({edge, microbatch, 3, 4});
      EXPECT_GE(tag, 0) << edge;
      EXPECT_LE(tag, largest) << edge;
      EXPECT_EQ(tags.nameOf(tag).edge, edge);
      EXPECT_EQ(tags.nameOf(tag).microbatch, microbatch);
      // Larger numbers wrap.
      EXPECT_EQ(tags.tagOf({edge + edges, microbatch + microbatches, 3, 4}),
                tag);
    }
}

TEST(MessageTags, FitWhatAnEndpointHas) {
  check(INT32_MAX, 16384, 131072);
  check((1 << 23) - 1, 1024, 8192);
  check((1 << 23) + 5, 1024, 8192);
  check(INT16_MAX, 128, 256);
}

const EdgeNames edges = {{Message::Activation, 0, 1},
                         {Message::Gradient, 1, 0},
                         {Message::Activation, 0, 2}};

TEST(MessageNames, AreThoseOfTasks) {
  EXPECT_EQ(nameOf({0, 3, 0, 1}, edges), "0F3");
  EXPECT_EQ(nameOf({1, 12, 1, 0}, edges), "1I12");
  // Whatever a stranger sends has a name.
  EXPECT_EQ(nameOf({3, 5, 0, 0}, edges), "micro-batch 5 of edge 3");
  EXPECT_EQ(nameOf({-1, 5, 0, 0}, edges), "micro-batch 5 of edge -1");
}

std::string mismatch(MessageName sent, MessageName posted) {
  return errorThrownBy([&] {
    checkMatch({sent, nullptr, 8}, {posted, nullptr, 8}, 4, 5, edges);
  });
}

TEST(MessageNames, MismatchesSayWhatDiffers) {
  EXPECT_EQ(mismatch({0, 3, 0, 1}, {0, 3, 0, 1}), "");
  EXPECT_EQ(mismatch({1, 3, 1, 0}, {0, 3, 0, 1}),
            "rank 5 expects 0F3 from rank 4, which sends 1I3");
  EXPECT_EQ(mismatch({0, 3, 0, 1}, {2, 3, 0, 2}),
            "rank 5 expects 0F3 for stage 2 from rank 4, which sends 0F3 for "
            "stage 1");
  // Names of replicas.
  EXPECT_EQ(
      mismatch({0, 3, 0, 7}, {0, 3, 0, 6}),
      "rank 5 expects 0F3 of replica 0 for replica 6 from rank 4, which sends "
      "0F3 of replica 0 for replica 7");
  EXPECT_EQ(
      mismatch({0, 3, 1, 6}, {0, 3, 0, 6}),
      "rank 5 expects 0F3 of replica 0 for replica 6 from rank 4, which sends "
      "0F3 of replica 1 for replica 6");
}

} // namespace
