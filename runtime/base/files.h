//===- files.h - Files that are read or written as a whole ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BASE_FILES_H
#define RONDO_RUNTIME_BASE_FILES_H

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

/// The users that may open a file: those of the umask, or only this one.
enum class Readers { Usual, Owner };

/// A file that is written next to its path and renamed by commit(), so that a
/// failure leaves an existing file as it was. Until then only this user can
/// open it. A device, a pipe or a name of an open file, such as /dev/stdout, is
/// written in place, unless only its owner may read the file: then what has the
/// name is replaced. All functions throw Error.
class NewFile {
public:
  /// `name` is its name in errors: `checkpoint 'a.safetensors'`.
  NewFile(const std::string &path, const std::string &name,
          Readers readers = Readers::Usual);
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
  const Readers readers;
  const bool isInPlace;
  const std::string temporary;
  std::FILE *file;
};

/// A NewFile of this text.
void writeTextFile(const std::string &path, const std::string &name,
                   const std::string &text, Readers readers = Readers::Usual);

/// The contents of a file. `kind` is what errors call it: `index 'PATH'`.
/// Throws Error if it cannot be read or is a pointer of Git LFS.
std::string readTextFile(const std::string &kind, const std::string &path);

//===----------------------------------------------------------------------===//
// Files that only this user may open.
//===----------------------------------------------------------------------===//

/// Makes a temporary file that only this user can open, and returns its
/// descriptor for writing; -1, with errno set, on failure. What has the name
/// already, from an earlier process with the same number or from another user,
/// is removed, never written.
int makeExclusiveFile(const std::string &path);

/// Gives a file the permissions that the umask allows, once it is complete.
bool shareAsUsual(int descriptor);

/// Opens a file that is kept if it is there, for writing. Fails with ELOOP if
/// the path is a link that another user has made: it may lead to any file of
/// this one.
int openOwnFile(const std::string &path, bool appends);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BASE_FILES_H
