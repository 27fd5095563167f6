//===- safetensors.h - Reads and writes safetensors files -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// u64 little-endian length of the header, a JSON object {name: {"dtype",
// "shape", "data_offsets"}} whose "__metadata__" maps strings to strings, then
// the data. https://github.com/huggingface/safetensors
//
//
// Hugging Face's transformers writes model.safetensors, or several such files
// and model.safetensors.index.json, which says where each tensor is.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_CHECKPOINTS_SAFETENSORS_H
#define RONDO_RUNTIME_CHECKPOINTS_SAFETENSORS_H

#include "runtime/base/error.h"

#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <set>
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

/// An open file and its header. Its tensors stay in the file until they are
/// asked for, as together they may exceed this process's memory.
class SafetensorsFile {
public:
  /// `kind` is what errors call the file: "checkpoint". Throws Error, with the
  /// file's name, if it cannot be read or readSafetensorsHeader() fails.
  SafetensorsFile(const std::string &path, const std::string &kind);

  const std::string &path() const { return filePath; }
  const SafetensorsHeader &header() const { return contents; }
  /// Copies bytes of a tensor that the header lists, from byte `first` of the
  /// tensor. Throws Error with the file's name.
  void read(const SafetensorsEntry &entry, int64_t first, void *data,
            int64_t bytes);

  /// Adds the file's name to errors.
  template <typename Action> void named(Action action) const {
    try {
      action();
    } catch (const Error &error) {
      throw Error(name() + ": " + error.what(), error.code);
    }
  }

private:
  std::string name() const { return kind + " '" + filePath + "'"; }
  void readHeader();
  void readBytes(void *data, int64_t bytes);

  const std::string filePath, kind;
  std::ifstream file;
  int64_t dataBegin = 0;
  SafetensorsHeader contents;
};

/// The tensors of a safetensors file or of an index with its files. A file is
/// opened when one of its tensors is asked for. All functions throw Error with
/// the name of the file that is wrong.
class WeightFiles {
public:
  /// `path`: a file, an index (`.json`), a folder with model.safetensors or
  /// model.safetensors.index.json, or the name of a checkpoint of several
  /// processes (checkpoint_files.h). `kind` is what errors call the files.
  explicit WeightFiles(const std::string &path,
                       const std::string &kind = "weights");

  /// Maps each tensor to the path of its file.
  const std::map<std::string, std::string> &fileOf() const { return places; }
  /// The files that have tensors; one file even if it has none.
  std::set<std::string> dataFiles() const;
  /// These, and the index.
  std::set<std::string> paths() const;
  /// Opens one of dataFiles(), and checks that it has the tensors that the
  /// index places there and no others.
  SafetensorsFile &open(const std::string &path);
  /// Opens the tensor's file. The tensor must be in fileOf().
  const SafetensorsEntry &entry(const std::string &tensor);
  /// Reads `count` numbers of a tensor of dtype F32, F16 or BF16, from number
  /// `first` on.
  void read(const std::string &tensor, int64_t first, int64_t count,
            float *values);

private:
  void readIndex();

  const std::string kind;
  /// The file that was found: a safetensors file, or an index.
  const std::string top;
  const bool hasIndex;
  std::map<std::string, std::string> places;
  std::map<std::string, std::unique_ptr<SafetensorsFile>> files;
  std::vector<char> bytes;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_CHECKPOINTS_SAFETENSORS_H
