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

/// `[2, 3]`.
std::string describeShape(const std::vector<int64_t> &shape);

/// `"text"`, escaped.
std::string jsonString(const std::string &text);

/// The header's JSON, padded with spaces to a multiple of 8 bytes.
std::string writeSafetensorsHeader(const SafetensorsHeader &header);

/// Parses the header's JSON and checks it against `dataBytes`: unique names,
/// known dtypes, sizes that match the shapes, no overlap, no hole, nothing
/// after the end. Throws Error.
SafetensorsHeader readSafetensorsHeader(const std::string &json,
                                        int64_t dataBytes);

/// The JSON of an index: the metadata, the bytes of all tensors, and by tensor
/// the name of its file.
std::string
writeSafetensorsIndex(const std::map<std::string, std::string> &metadata,
                      int64_t totalBytes,
                      const std::map<std::string, std::string> &fileOf);

/// Parses an index, `{"weight_map": {tensor: file}}`, which says in which of
/// several files each tensor is; other members are skipped. Throws Error if
/// there is no such map, it is empty, a tensor appears twice, or a file is not
/// in the index's own folder.
std::map<std::string, std::string>
readSafetensorsIndex(const std::string &json);

/// Converts `count` numbers of dtype F32, F16 or BF16 to fp32; any such number
/// is one of fp32. False on another dtype.
bool convertToFloats(const std::string &dtype, const void *from, int64_t count,
                     float *to);
/// Bytes of a number of a dtype; 0 if it is unknown.
int64_t bytesOfDtype(const std::string &dtype);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_SAFETENSORS_H
