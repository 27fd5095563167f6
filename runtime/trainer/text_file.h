//===- text_file.h - Reads a file as a whole --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_TEXT_FILE_H
#define RONDO_RUNTIME_TRAINER_TEXT_FILE_H

#include <string>

namespace rondo::runtime {

/// What the file contains. `kind` is what errors call it: `index 'PATH'`.
/// Throws Error if it cannot be read or is a pointer of Git LFS.
std::string readTextFile(const std::string &kind, const std::string &path);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_TEXT_FILE_H
