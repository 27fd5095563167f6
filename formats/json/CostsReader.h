//===- CostsReader.h - Measured times of stages -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// {"format": "rondo-costs/1",
//  "stages": [{"name": "s0", "forward_ns": 3, "input_grad_ns": 4,
//              "weight_grad_ns": 2}],
//  "samples": 10}
//
// A stage that recomputes may have "recompute_ns". `samples` is the number of
// measurements behind each figure; optional.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_JSON_COSTSREADER_H
#define RONDO_FORMATS_JSON_COSTSREADER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo::json {

struct StageTimes {
  std::string name;
  int64_t forwardNs = 0;
  int64_t inputGradNs = 0;
  int64_t weightGradNs = 0;
  /// Of a stage that recomputes, if it was measured.
  std::optional<int64_t> recomputeNs;
};

/// Reads one rondo-costs/1 object; stage names must be unique. An error is one
/// sentence, lower case, no final period.
llvm::Expected<std::vector<StageTimes>> readCosts(llvm::StringRef text);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_COSTSREADER_H
