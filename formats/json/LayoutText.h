//===- LayoutText.h - Layouts of models on groups of devices ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// rondo-layout/1: what `rondo plan groups` chooses, and what command lines of
// other tools are written from and read into. docs/formats.md has its keys.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_JSON_LAYOUTTEXT_H
#define RONDO_FORMATS_JSON_LAYOUTTEXT_H

#include "planning/groups/Constants.h"
#include "planning/groups/Run.h"
#include "schedule/model/Fault.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

namespace rondo::json {

/// The device's name and its rates.
struct NamedMachines {
  std::string device;
  groups::Machines machines;
};

struct PlannedRun {
  groups::Run run;
  NamedMachines on;
  /// The time of an iteration, and the bytes of the fullest device.
  std::optional<int64_t> predictedNs, predictedBytes;
};

/// The keys of rondo-layout/1.
const class TableBase &layoutTable();

/// Reads one rondo-layout/1 object, whose layout has no fault(). An error is
/// one sentence, lower case, no final period.
Result<PlannedRun> readLayout(llvm::StringRef text);

/// Writes rondo-layout/1 as a file.
void writeLayout(const PlannedRun &run, llvm::raw_ostream &os);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_LAYOUTTEXT_H
