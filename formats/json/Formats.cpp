//===- Formats.cpp - The formats whose keys are tables --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/Formats.h"

#include "formats/json/Cluster.h"
#include "formats/json/CostsReader.h"
#include "formats/json/FailureReader.h"
#include "formats/json/LayoutText.h"
#include "formats/json/PlanningReader.h"
#include "formats/json/ProblemText.h"
#include "formats/json/RatesText.h"
#include "formats/json/Table.h"

#include <tuple>

void rondo::json::writeFormats(llvm::raw_ostream &os) {
  const std::tuple<const char *, const TableBase *, int> formats[] = {
      {"rondo-problem/1", &problemTable(1), 1},
      {"rondo-problem/2", &problemTable(2), 2},
      {"rondo-costs/1", &costsTable(), 1},
      {"rondo-cluster/1", &clusterTable(), 1},
      {"rondo-planning/1", &planningTable(), 1},
      {"rondo-layout/1", &layoutTable(), 1},
      {"rondo-rates/1", &ratesTable(), 1},
      {"rondo-failure/1", &failureTable(), 1}};
  for (const auto &[name, table, version] : formats) {
    os << "## " << name << "\n\n";
    writeRows(os, *table, version);
    os << "\n";
  }
}
