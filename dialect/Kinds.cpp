//===- Kinds.cpp - The dialect's lists are the core's ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Pipe.h"

#include "kinds/Collectives.h"
#include "kinds/Optimizers.h"

using namespace rondo::pipe;

#define RONDO_SAME(name, ...)                                                  \
  static_assert(static_cast<int>(Buffer::name) ==                              \
                    static_cast<int>(rondo::BufferKind::name),                 \
                "PipeEnums.td has another number for " #name);
RONDO_BUFFER_KINDS(RONDO_SAME)
#undef RONDO_SAME
static_assert(getMaxEnumValForBuffer() + 1 == rondo::numBufferKinds,
              "PipeEnums.td lists other buffers than kinds/Buffers.h");

#define RONDO_SAME(name, ...)                                                  \
  static_assert(static_cast<int>(rondo::pipe::CollectiveKind::name) ==         \
                    static_cast<int>(rondo::CollectiveKind::name),             \
                "PipeEnums.td has another number for " #name);
RONDO_COLLECTIVE_KINDS(RONDO_SAME)
#undef RONDO_SAME
#define RONDO_CHECK(name, keyword, moments)                                    \
  static_assert(static_cast<int>(Optimizer::name) ==                           \
                    static_cast<int>(rondo::PlannedOptimizer::name),           \
                "PipeEnums.td numbers optimizers otherwise");
RONDO_PLANNED_OPTIMIZERS(RONDO_CHECK)
#undef RONDO_CHECK
static_assert(getMaxEnumValForOptimizer() + 1 == rondo::numPlannedOptimizers,
              "PipeEnums.td lists other optimizers than kinds/Optimizers.h");
static_assert(getMaxEnumValForCollectiveKind() + 1 == rondo::numCollectiveKinds,
              "PipeEnums.td lists other collectives than kinds/Collectives.h");

static_assert(static_cast<int>(Message::Activation) ==
                      static_cast<int>(rondo::MessageKind::Activation) &&
                  static_cast<int>(Message::Gradient) ==
                      static_cast<int>(rondo::MessageKind::Gradient) &&
                  static_cast<int>(Message::Recomputed) ==
                      static_cast<int>(rondo::MessageKind::Recomputed) &&
                  getMaxEnumValForMessage() + 1 == rondo::numMessageKinds,
              "PipeEnums.td lists other messages than kinds/Actions.h");

BuffersAttr BuffersAttr::fromBytes(
    mlir::MLIRContext *context,
    const std::array<int64_t, rondo::numBufferKinds> &bytes) {
#define RONDO_BYTES(name, ...)                                                 \
  , bytes[static_cast<int>(rondo::BufferKind::name)]
  return get(context RONDO_BUFFER_KINDS(RONDO_BYTES));
#undef RONDO_BYTES
}

std::array<int64_t, rondo::numBufferKinds> BuffersAttr::getBytes() const {
#define RONDO_BYTES(name, ...) get##name(),
  return {RONDO_BUFFER_KINDS(RONDO_BYTES)};
#undef RONDO_BYTES
}
