//===- BuildPaths.h - Where this build has its parts ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_BUILDPATHS_H
#define RONDO_CODEGEN_BUILDPATHS_H

namespace rondo::codegen {

/// Paths on the machine that built this tool. All are empty in the tool of a
/// wheel, which runs on other machines.
struct BuildPaths {
  /// Contains runtime/rondo_runtime.h: the source tree.
  const char *includeDir;
  /// Contains librondo_runtime.a.
  const char *libraryDir;
  /// Contains ld.lld.
  const char *llvmToolsDir;
  const char *openBlas, *sodium;
  /// Further arguments for the linker, separated by |: of every program, and
  /// of those with CUDA or MPI. Without CUDA or MPI in the build, empty.
  const char *linkArguments, *cudaLinkArguments, *mpiLinkArguments;
};

extern const BuildPaths buildPaths;

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_BUILDPATHS_H
