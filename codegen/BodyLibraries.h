//===- BodyLibraries.h - Which library defines which body -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_BODYLIBRARIES_H
#define RONDO_CODEGEN_BODYLIBRARIES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace rondo::codegen {

/// Fails if a file of `libraries` is not an object file, archive or shared
/// library, and if a body is defined by none of them or more than once: of two
/// archives the linker would silently take the first. Does not report missing
/// bodies if a file's symbols are visible only to a linker plug-in.
llvm::Error checkBodies(llvm::ArrayRef<std::string> bodies,
                        llvm::ArrayRef<std::string> libraries);

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_BODYLIBRARIES_H
