//===- ForeignOrder.h - Orders as another tool wrote them -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_EXCHANGE_FOREIGNORDER_H
#define RONDO_FORMATS_EXCHANGE_FOREIGNORDER_H

#include "formats/exchange/Exchange.h"

namespace rondo::exchange {

/// A task and its place in the file, counted from 1; a row of 0 says
/// nothing about the place.
struct ForeignTask {
  int64_t stage = 0;
  ActionKind kind = ActionKind::Forward;
  int64_t microbatch = 0;
  int64_t row = 0, column = 0;
  /// One action with the next task.
  bool isJoined = false;
};

/// Indexed by rank.
using ForeignOrder = std::vector<std::vector<ForeignTask>>;

/// `row 2, column 7: `.
std::string placeOf(int64_t row, int64_t column);

/// A schedule of these orders that keeps S1 to S6 under the costs of
/// `options.problem`, whose shape must be theirs, or with every F, I and W of
/// 1 ns. O(actions).
Result<ExchangedSchedule> assemble(const ForeignOrder &order,
                                   const ImportOptions &options);

/// The problem in which every task takes 1 ns and memory is free. `rankOf` is
/// by stage.
Problem unitProblem(const std::string &name, int64_t ranks,
                    const std::vector<int64_t> &rankOf, int64_t microbatches);

} // namespace rondo::exchange

#endif // RONDO_FORMATS_EXCHANGE_FOREIGNORDER_H
