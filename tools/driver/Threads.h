//===- Threads.h - The problems of a batch on several threads ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_THREADS_H
#define RONDO_TOOLS_DRIVER_THREADS_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstddef>
#include <cstdint>

namespace rondo::driver {

/// Calls `work` with each number below `count`, once and in ascending order, on
/// up to `threads` threads, of which this is one.
void forEachOnThreads(size_t count, int64_t threads,
                      llvm::function_ref<void(size_t)> work);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_THREADS_H
