//===- waiting.cpp - Spin briefly, then block -----------------------------===//

#include "runtime/transport/waiting.h"

#include <chrono>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

using namespace rondo::runtime;

int64_t rondo::runtime::nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void rondo::runtime::sleepUntil(int64_t deadlineNs) {
  // A sleeping thread comes back up to this much late.
  constexpr int64_t spinNs = 60000;
  int64_t now = nowNs();
  while (deadlineNs - now > spinNs) {
    std::this_thread::sleep_for(
        std::chrono::nanoseconds(deadlineNs - now - spinNs));
    now = nowNs();
  }
  while (nowNs() < deadlineNs)
    pauseCpu();
}

void Signal::blockWhile(uint32_t seen) {
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t),
                "a futex is a plain 32-bit word");
  // The time limit lets a waiter look at the abort flag even if it missed the
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
