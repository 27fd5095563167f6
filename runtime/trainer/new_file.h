//===- new_file.h - A file that appears whole or not at all -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_NEW_FILE_H
#define RONDO_RUNTIME_TRAINER_NEW_FILE_H

#include <cstddef>
#include <cstdio>
#include <string>

namespace rondo::runtime {

/// Whether no file may replace what is at a path: a device such as /dev/null, a
/// pipe, or /dev/stdout, which may be an open regular file.
bool isSpecialFile(const std::string &path);

/// Makes new names in the folder of `path` durable. False, with errno set, on
/// failure; a folder that cannot be read or synced is left as it is.
bool syncFolderOf(const std::string &path);

/// Throws the Error of errno for a file that cannot be written; `name` is its
/// name in errors.
[[noreturn]] void failWriting(const std::string &path, const std::string &name);

/// A file that is written next to its path and renamed by commit(), so that a
/// failure leaves an existing file as it was. Until then only this user can
/// open it. A device, a pipe or a name of an open file, such as /dev/stdout, is
/// written in place. All functions throw Error.
class NewFile {
public:
  /// `name` is its name in errors: `checkpoint 'a.safetensors'`.
  NewFile(const std::string &path, const std::string &name);
  /// Without commit() nothing remains.
  ~NewFile();
  NewFile(const NewFile &) = delete;
  NewFile &operator=(const NewFile &) = delete;

  void write(const void *data, size_t bytes);
  /// Returns when the content is on the disk, and the name too if the folder
  /// can be read.
  void commit();

private:
  [[noreturn]] void fail() const { failWriting(path, name); }

  const std::string path, name;
  const bool isInPlace;
  const std::string temporary;
  std::FILE *file;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_NEW_FILE_H
