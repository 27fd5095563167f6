//===- crc32c.cpp - A checksum of bytes -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/crc32c.h"

#include <array>
#include <cstring>

using namespace rondo::runtime;

static constexpr std::array<uint32_t, 256> makeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit)
      value = value >> 1 ^ (value & 1 ? 0x82f63b78u : 0);
    table[i] = value;
  }
  return table;
}

uint32_t rondo::runtime::crc32cByTable(const void *data, size_t bytes) {
  static constexpr std::array<uint32_t, 256> table = makeTable();
  const auto *next = static_cast<const unsigned char *>(data);
  uint32_t sum = ~0u;
  for (size_t i = 0; i < bytes; ++i)
    sum = sum >> 8 ^ table[(sum ^ next[i]) & 0xff];
  return ~sum;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t
byInstruction(const void *data, size_t bytes) {
  const auto *next = static_cast<const char *>(data);
  uint64_t sum = ~0u;
  for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, next, sizeof word);
    sum = __builtin_ia32_crc32di(sum, word);
    next += sizeof word;
  }
  auto rest = static_cast<uint32_t>(sum);
  for (; bytes > 0; --bytes)
    rest = __builtin_ia32_crc32qi(rest, static_cast<unsigned char>(*next++));
  return ~rest;
}
#endif

uint32_t rondo::runtime::crc32c(const void *data, size_t bytes) {
#if defined(__x86_64__)
  static const bool hasInstruction = __builtin_cpu_supports("sse4.2") != 0;
  if (hasInstruction)
    return byInstruction(data, bytes);
#endif
  return crc32cByTable(data, bytes);
}
