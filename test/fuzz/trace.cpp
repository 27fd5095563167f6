//===- trace.cpp - Fuzzes the reader of PyTorch's traces ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/TraceReader.h"
#include "test/fuzz/Target.h"

using namespace rondo;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  json::StageTraces traces;
  if (std::optional<Fault> fault = traces.add(fuzz::textOf(data, size))) {
    fuzz::require(!describe(*fault).empty(), "an error says why");
    return 0;
  }
  Result<json::Costs> costs = traces.medians();
  if (!costs) {
    fuzz::require(!describe(costs.fault()).empty(), "an error says why");
    return 0;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  json::writeCosts(*costs, os);
  Result<json::Costs> again = json::readCosts(text);
  fuzz::require(bool(again) && again->stages.size() == costs->stages.size() &&
                    traces.samples() > 0,
                "what is written can be read");
  return 0;
}
