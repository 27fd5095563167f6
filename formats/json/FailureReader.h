//===- FailureReader.h - What a rank did when its run failed ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_FAILUREREADER_H
#define RONDO_FORMATS_JSON_FAILUREREADER_H

#include "schedule/model/Fault.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo::json {

/// A rank that another one waits for, or waited for.
struct FailureWait {
  int64_t rank = 0;
  /// `arrival`, `release`, `collective`; empty: it is over.
  std::string what;
  /// `1F0`, `all_reduce 0`.
  std::string name;
  /// The time it took; -1 if it is not over or was not measured.
  int64_t ns = -1;
};

struct FailureAction {
  /// `1F0`, `send 1F0`; or `begin`, `drain`, `idle`.
  std::string name, kind;
  /// From 1; 0: not an iteration of the training.
  int64_t iteration = 0;
  /// Since the run began; the end is -1 of what is not finished.
  int64_t startNs = 0, endNs = -1;
  std::optional<FailureWait> wait;

  bool isUnfinished() const { return endNs < 0; }
};

/// A file of rondo-failure/1.
struct Failure {
  std::string run, program, schedule;
  int64_t rank = 0, ranks = 1;
  enum class Ending { Error, Timeout, Stopped } ended = Ending::Error;
  std::string error;
  int64_t endedNs = 0;
  /// Oldest first; only the last one may be unfinished.
  std::vector<FailureAction> actions;
};

/// The keys of rondo-failure/1.
const class TableBase &failureTable();

/// The error names the place in the text.
Result<Failure> readFailure(llvm::StringRef text);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_FAILUREREADER_H
