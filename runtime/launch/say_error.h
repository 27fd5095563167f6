//===- say_error.h - Errors for people --------------------------*- C++ -*-===//

#ifndef RONDO_RUNTIME_LAUNCH_SAYERROR_H
#define RONDO_RUNTIME_LAUNCH_SAYERROR_H

#include <string>

namespace rondo::runtime {

/// Writes an error on standard error, and where torchrun looks for what its
/// summary says of a process that has failed.
void sayError(const std::string &message);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_SAYERROR_H
