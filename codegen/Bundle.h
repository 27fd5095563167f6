//===- Bundle.h - A program's sources for another machine -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_BUNDLE_H
#define RONDO_CODEGEN_BUNDLE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace rondo::codegen {

/// What a bundle is made from.
struct BundleContents {
  /// The emitted C++.
  std::string program;
  /// Words of the README: the input's name, the schedule, target and type.
  std::string input, schedule, target, dtype;
  /// Which libraries beside the runtime the program links.
  bool needsCuda = false, needsMpi = false;
  /// Bodies from outside, which the bundle does not hold.
  std::vector<std::string> bodies;
};

/// Writes a folder that builds with cmake and a C++ compiler, and nvcc where it
/// needs CUDA: the program, the sources of the runtime and a build file. The
/// same contents give the same bytes. `folder` must not exist or be empty; it
/// appears whole or not at all. Sources are read where HostCompiler finds its
/// headers.
llvm::Error writeBundle(const BundleContents &contents, llvm::StringRef folder);

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_BUNDLE_H
