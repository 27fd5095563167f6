//===- lfs_pointer.h - Pointer files of Git LFS -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A clone without Git LFS has a text of three lines, such as
// `version https://git-lfs.github.com/spec/v1`, `oid sha256:4d7a...` and
// `size 548105171`, in place of each large file.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TRAINER_LFS_POINTER_H
#define RONDO_RUNTIME_TRAINER_LFS_POINTER_H

#include <cstdint>
#include <string_view>

namespace rondo::runtime {

/// Every pointer file is smaller, so that no larger file needs a look.
inline constexpr int64_t lfsPointerBytes = 1024;

/// `text` is a whole file, or its first lfsPointerBytes bytes. Throws Error if
/// it is a pointer; the caller adds the file's name.
void refuseLfsPointer(std::string_view text);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_LFS_POINTER_H
