//===- CostsReader.h - Measured times of stages -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// {"format": "rondo-costs/1",
//  "stages": [{"name": "s0", "forward_ns": 3, "input_grad_ns": 4,
//              "weight_grad_ns": 2, "layers": ["wte", "h0"],
//              "task_samples": 2}],
//  "samples": 10, "microbatch_samples": 4, "target": "cpu", "dtype": "fp32",
//  "threads": 2, "host_link": {"latency_ns": 9000, "bytes_per_us": 12000}}
//
// A stage that recomputes may have "recompute_ns". `samples` is the number of
// measurements per figure. Times are for whole micro-batches, also of a
// stage whose replicas share their samples; then `task_samples` are those of
// the largest share. It, `samples`, the layers of a stage, and what was
// measured are optional; without these, times are those of a plan's stages
// alone.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_JSON_COSTSREADER_H
#define RONDO_FORMATS_JSON_COSTSREADER_H

#include "schedule/model/Fault.h"
#include "schedule/model/HostMemory.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

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
  /// Nothing if the stage does not recompute or was not measured.
  std::optional<int64_t> recomputeNs;
  /// Names; empty if they are not stated.
  std::vector<std::string> layers;
  /// Maximum samples of one task; 0: all of a micro-batch.
  int64_t taskSamples = 0;
};

struct Costs {
  std::vector<StageTimes> stages;
  /// Measurements per figure; 0 if it is not stated.
  int64_t samples = 0;
  /// Samples of the measured micro-batches; 0 if it is not stated.
  int64_t microbatchSamples = 0;
  /// `cpu`, `fp32`; empty if they are not stated.
  std::string target, dtype;
  /// Threads of each rank while tasks were measured; 0 if it is not stated.
  int64_t threads = 0;
  /// Link of the first device to its host; nothing if it was not measured.
  std::optional<HostLink> hostLink;
};

template <typename T> class Table;
/// The keys of rondo-costs/1.
const Table<Costs> &costsTable();

/// Reads one rondo-costs/1 object; stage names must be unique. An error is one
/// sentence, lower case, no final period.
Result<Costs> readCosts(llvm::StringRef text);

/// Writes rondo-costs/1 as a file.
void writeCosts(const Costs &costs, llvm::raw_ostream &os);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_COSTSREADER_H
