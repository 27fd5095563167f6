//===- StandardStreams.h - File descriptors 0 to 2 --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_KINDS_STANDARDSTREAMS_H
#define RONDO_KINDS_STANDARDSTREAMS_H

#include <cerrno>
#include <fcntl.h>

namespace rondo {

/// Opens /dev/null in place of each standard stream that the caller has closed.
/// Otherwise the next file would get its number, and messages would go into
/// that file. Reading finds the end, and writing still fails. main() calls it
/// before other files are opened.
inline void reserveStandardStreams() {
  for (int stream = 0; stream <= 2; ++stream)
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      (void)!open("/dev/null", O_RDONLY); // Gets the lowest free number.
}

} // namespace rondo

#endif // RONDO_KINDS_STANDARDSTREAMS_H
