//===- say_error.h - Reports errors to the user -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_LAUNCH_SAYERROR_H
#define RONDO_RUNTIME_LAUNCH_SAYERROR_H

#include <string>

namespace rondo::runtime {

/// Writes an error to standard error, and to the file from which torchrun
/// reads the reason of a failure.
void sayError(const std::string &message);

/// Writes a note to standard error.
void sayNote(const std::string &message);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_SAYERROR_H
