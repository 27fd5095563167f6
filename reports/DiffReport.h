//===- DiffReport.h - Prediction and measurement ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_REPORTS_DIFFREPORT_H
#define RONDO_REPORTS_DIFFREPORT_H

#include "formats/timeline/Pictures.h"
#include "schedule/timeline/Differences.h"
#include "schedule/timeline/TimeUse.h"

#include "llvm/Support/raw_ostream.h"

namespace rondo {

struct DiffReport {
  /// The schedule's title and problem, simulated or of a trace, and what its
  /// times are called: `predicted`, or `other run`.
  const timeline::Panel &predicted;
  const char *word;
  const MeasuredIteration &iteration;
  /// Number of iterations in the trace, and whether the user chose this one.
  int64_t iterations = 0;
  bool isChosen = false;
  std::vector<TimeUse> predictedUse, measuredUse;
  std::vector<Difference> differences;

  void writeText(llvm::raw_ostream &os) const;
  /// rondo-diff/1.
  void writeJson(llvm::raw_ostream &os) const;
};

} // namespace rondo

#endif // RONDO_REPORTS_DIFFREPORT_H
