//===- Interrupt.h - Ctrl-C ends a search, not the command ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_INTERRUPT_H
#define RONDO_TOOLS_DRIVER_INTERRUPT_H

#include <atomic>

namespace rondo::driver {

/// While one lives (one at a time), the first Ctrl-C sets a flag that ends
/// searches with the best so far; a second one ends the process, as it does at
/// any other time.
class Interrupt {
public:
  Interrupt();
  ~Interrupt();

  /// For searches; false for ever where no object lives.
  static const std::atomic<bool> *flag();
  /// Whether Ctrl-C came since the process began.
  static bool happened();
  /// Interrupted, with a note, in place of a success that Ctrl-C made early.
  static int exitCode(int code);
};

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_INTERRUPT_H
