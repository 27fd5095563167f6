//===- exclusive_file.h - Files that nobody else has made -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BASE_EXCLUSIVE_FILE_H
#define RONDO_RUNTIME_BASE_EXCLUSIVE_FILE_H

#include <string>

namespace rondo::runtime {

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

#endif // RONDO_RUNTIME_BASE_EXCLUSIVE_FILE_H
