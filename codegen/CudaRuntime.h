//===- CudaRuntime.h - The CUDA runtime, built where it is used -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_CUDARUNTIME_H
#define RONDO_CODEGEN_CUDARUNTIME_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace rondo::codegen {

/// librondo_cuda.a of an installation that has only its sources. An archive
/// from elsewhere would need the CUDA toolkit that it was built with, so it is
/// built on this machine, once, with cmake and nvcc, in some minutes.
struct CudaRuntime {
  /// Holds the archive once it is built: a folder of the user's cache, whose
  /// name depends on the installation and its version.
  std::string folder;
  /// The project that builds it.
  std::string project;

  /// The one of the sources in `includeDir`. Its project is empty if there are
  /// none.
  static CudaRuntime of(llvm::StringRef includeDir);

  bool isBuilt() const;
  std::string archive() const;
  /// For programs that link the archive, separated by |.
  std::string linkArguments() const;

  /// Builds the archive. The error says what the machine lacks, or has the end
  /// of the log.
  llvm::Error build() const;
};

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_CUDARUNTIME_H
