//===- CostsReader.cpp - Measured times of stages -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/CostsReader.h"

#include "formats/json/Rows.h"
#include "schedule/model/Problem.h"

#include "llvm/ADT/STLExtras.h"

using llvm::StringRef;

namespace rondo::json {

using Check = std::optional<TextFault>;

static Check readLayerNames(const Place &place, Value value,
                            StageTimes &stage) {
  if (!value.isArray())
    return place.fault(value, " is not a list of names");
  Elements walk(value);
  while (std::optional<Value> element = walk.next()) {
    std::optional<std::string> layer = element->string();
    if (!layer)
      return place.fault(*element,
                         " has " + element->excerpt() + ", not a string");
    stage.layers.push_back(*layer);
  }
  return {};
}

static Check checkStages(const Place &place, Value value, const Costs &costs) {
  for (const auto &[index, stage] : llvm::enumerate(costs.stages)) {
    const std::string &name = stage.name;
    if (llvm::any_of(
            llvm::ArrayRef(costs.stages).take_front(index),
            [&](const StageTimes &other) { return other.name == name; }))
      return place["stages"][index].fault(value, " is the second one named " +
                                                     quoted(name));
    if (stage.taskSamples > costs.microbatchSamples)
      return place["stages"][index]["task_samples"].fault(
          value, " is " + std::to_string(stage.taskSamples) +
                     ", more than the " +
                     std::to_string(costs.microbatchSamples) +
                     " of a micro-batch (microbatch_samples)");
  }
  return {};
}

namespace {
#include "formats/json/CostsKeys.def"
} // namespace

const Table<Costs> &costsTable() { return costs(); }

Result<Costs> readCosts(StringRef text) {
  Costs costs;
  Context context;
  Check fault;
  if (text.trim().empty())
    fault = "the file is empty; expected one rondo-costs/1 object";
  else if (!(fault = checkSyntax(text)))
    fault = costsTable().read(Place(context, "costs"), Value(text), costs);
  else
    fault = withWords("", *fault,
                      "; expected one rondo-costs/1 object, which is JSON");
  if (fault)
    return *fault;
  return costs;
}

void writeCosts(const Costs &costs, llvm::raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("format", "rondo-costs/1");
    costsTable().write(json, costs);
  });
  os << "\n";
}

} // namespace rondo::json
