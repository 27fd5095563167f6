//===- CostsReader.h - Measured times of stages -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// {"format": "rondo-costs/1",
//  "stages": [{"name": "s0", "forward_ns": 3, "input_grad_ns": 4,
//              "weight_grad_ns": 2, "layers": ["wte", "h0"],
//              "task_samples": 2}],
//  "samples": 10, "microbatch_samples": 4, "target": "cpu", "dtype": "fp32"}
//
// A stage that recomputes may have "recompute_ns". `samples` is the number of
// measurements behind each figure. Times are for whole micro-batches, also of a
// stage whose replicas share their samples; then `task_samples` are those of
// the largest share. It, `samples`, the layers of a stage, and what was
// measured are optional; without these, times are those of a plan's stages
// alone.
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
  /// Names; empty if they are not stated.
  std::vector<std::string> layers;
  /// Of a micro-batch, what one task has at most; 0: all.
  int64_t taskSamples = 0;
};

struct Costs {
  std::vector<StageTimes> stages;
  /// Of the micro-batches that were measured; 0 if it is not stated.
  int64_t microbatchSamples = 0;
  /// `cpu`, `fp32`; empty if they are not stated.
  std::string target, dtype;
};

/// Reads one rondo-costs/1 object; stage names must be unique. An error is one
/// sentence, lower case, no final period.
llvm::Expected<Costs> readCosts(llvm::StringRef text);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_COSTSREADER_H
