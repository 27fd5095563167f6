//===- Target.h - Shared by the fuzz targets --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each target is one file with LLVMFuzzerTestOneInput(): libFuzzer calls it
// with inputs that it generates (-DRONDO_FUZZ=ON), replay.cpp with those of a
// folder.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TEST_FUZZ_TARGET_H
#define RONDO_TEST_FUZZ_TARGET_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

/// Runs one input; returns 0. Any crash, and any property that does not hold,
/// is a finding.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace rondo::fuzz {

inline std::string textOf(const uint8_t *data, size_t size) {
  return std::string(reinterpret_cast<const char *>(data), size);
}

/// Ends the process if a property does not hold.
inline void require(bool holds, const char *property) {
  if (holds)
    return;
  std::fprintf(stderr, "property broken: %s\n", property);
  std::abort();
}

} // namespace rondo::fuzz

#endif // RONDO_TEST_FUZZ_TARGET_H
