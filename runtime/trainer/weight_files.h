//===- weight_files.h - Tensors in one or several files ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hugging Face's transformers writes model.safetensors, or several such files
// and model.safetensors.index.json, which says where each tensor is.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TRAINER_WEIGHT_FILES_H
#define RONDO_RUNTIME_TRAINER_WEIGHT_FILES_H

#include "runtime/trainer/safetensors_file.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace rondo::runtime {

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

  /// By tensor, the path of the file that has it.
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

#endif // RONDO_RUNTIME_TRAINER_WEIGHT_FILES_H
