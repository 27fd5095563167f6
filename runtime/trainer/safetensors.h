//===- safetensors.h - The safetensors file format --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// u64 little-endian length of the header, a JSON object {name: {"dtype",
// "shape", "data_offsets"}} whose "__metadata__" maps strings to strings, then
// the data. https://github.com/huggingface/safetensors
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TRAINER_SAFETENSORS_H
#define RONDO_RUNTIME_TRAINER_SAFETENSORS_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rondo::runtime {

/// A header's entry for one tensor. Offsets count bytes from the end of the
/// header.
struct SafetensorsEntry {
  std::string dtype;
  std::vector<int64_t> shape;
  int64_t begin = 0, end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::map<std::string, SafetensorsEntry> tensors;
};

/// `"text"`, escaped.
std::string jsonString(const std::string &text);

/// The header's JSON, padded with spaces to a multiple of 8 bytes.
std::string writeSafetensorsHeader(const SafetensorsHeader &header);

/// Parses the header's JSON and checks it against `dataBytes`: unique names,
/// known dtypes, sizes that match the shapes, no overlap, no hole, nothing
/// after the end. Throws Error.
SafetensorsHeader readSafetensorsHeader(const std::string &json,
                                        int64_t dataBytes);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_SAFETENSORS_H
