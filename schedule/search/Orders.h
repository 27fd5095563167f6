//===- Orders.h - Shared by the parts of the search -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_ORDERS_H
#define RONDO_SCHEDULE_SEARCH_ORDERS_H

#include "schedule/partial/FlatProblem.h"
#include "schedule/search/Budget.h"
#include "schedule/search/Search.h"
#include "schedule/search/Workers.h"

#include <memory>
#include <vector>

namespace rondo {

/// A task without its micro-batch, which follows from the order: 3 * stage +
/// kind, where kind is 0, 1 or 2 for F, I or W. Variables named `letter` hold
/// that kind.
using Code = uint32_t;
constexpr int kindOf(Code code) { return int(code % 3); }
constexpr int32_t stageOf(Code code) { return int32_t(code / 3); }
constexpr Code codeOf(int letter, int32_t stage) {
  return Code(3 * stage + letter);
}

/// The string of every rank; then, if there are any, the string of every link:
/// bursts by their producers. An empty string leaves the messages in the order
/// in which they become ready.
using Orders = std::vector<std::vector<Code>>;

/// With `fuse`, adjacent I and W of a micro-batch become B.
Schedule toSchedule(const FlatProblem &flat, const Orders &orders, bool fuse);
/// Nothing if a stage or a link does not serve its micro-batches in order, or
/// if there are other actions than tasks. B becomes I and W.
std::optional<Orders> toOrders(const FlatProblem &flat,
                               const Schedule &schedule);

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
  /// A position in a string of Orders.
  struct Place {
    int32_t rank = -1;
    int64_t position = -1;
  };
  /// The bursts of a link in the order in which the last run carried them.
  const std::vector<Code> &carriedBy(int32_t link) const {
    return messagesOf[link];
  }
  /// What made a task or message start when it did: its predecessor in its
  /// string, or an input, which is a message if its link is contended; rank -1
  /// if it started at 0.
  Place cause(const Orders &orders, Place place) const;

private:
  void send(int32_t edge, int32_t k, int64_t end);
  void carry(int32_t edge, int32_t k, int64_t end);
  void transfer(int32_t edge, int32_t k, int64_t readyNs);
  bool carryNext();
  void carryBurst(int32_t edge, int32_t k, int64_t end);
  int32_t burstOf(int32_t link, Code producer) const;
  int64_t readyFor(int letter, int32_t stage, int32_t k) const;

  const FlatProblem &flat;
  std::vector<std::vector<int64_t>> start;
  /// By contended link: what has been carried, from which time on, and which
  /// micro-batch of its producer each burst was.
  std::vector<std::vector<Code>> messagesOf;
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
  Network network;
  std::vector<int64_t> carried, clock, held, position, work, left;
  std::vector<int32_t> done, ready;
  std::vector<std::vector<int32_t>> index;
  int32_t last = -1;
};

/// The best schedule so far. Only the objective decides what is better.
struct Incumbent {
  Orders orders;
  int64_t objective = never;
  std::string origin;
  /// No schedule has an objective below this.
  int64_t bound = 0;
  /// Once a beam has gone through all its choices: none of them is below this.
  /// It is the objective, except with NICs, which the beam leaves out.
  int64_t exhaustedNs = 0;
  /// Called with each better objective.
  std::function<void(int64_t)> onBetter;

  bool isOptimal() const { return objective <= bound; }
  bool offer(const Orders &candidate, int64_t value, const char *by) {
    if (value >= objective)
      return false;
    orders = candidate;
    objective = value;
    origin = by;
    if (onBetter)
      onBetter(value);
    return true;
  }
};

/// Layered search over partial schedules, guided by the propagated bound; at
/// most `width` states per layer. True if only what a bound or dominance
/// excludes was cut off: then no schedule is better than the incumbent's
/// `exhaustedNs`. Workers, if there are any, change nothing but the time.
bool beam(const FlatProblem &flat, int64_t width, Incumbent &best,
          Budget &budget, Workers *workers = nullptr);

/// A part of the search that keeps what it has learnt between its turns.
class Part {
public:
  virtual ~Part() = default;
  /// Works until this many more tasks are used; always makes one schedule if
  /// the incumbent has none.
  virtual void run(int64_t tasks) = 0;
  /// The best objective of its own.
  virtual int64_t value() const = 0;
};

/// Periodic steady-state patterns: each stage runs at an offset of a common
/// period; ramps and W follow by dispatching. Changes offsets.
std::unique_ptr<Part> tuneSteadyPattern(const FlatProblem &flat, uint64_t seed,
                                        Incumbent &best, Budget &budget);

/// Makes orders that keep the caps, with any orders as priorities, and changes
/// the priorities.
std::unique_ptr<Part> replay(const FlatProblem &flat, uint64_t seed,
                             Orders orders, Incumbent &best, Budget &budget);

/// Searches neighbourhoods in time of the incumbent anew, several ranks
/// together.
std::unique_ptr<Part> searchNeighbourhoods(const FlatProblem &flat,
                                           uint64_t seed, Incumbent &best,
                                           Budget &budget);

/// search() with a robustness.
SearchResult searchRobust(const Problem &problem, const SearchOptions &options);

/// Moves tasks on the critical path of the incumbent; starts there in each
/// turn.
std::unique_ptr<Part> localSearch(const FlatProblem &flat, uint64_t seed,
                                  Incumbent &best, Budget &budget);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_ORDERS_H
