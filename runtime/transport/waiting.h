//===- waiting.h - A number that threads wait on ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRANSPORT_WAITING_H
#define RONDO_RUNTIME_TRANSPORT_WAITING_H

#include <atomic>
#include <cstdint>

namespace rondo::runtime {

/// A number that only increases (and wraps) and on which threads wait.
class Signal {
public:
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
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRANSPORT_WAITING_H
