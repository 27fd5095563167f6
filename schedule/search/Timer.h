//===- Timer.h - Runs orders as early as possible ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_TIMER_H
#define RONDO_SCHEDULE_SEARCH_TIMER_H

#include "schedule/search/Orders.h"

namespace rondo {

/// Times orders repeatedly without allocating.
class Timer {
public:
  explicit Timer(const FlatProblem &flat);

  /// The objective, or `never` if the order breaks a cap, deadlocks or ends
  /// above `ceiling`. Keeps starts by [rank][position]. O(tasks).
  int64_t run(const Orders &orders, int64_t ceiling = never);
  const std::vector<std::vector<int64_t>> &starts() const { return start; }

private:
  void reset();
  void send(int32_t edge, int32_t k, int64_t end);
  void carry(int32_t edge, int32_t k, int64_t end);
  void transfer(int32_t edge, int32_t k, int64_t readyNs);
  bool carryNext();
  void carryBurst(int32_t edge, int32_t k, int64_t end);
  int32_t burstOf(int32_t link, Code producer) const;
  int64_t readyFor(Task task, int32_t stage, int32_t k) const;

  const FlatProblem &flat;
  std::vector<std::vector<int64_t>> start;
  /// [edge that begins a burst]: number of times that it has been sent.
  std::vector<int32_t> carriedOf;
  const Orders *running = nullptr;
  /// [FlatProblem::messageAt()]: arrival in ns; -1 if not produced; -2 - end of
  /// the producer if the message waits for its turn on the link.
  std::vector<int64_t> arrival;
  Network network;
  std::vector<int64_t> carried, clock, held, position, work, left;
  std::vector<int32_t> done, ready;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_TIMER_H
