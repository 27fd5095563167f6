//===- signal.h - A number on which threads wait ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BASE_SIGNAL_H
#define RONDO_RUNTIME_BASE_SIGNAL_H

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rondo::runtime {

/// A number that only increases (and wraps) and on which threads wait.
class Signal {
public:
  /// Where threads wait: in one process, or in all processes that share the
  /// memory that the signal is in.
  enum class Reach : uint8_t { Process, Host };
  explicit Signal(Reach reach = Reach::Process)
      : scope(reach == Reach::Process ? FUTEX_PRIVATE_FLAG : 0) {}

  uint32_t value() const { return count.load(std::memory_order_acquire); }
  /// A thread that sees the new value also sees all writes made before.
  void advance() {
    count.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) != 0)
      wakeAll();
  }
  /// Blocks while value() is `seen`, for 50 ms at most.
  void blockWhile(uint32_t seen);
  void wakeAll();

private:
  std::atomic<uint32_t> count{0};
  std::atomic<uint32_t> sleepers{0};
  const int scope;
};

inline void Signal::blockWhile(uint32_t seen) {
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) &&
                    std::atomic<uint32_t>::is_always_lock_free,
                "a futex is a plain 32-bit word");
  // The time limit lets a waiter check the abort flag even if it missed the
  // call that woke the others.
  timespec limit = {0, 50 * 1000 * 1000};
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  if (count.load(std::memory_order_seq_cst) == seen)
    syscall(SYS_futex, reinterpret_cast<uint32_t *>(&count), FUTEX_WAIT | scope,
            seen, &limit, nullptr, 0);
  sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

inline void Signal::wakeAll() {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&count), FUTEX_WAKE | scope,
          INT_MAX, nullptr, nullptr, 0);
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BASE_SIGNAL_H
