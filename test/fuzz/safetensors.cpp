//===- safetensors.cpp - Fuzzes the header of safetensors files -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first four bytes are the size of the data, the rest is the header.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoints/safetensors.h"
#include "runtime/base/error.h"
#include "test/fuzz/Target.h"

#include <cstring>

using namespace rondo::runtime;
using rondo::fuzz::require;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint32_t dataBytes = 0;
  if (size < sizeof dataBytes)
    return 0;
  std::memcpy(&dataBytes, data, sizeof dataBytes);
  SafetensorsHeader header;
  try {
    header = readSafetensorsHeader(
        rondo::fuzz::textOf(data + sizeof dataBytes, size - sizeof dataBytes),
        dataBytes);
  } catch (const Error &) {
    return 0;
  }
  const std::string first = writeSafetensorsHeader(header);
  std::string second;
  try {
    second = writeSafetensorsHeader(readSafetensorsHeader(first, dataBytes));
  } catch (const Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  require(first == second, "a header that is written reads as the same");
  return 0;
}
