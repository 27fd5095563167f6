//===- crc32c.h - A checksum of bytes ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BASE_CRC32C_H
#define RONDO_RUNTIME_BASE_CRC32C_H

#include <cstddef>
#include <cstdint>

namespace rondo::runtime {

/// CRC-32C (Castagnoli), as iSCSI and ext4 have it: every error within 32 bits
/// in a row changes it. Uses the processor's instruction where it has one.
uint32_t crc32c(const void *data, size_t bytes);

/// The same by a table, on every processor.
uint32_t crc32cByTable(const void *data, size_t bytes);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BASE_CRC32C_H
