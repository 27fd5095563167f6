//===- Interrupt.cpp - Ctrl-C ends a search, not the command --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Interrupt.h"

#include "tools/driver/Commands.h"
#include "tools/driver/Report.h"

#include "llvm/Support/Signals.h"

namespace rondo::driver {

/// A signal handler can only reach a global.
static std::atomic<bool> isInterrupted{false};

Interrupt::Interrupt() {
  llvm::sys::SetInterruptFunction([] { isInterrupted = true; });
}

Interrupt::~Interrupt() { llvm::sys::SetInterruptFunction(nullptr); }

const std::atomic<bool> *Interrupt::flag() { return &isInterrupted; }

bool Interrupt::happened() { return isInterrupted; }

int Interrupt::exitCode(int code) {
  if (code != Success || !happened())
    return code;
  reportNote("interrupted: this is the best schedule found so far");
  return Interrupted;
}

} // namespace rondo::driver
