//===- OptionTables.h - The options of each command -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Made by TableGen from options/*.td.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TOOLS_DRIVER_OPTIONTABLES_H
#define RONDO_TOOLS_DRIVER_OPTIONTABLES_H

#include "llvm/Option/OptTable.h"

namespace rondo::driver {

/// Flags of values from options/Shared.td.
namespace option_flags {
enum : unsigned {
  Number = 1u << 4,
  Positive = 1u << 5,
  Word = 1u << 6,
  Family = 1u << 7,
  Repeatable = 1u << 8,
};
} // namespace option_flags

/// In every table.
enum : unsigned { InputOption = 1, UnknownOption = 2 };

const llvm::opt::OptTable &blameOptions();
const llvm::opt::OptTable &bundleOptions();
const llvm::opt::OptTable &candidatesOptions();
const llvm::opt::OptTable &compareOptions();
const llvm::opt::OptTable &compileOptions();
const llvm::opt::OptTable &diffOptions();
const llvm::opt::OptTable &exportOptions();
const llvm::opt::OptTable &importOptions();
const llvm::opt::OptTable &importModelOptions();
const llvm::opt::OptTable &importProfileOptions();
const llvm::opt::OptTable &importClusterOptions();
const llvm::opt::OptTable &planOptions();
const llvm::opt::OptTable &searchOptions();
const llvm::opt::OptTable &showOptions();
const llvm::opt::OptTable &simulateOptions();
const llvm::opt::OptTable &verifyOptions();
const llvm::opt::OptTable &versionsOptions();

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_OPTIONTABLES_H
