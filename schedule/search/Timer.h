//===- Timer.h - Runs orders as early as possible ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_TIMER_H
#define RONDO_SCHEDULE_SEARCH_TIMER_H

#include "schedule/search/Orders.h"

#include <array>

namespace rondo {

/// Times orders repeatedly without allocating.
class Timer {
public:
  explicit Timer(const FlatProblem &flat);

  /// The objective, or `never` if the order breaks a cap, deadlocks or ends
  /// above `ceiling`. Keeps starts by [rank][position]. O(tasks).
  int64_t run(const Orders &orders, int64_t ceiling = never);
  const std::vector<std::vector<int64_t>> &starts() const { return start; }
  /// The rank that determines the objective.
  int32_t lastRank() const { return last; }
  /// A position in a sequence.
  struct Place {
    Machine machine;
    int64_t position = -1;
  };
  /// The bursts of a link in the order in which the last run carried them.
  const Sequence &carriedBy(int32_t link) const { return messagesOf[link]; }
  /// What made a task or message start when it did: its predecessor in its
  /// sequence, or an input, which is a message if its link is contended; no
  /// machine if it started at 0.
  Place cause(const Orders &orders, Place place) const;

private:
  void reset();
  Place causeOfMessage(Place place) const;
  void send(int32_t edge, int32_t k, int64_t end);
  void carry(int32_t edge, int32_t k, int64_t end);
  void arrive(int32_t edge, int32_t k, int64_t sent);
  bool carryNext();
  void carryBurst(int32_t edge, int32_t k, int64_t end);
  int32_t burstOf(int32_t link, Code producer) const;
  int64_t readyFor(int letter, int32_t stage, int32_t k) const;

  const FlatProblem &flat;
  std::vector<std::vector<int64_t>> start;
  /// By contended link: what has been carried, from which time on, and which
  /// micro-batch of its producer each burst was.
  std::vector<Sequence> messagesOf;
  std::vector<std::vector<int64_t>> messageStart;
  std::vector<std::vector<int32_t>> messageIndex;
  /// [FlatProblem::messageAt()]: position of its burst on its link.
  std::vector<int32_t> messageAt;
  /// By edge that begins a burst: how often it has been sent.
  std::vector<int32_t> carriedOf;
  const Orders *running = nullptr;
  /// [FlatProblem::messageAt()]: arrival, -1 if not made, and -2 - end of the
  /// producer if the message is held back.
  std::vector<int64_t> arrival;
  /// [letter][FlatProblem::at()]: the position of a task.
  std::array<std::vector<int32_t>, 3> positionOf;
  std::vector<int64_t> linkFree, carried, clock, held, position, work, left;
  std::vector<int32_t> done, ready;
  std::vector<std::vector<int32_t>> index;
  int32_t last = -1;
  /// Where there are cards; by link: how many messages have asked for them, and
  /// when the last of these was ready and had its turn.
  CardQueue cards;
  std::vector<int64_t> asked, turnNs;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_TIMER_H
