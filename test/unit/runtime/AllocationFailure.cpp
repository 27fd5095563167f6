//===- AllocationFailure.cpp - No memory for a moment ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AllocationFailure.h"

#include <atomic>
#include <cstdlib>
#include <new>

using rondo::runtime::test::AllocationFailure;

namespace {

std::atomic<bool> isArmed{false}, struck{false};
std::atomic<size_t> least{0}, left{0};
std::atomic<bool> isForOthers{false};
/// Whether this thread has made the AllocationFailure.
thread_local bool isMaker = false;

} // namespace

AllocationFailure::AllocationFailure(size_t bytes, Whose whose, size_t passes) {
  isMaker = true;
  least = bytes;
  left = passes + 1;
  isForOthers = whose == OtherThreads;
  struck = false;
  isArmed = true;
}

AllocationFailure::~AllocationFailure() {
  isArmed = false;
  isMaker = false;
}

bool AllocationFailure::hasStruck() const { return struck; }

void *operator new(size_t bytes) {
  if (isArmed && bytes >= least && isMaker != isForOthers && --left == 0 &&
      isArmed.exchange(false)) {
    struck = true;
    throw std::bad_alloc();
  }
  if (void *memory = std::malloc(bytes > 0 ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}

// Inlined, free() would seem not to belong to operator new.
[[gnu::noinline]] void operator delete(void *memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void *memory, size_t) noexcept {
  std::free(memory);
}
