//===- lfs_pointer.cpp - Pointer files of Git LFS -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/lfs_pointer.h"

#include "runtime/base/error.h"

#include <string>

using namespace rondo::runtime;

void rondo::runtime::refuseLfsPointer(std::string_view text) {
  constexpr std::string_view version =
                                 "version https://git-lfs.github.com/spec/",
                             size = "\nsize ";
  if (text.size() >= static_cast<size_t>(lfsPointerBytes) ||
      text.substr(0, version.size()) != version ||
      text.find("\noid ") == std::string_view::npos)
    return;
  std::string ofBytes;
  if (const size_t begin = text.find(size); begin != std::string_view::npos) {
    const std::string_view rest = text.substr(begin + size.size());
    const std::string_view number =
        rest.substr(0, rest.find_first_not_of("0123456789"));
    if (!number.empty())
      ofBytes = " of " + std::string(number) + " bytes";
  }
  throw Error("it is a Git LFS pointer to a file" + ofBytes +
              ", not the file; run `git lfs pull` in its repository");
}
