//===- MicrobatchOrder.h - Orders of micro-batches --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_MODEL_MICROBATCHORDER_H
#define RONDO_SCHEDULE_MODEL_MICROBATCHORDER_H

#include "schedule/model/Problem.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace rondo {

/// Which orders of micro-batches a search may choose. Every class but Free
/// states one order of all micro-batches, in which all stages add gradients.
enum class OrderClass : uint8_t {
  /// F, I and W of every stage by index.
  Index,
  /// W by index.
  Sums,
  /// F, I and W of every stage in one order.
  Perm,
  /// W of every stage in one order.
  WPerm,
  /// Every stage in any order; the last bits of sums differ.
  Free,
};
inline constexpr const char *orderClassWords[] = {"index", "sums", "perm",
                                                  "wperm", "free"};

constexpr bool ordersForwards(OrderClass orders) {
  return orders == OrderClass::Index || orders == OrderClass::Perm;
}
constexpr bool ordersWeightGrads(OrderClass orders) {
  return orders != OrderClass::Free;
}
/// Whether the order is by index.
constexpr bool isOrderGiven(OrderClass orders) {
  return orders == OrderClass::Index || orders == OrderClass::Sums;
}

/// A rule that orders micro-batches by their total time over all stages.
enum class LengthOrder : uint8_t {
  Given,
  Ascending,
  Descending,
  /// The longest, the shortest, the second longest, ...
  LongShort,
};
inline constexpr const char *lengthOrderWords[] = {"given", "ascending",
                                                   "descending", "long_short"};
inline constexpr LengthOrder allLengthOrders[] = {
    LengthOrder::Given, LengthOrder::Ascending, LengthOrder::Descending,
    LengthOrder::LongShort};

/// [micro-batch]: ns of F, I, W and R over all stages.
std::vector<int64_t> lengthsOf(const Problem &problem);

/// The micro-batches in the order of a rule; ties by index.
std::vector<int32_t> orderByLength(const Problem &problem, LengthOrder rule);

/// Whether the order is 0, 1, 2, ...
bool isIndexOrder(const std::vector<int32_t> &order);

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_MICROBATCHORDER_H
