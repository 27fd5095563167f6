//===- say_error.h - Errors for people --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_LAUNCH_SAYERROR_H
#define RONDO_RUNTIME_LAUNCH_SAYERROR_H

#include <string>

namespace rondo::runtime {

/// Writes an error on standard error, and to the file from which torchrun's
/// summary takes the reason of a failed process.
void sayError(const std::string &message);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_SAYERROR_H
