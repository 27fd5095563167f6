//===- OptionTables.cpp - The options of each command ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/OptionTables.h"

#include "llvm/Option/Option.h"

namespace {

namespace blame {
#define OPTIONS "tools/driver/options/Blame.inc"
#include "tools/driver/OptionTable.inc"
} // namespace blame

namespace bundle {
#define OPTIONS "tools/driver/options/Bundle.inc"
#include "tools/driver/OptionTable.inc"
} // namespace bundle

namespace candidates {
#define OPTIONS "tools/driver/options/Candidates.inc"
#include "tools/driver/OptionTable.inc"
} // namespace candidates

namespace compare {
#define OPTIONS "tools/driver/options/Compare.inc"
#include "tools/driver/OptionTable.inc"
} // namespace compare

namespace compile {
#define OPTIONS "tools/driver/options/Compile.inc"
#include "tools/driver/OptionTable.inc"
} // namespace compile

namespace diff {
#define OPTIONS "tools/driver/options/Diff.inc"
#include "tools/driver/OptionTable.inc"
} // namespace diff

namespace export_ {
#define OPTIONS "tools/driver/options/Export.inc"
#include "tools/driver/OptionTable.inc"
} // namespace export_

namespace import {
#define OPTIONS "tools/driver/options/Import.inc"
#include "tools/driver/OptionTable.inc"
} // namespace import

namespace import_model {
#define OPTIONS "tools/driver/options/ImportModel.inc"
#include "tools/driver/OptionTable.inc"
} // namespace import_model

namespace import_profile {
#define OPTIONS "tools/driver/options/ImportProfile.inc"
#include "tools/driver/OptionTable.inc"
} // namespace import_profile

namespace import_cluster {
#define OPTIONS "tools/driver/options/ImportCluster.inc"
#include "tools/driver/OptionTable.inc"
} // namespace import_cluster

namespace plan {
#define OPTIONS "tools/driver/options/Plan.inc"
#include "tools/driver/OptionTable.inc"
} // namespace plan

namespace search {
#define OPTIONS "tools/driver/options/Search.inc"
#include "tools/driver/OptionTable.inc"
} // namespace search

namespace show {
#define OPTIONS "tools/driver/options/Show.inc"
#include "tools/driver/OptionTable.inc"
} // namespace show

namespace simulate {
#define OPTIONS "tools/driver/options/Simulate.inc"
#include "tools/driver/OptionTable.inc"
} // namespace simulate

namespace verify {
#define OPTIONS "tools/driver/options/Verify.inc"
#include "tools/driver/OptionTable.inc"
} // namespace verify

namespace versions {
#define OPTIONS "tools/driver/options/Versions.inc"
#include "tools/driver/OptionTable.inc"
} // namespace versions

} // namespace

using llvm::opt::OptTable;

namespace rondo::driver {

const OptTable &blameOptions() {
  static const blame::Table table;
  return table;
}

const OptTable &bundleOptions() {
  static const bundle::Table table;
  return table;
}

const OptTable &candidatesOptions() {
  static const candidates::Table table;
  return table;
}

const OptTable &compareOptions() {
  static const compare::Table table;
  return table;
}

const OptTable &compileOptions() {
  static const compile::Table table;
  return table;
}

const OptTable &diffOptions() {
  static const diff::Table table;
  return table;
}

const OptTable &exportOptions() {
  static const export_::Table table;
  return table;
}

const OptTable &importOptions() {
  static const import::Table table;
  return table;
}

const OptTable &importModelOptions() {
  static const import_model::Table table;
  return table;
}

const OptTable &importProfileOptions() {
  static const import_profile::Table table;
  return table;
}

const OptTable &importClusterOptions() {
  static const import_cluster::Table table;
  return table;
}

const OptTable &planOptions() {
  static const plan::Table table;
  return table;
}

const OptTable &searchOptions() {
  static const search::Table table;
  return table;
}

const OptTable &showOptions() {
  static const show::Table table;
  return table;
}

const OptTable &simulateOptions() {
  static const simulate::Table table;
  return table;
}

const OptTable &verifyOptions() {
  static const verify::Table table;
  return table;
}

const OptTable &versionsOptions() {
  static const versions::Table table;
  return table;
}

} // namespace rondo::driver
