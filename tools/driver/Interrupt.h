//===- Interrupt.h - Ctrl-C ends a search, not the command ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_INTERRUPT_H
#define RONDO_TOOLS_DRIVER_INTERRUPT_H

#include <atomic>

namespace rondo::driver {

/// While an object exists (one at a time), the first Ctrl-C sets a flag that
/// ends searches with the best result so far; a second one ends the process, as
/// it always does otherwise.
class Interrupt {
public:
  Interrupt();
  ~Interrupt();

  /// For searches; always false while no object exists.
  static const std::atomic<bool> *flag();
  /// Whether Ctrl-C came since the process started.
  static bool happened();
  /// Returns Interrupted, with a note, instead of a success that Ctrl-C cut
  /// short.
  static int exitCode(int code);
};

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_INTERRUPT_H
