//===- attention.h - Whose kernels compute attention ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_DEVICE_ATTENTION_H
#define RONDO_RUNTIME_DEVICE_ATTENTION_H

#include <cstdint>

namespace rondo::runtime {

/// A choice where a device has several. Bits differ between them, not between
/// runs with the same.
enum class Attention : uint8_t {
  /// cuDNN's where it is there, else own.
  Fastest,
  Own,
  Cudnn,
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_DEVICE_ATTENTION_H
