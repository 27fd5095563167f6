//===- costs.cpp - Fuzzes the reader of rondo-costs/1 ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/CostsReader.h"
#include "test/fuzz/Target.h"

#include <set>

using namespace rondo;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Result<json::Costs> costs = json::readCosts(fuzz::textOf(data, size));
  if (!costs) {
    fuzz::require(!describe(costs.fault()).empty(), "an error says why");
    return 0;
  }
  std::set<std::string> names;
  for (const json::StageTimes &stage : costs->stages) {
    fuzz::require(names.insert(stage.name).second, "names are unique");
    fuzz::require(stage.forwardNs >= 0 && stage.inputGradNs >= 0 &&
                      stage.weightGradNs >= 0,
                  "times are not negative");
  }
  return 0;
}
