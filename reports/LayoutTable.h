//===- LayoutTable.h - Layouts of a model on device groups ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_REPORTS_LAYOUTTABLE_H
#define RONDO_REPORTS_LAYOUTTABLE_H

#include "planning/groups/Changes.h"
#include "planning/groups/LayoutSearch.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

namespace rondo {

/// The model and the devices of all rows of a table.
struct LayoutContext {
  const groups::Transformer &model;
  const groups::Machines &machines;
  /// Peak of bf16 products of all devices together, in operations a second.
  double peak() const;
  /// Floating-point operations of an iteration of `samples`.
  double operations(int64_t samples) const;
};

/// A row for each layout, after the names of the columns.
void printLayouts(llvm::raw_ostream &os, const LayoutContext &context,
                  llvm::ArrayRef<groups::FoundLayout> layouts);

/// A row for each change, with its gain over `time`, in seconds.
void printChanges(llvm::raw_ostream &os, const LayoutContext &context,
                  double time, llvm::ArrayRef<groups::Change> changes);

} // namespace rondo

#endif // RONDO_REPORTS_LAYOUTTABLE_H
