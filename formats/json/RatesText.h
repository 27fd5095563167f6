//===- RatesText.h - What a stack reaches on devices ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// rondo-rates/1: how the measured time of one run compares with its predicted
// time. docs/formats.md has its keys.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_JSON_RATESTEXT_H
#define RONDO_FORMATS_JSON_RATESTEXT_H

#include "planning/groups/Layout.h"
#include "schedule/model/Fault.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace rondo::json {

struct Rates {
  std::string device;
  groups::Stack stack = groups::Stack::MegatronCore;
  groups::Precision precision = groups::Precision::Bf16;
  /// Times of an iteration.
  int64_t measuredNs = 0, predictedNs = 0;
  /// The file that was measured, and the iterations that count.
  std::string origin;
  int64_t iterations = 0;

  /// Predicted times are to be multiplied by this.
  double scale() const { return double(measuredNs) / double(predictedNs); }
};

/// The keys of rondo-rates/1.
const class TableBase &ratesTable();

/// Reads one rondo-rates/1 object. An error is one sentence.
Result<Rates> readRates(llvm::StringRef text);

/// Writes rondo-rates/1 as a file.
void writeRates(const Rates &rates, llvm::raw_ostream &os);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_RATESTEXT_H
