//===- Dispatch.h - Runs a periodic pattern into an order -------*- C++ -*-===//

#ifndef RONDO_SCHEDULE_SEARCH_DISPATCH_H
#define RONDO_SCHEDULE_SEARCH_DISPATCH_H

#include "schedule/bounds/Propagation.h"
#include "schedule/search/Orders.h"

namespace rondo {

/// When each F and I would run in an endless steady state:
///   offset[letter][stage] + group of k * group * period + place in group *
///   step
/// Only the order of these times matters.
struct Pattern {
  std::array<std::vector<int64_t>, 2> offset;
  int64_t period = 0;
  int64_t group = 1;
  int64_t step = 0;
  enum class Discipline : uint8_t {
    /// The earliest target of what can start now.
    Ready,
    /// Of F only the one with the earliest target that fits; I as it comes.
    ForwardInOrder,
    /// Only the earliest target of what fits, even if it is not there yet.
    InOrder,
  } discipline = Discipline::Ready;
  /// W may delay a message that is known to come by this share of W, in 1/8.
  int32_t patience = 4;
  /// From this many pending W of a rank on, W goes before F; twice as many go
  /// before I, too.
  int32_t backlog = unlimited;
  static constexpr int32_t unlimited = 1 << 24;
  /// Where filled, [letter][Chain::at()] in place of offsets.
  std::array<std::vector<int64_t>, 2> targets;
};

/// Runs a pattern in time order: F where it fits and every micro-batch can
/// still be finished, W where nothing else can start. All caps hold.
class Dispatcher {
public:
  explicit Dispatcher(const Chain &chain);

  /// The objective, or `never` where it is above `ceiling` or the pattern comes
  /// to a halt. O(tasks * stages of a rank + tasks * log ranks).
  int64_t run(const Pattern &pattern, int64_t ceiling);
  const Orders &orders() const { return made; }
  /// Tasks that the last run placed.
  int64_t placed() const { return count; }

private:
  struct Event {
    int64_t time;
    int32_t rank;
    bool operator<(const Event &other) const {
      return time != other.time ? time > other.time : rank > other.rank;
    }
  };
  int64_t target(const Pattern &pattern, int letter, int32_t stage) const;
  void decide(const Pattern &pattern, int32_t rank, int64_t now);
  void place(int letter, int32_t stage, int64_t start);
  int32_t pendingWeightGrad(int32_t rank, int64_t &pending) const;

  const Chain &chain;
  PartialState empty, state;
  std::vector<Event> events;
  std::vector<int64_t> work, left;
  Orders made;
  int64_t count = 0, latest = 0;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_DISPATCH_H
