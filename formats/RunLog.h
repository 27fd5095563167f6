//===- RunLog.h - Times of iterations in logs of training -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_RUNLOG_H
#define RONDO_FORMATS_RUNLOG_H

#include "schedule/model/Fault.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace rondo::formats {

struct RunLog {
  /// The median of the later half of the logged iterations: one of these is
  /// set. Megatron logs ns of an iteration, torchtitan tokens a second and
  /// device.
  double iterationNs = 0, tokensPerSecond = 0;
  /// Lines that count.
  int64_t iterations = 0;
};

/// Reads lines with `elapsed time per iteration (ms): 1234.5` of Megatron-LM,
/// or with `tps: 7,123` of torchtitan; other lines are passed over. The fault
/// says what was looked for. O(text).
Result<RunLog> readRunLog(llvm::StringRef text);

} // namespace rondo::formats

#endif // RONDO_FORMATS_RUNLOG_H
