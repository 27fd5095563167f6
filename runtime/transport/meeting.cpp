//===- meeting.cpp - A collective between threads -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/meeting.h"

#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace rondo::runtime;

void Signal::blockWhile(uint32_t seen) {
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t),
                "a futex is a plain 32-bit word");
  // The time limit lets a waiter check the abort flag even if it missed the
  // call that woke the others.
  timespec limit = {0, 50 * 1000 * 1000};
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  if (count.load(std::memory_order_seq_cst) == seen)
    syscall(SYS_futex, reinterpret_cast<uint32_t *>(&count), FUTEX_WAIT_PRIVATE,
            seen, &limit, nullptr, 0);
  sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

void Signal::wakeAll() {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&count), FUTEX_WAKE_PRIVATE,
          INT_MAX, nullptr, nullptr, 0);
}
