//===- MessageTagsTest.cpp - Message names as numbers ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/process_transport.h"

#include "gtest/gtest.h"

using namespace rondo::runtime;

namespace {

/// Checks that the expected numbers of stages and micro-batches are distinct,
/// and that tags fit.
void check(int32_t largest, int32_t stages, int32_t microbatches) {
  const MessageTags tags(largest);
  for (Message kind : {Message::Activation, Message::Gradient})
    for (int32_t stage : {0, 1, stages - 1})
      for (int32_t microbatch : {0, 1, microbatches - 1}) {
        const MessageName name = {kind, stage, microbatch};
        const int32_t tag = tags.tagOf(name);
        EXPECT_GE(tag, 0) << nameOf(name);
        EXPECT_LE(tag, largest) << nameOf(name);
        EXPECT_EQ(nameOf(tags.nameOf(tag)), nameOf(name));
        // Larger numbers wrap.
        EXPECT_EQ(tags.tagOf({kind, stage + stages, microbatch + microbatches}),
                  tag);
      }
}

TEST(MessageTags, FitWhatAnEndpointHas) {
  check(INT32_MAX, 8192, 131072);
  check((1 << 23) - 1, 512, 8192);
  check((1 << 23) + 5, 512, 8192);
  check(INT16_MAX, 64, 256);
}

} // namespace
