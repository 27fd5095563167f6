//===- ChildProcess.h - Runs a program that ends with this one --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_CHILDPROCESS_H
#define RONDO_CODEGEN_CHILDPROCESS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace rondo::codegen {

/// As llvm::sys::ExecuteAndWait(). Meanwhile SIGINT, SIGTERM and SIGHUP end the
/// program and all that it started; once it has ended they have their usual
/// effect here. At most one at a time.
int runChild(llvm::StringRef program, llvm::ArrayRef<llvm::StringRef> arguments,
             llvm::ArrayRef<std::optional<llvm::StringRef>> redirects,
             std::string &message);

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_CHILDPROCESS_H
