//===- BatchLimitsTable.h - Limits of the batches of a program --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_BATCHLIMITSTABLE_H
#define RONDO_CODEGEN_BATCHLIMITSTABLE_H

#include "kinds/AffineCost.h"

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::codegen {

/// As a BatchLimitsDesc has them.
struct BatchLimitsText {
  int64_t rowTokens = 0, documentTokens = 0, inFlightTokens = 0;
  int32_t microbatches = 0;
  /// Indexed by rank.
  std::vector<int64_t> activationBytes;
  /// [replica * numCostColumns + costColumn(kind)]
  std::vector<AffineCost> workNs;
};

/// The object `limits`, and what it refers to.
std::string batchLimitsTable(const BatchLimitsText &limits);

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_BATCHLIMITSTABLE_H
