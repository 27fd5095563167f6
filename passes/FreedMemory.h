//===- FreedMemory.h - Memory that passes have freed ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PASSES_FREEDMEMORY_H
#define RONDO_PASSES_FREEDMEMORY_H

#include <cstdlib> // Defines __GLIBC__ where there is one.
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace rondo::pipe {

/// Lets the process keep memory that it has freed. Programs of many ranks take
/// hundreds of megabytes in one pass after another, and the system clears each
/// page that it gives; what one thread frees another one takes again. To be
/// called before there are threads.
inline void keepFreedMemory() {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
#endif
}

} // namespace rondo::pipe

#endif // RONDO_PASSES_FREEDMEMORY_H
