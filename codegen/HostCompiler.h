//===- HostCompiler.h - C++ to an executable --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_HOSTCOMPILER_H
#define RONDO_CODEGEN_HOSTCOMPILER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace rondo::codegen {

/// The compiler and files that build an emitted program.
struct HostCompiler {
  /// The compiler's name or path: $CXX, or c++.
  std::string compiler;
  /// Arguments of compilations: -O2, then those of $RONDO_CXXFLAGS, which are
  /// separated by spaces.
  std::vector<std::string> compileArguments;
  /// Contains runtime/rondo_runtime.h.
  std::string includeDir;
  /// Contains librondo_runtime.a.
  std::string libraryDir;
  /// Further arguments for the linker, such as the path of OpenBLAS, and which
  /// linker it is: LLVM's if that is installed and $CXX is not set.
  std::vector<std::string> linkArguments;

  /// The tree or installation that the running tool belongs to:
  /// $RONDO_RUNTIME_DIR, or the runtime installed with the tool, or what the
  /// build recorded.
  static HostCompiler forThisTool();

  /// The folder in which an installation without librondo_cuda.a builds it;
  /// empty if there is one, or if it has no sources for it.
  std::string cudaToBuild() const;

  /// Compiles `source` and links it into `output`, with the runtime, the parts
  /// of it that `parts` names ("cuda", "mpi", "search"), and files with bodies
  /// of custom layers, as checkBodies() takes them. The executable is written
  /// next to `output` and renamed, so that a failure leaves an existing file as
  /// it was. The error has the command and the compiler's output. The part
  /// "cuda" is built first where cudaToBuild() is not empty.
  llvm::Error build(llvm::StringRef source, llvm::StringRef output,
                    llvm::ArrayRef<std::string> parts,
                    llvm::ArrayRef<std::string> bodyLibraries = {}) const;

  /// Compiles `source`, which may include headers of the runtime, to an object
  /// file that any kind of program or library can be made of.
  llvm::Error compileObject(llvm::StringRef source,
                            llvm::StringRef output) const;
};

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_HOSTCOMPILER_H
