//===- Bundle.h - A program's sources for another machine -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_BUNDLE_H
#define RONDO_CODEGEN_BUNDLE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace rondo::codegen {

/// The contents of a bundle.
struct BundleContents {
  /// The emitted C++.
  std::string program;
  /// For the README: the input's name, the schedule, target and dtype.
  std::string input, schedule, target, dtype;
  /// Which libraries the program links besides the runtime.
  bool needsCuda = false, needsMpi = false, needsSearch = false;
  /// Bodies of custom layers, which the bundle does not contain.
  std::vector<std::string> bodies;
};

/// Writes a folder that builds with cmake and a C++ compiler, and with nvcc if
/// it needs CUDA: the program, the sources of the runtime and a build file. The
/// same contents give the same bytes. `folder` must be empty or not exist; it
/// appears whole or not at all. Sources are read where HostCompiler finds its
/// headers.
llvm::Error writeBundle(const BundleContents &contents, llvm::StringRef folder);

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_BUNDLE_H
