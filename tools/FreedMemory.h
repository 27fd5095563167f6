//===- FreedMemory.h - How a process allocates memory -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_FREEDMEMORY_H
#define RONDO_TOOLS_FREEDMEMORY_H

#include <cstdlib> // Defines __GLIBC__ if the C library is glibc.
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace rondo {

/// Makes the process keep memory that it has freed. Programs of many ranks take
/// hundreds of megabytes in one pass after another, and the system clears each
/// page that it maps; memory that one thread frees is used again by others.
/// Sets options of the whole process, so only main() and commands call it,
/// before they start threads.
inline void keepFreedMemory() {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
#endif
}

} // namespace rondo

#endif // RONDO_TOOLS_FREEDMEMORY_H
