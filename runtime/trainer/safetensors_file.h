//===- safetensors_file.h - A safetensors file being read -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_SAFETENSORS_FILE_H
#define RONDO_RUNTIME_TRAINER_SAFETENSORS_FILE_H

#include "runtime/base/error.h"
#include "runtime/trainer/safetensors.h"

#include <cstdint>
#include <fstream>
#include <string>

namespace rondo::runtime {

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

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_SAFETENSORS_FILE_H
