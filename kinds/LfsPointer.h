//===- LfsPointer.h - Pointer files of Git LFS ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A clone without Git LFS has a text of three lines in place of each large
// file: `version https://git-lfs.github.com/spec/v1`, `oid sha256:4d7a...` and
// `size 548105171`.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_KINDS_LFSPOINTER_H
#define RONDO_KINDS_LFSPOINTER_H

#include <cstdint>
#include <string>
#include <string_view>

namespace rondo {

/// Upper bound on the size of a pointer file; larger files need no check.
inline constexpr int64_t lfsPointerBytes = 1024;

/// If `text` is a pointer file: says so and names the command that fetches the
/// file. Otherwise empty. `text` is the whole file, or its first
/// lfsPointerBytes bytes.
inline std::string whyLfsPointer(std::string_view text) {
  constexpr std::string_view version =
                                 "version https://git-lfs.github.com/spec/",
                             size = "\nsize ";
  if (text.size() >= static_cast<size_t>(lfsPointerBytes) ||
      text.substr(0, version.size()) != version ||
      text.find("\noid ") == std::string_view::npos)
    return "";
  std::string ofBytes;
  if (const size_t begin = text.find(size); begin != std::string_view::npos) {
    const std::string_view rest = text.substr(begin + size.size());
    const std::string_view number =
        rest.substr(0, rest.find_first_not_of("0123456789"));
    if (!number.empty())
      ofBytes = " of " + std::string(number) + " bytes";
  }
  return "it is a Git LFS pointer to a file" + ofBytes +
         ", not the file; run `git lfs pull` in its repository";
}

} // namespace rondo

#endif // RONDO_KINDS_LFSPOINTER_H
