//===- Orders.h - Sequences of tasks and messages ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_ORDERS_H
#define RONDO_SCHEDULE_SEARCH_ORDERS_H

#include "schedule/model/Schedule.h"
#include "schedule/partial/FlatProblem.h"

#include <optional>
#include <vector>

namespace rondo {

/// The micro-batch of each task follows from the order.
using Sequence = std::vector<Code>;

/// A rank or a link, each of which does one thing at a time.
struct Machine {
  /// -1: none.
  int32_t number = -1;
  bool isLink = false;

  bool operator==(const Machine &other) const {
    return number == other.number && isLink == other.isLink;
  }
};

/// The sequences of all machines.
struct Orders {
  /// [rank]: its tasks.
  std::vector<Sequence> ranks;
  /// [link]: the producers of its bursts; or empty. An empty sequence leaves
  /// the messages of a link in the order in which they become ready.
  std::vector<Sequence> links;

  bool empty() const { return ranks.empty(); }
  Sequence &of(Machine machine) {
    return (machine.isLink ? links : ranks)[machine.number];
  }
  const Sequence &of(Machine machine) const {
    return (machine.isLink ? links : ranks)[machine.number];
  }
};

/// With `fuse`, adjacent I and W of a micro-batch become B.
Schedule toSchedule(const FlatProblem &flat, const Orders &orders, bool fuse);
/// Nothing if a stage or a link does not serve its micro-batches in order, or
/// if there are other actions than tasks. B becomes I and W.
std::optional<Orders> toOrders(const FlatProblem &flat,
                               const Schedule &schedule);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_ORDERS_H
