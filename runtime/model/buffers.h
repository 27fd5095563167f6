//===- buffers.h - What memory is held for ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_MODEL_BUFFERS_H
#define RONDO_RUNTIME_MODEL_BUFFERS_H

#include "kinds/Buffers.h"

namespace rondo::runtime {

/// Purposes of memory.
using Buffer = BufferKind;
inline constexpr int numBuffers = numBufferKinds;

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_BUFFERS_H
