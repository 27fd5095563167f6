//===- CostsReader.cpp - Measured times of stages -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/CostsReader.h"

#include "formats/json/Fields.h"

#include "llvm/ADT/STLExtras.h"

using llvm::StringRef;

namespace rondo::json {

namespace {

/// Problem::check() limits sums.
constexpr int64_t mostNs = int64_t(1) << 62;

Fault readStage(Value value, const std::string &where, StageTimes &stage) {
  Fields fields;
  if (Fault fault = fields.read(
          value, where,
          {"name", "forward_ns", "input_grad_ns", "weight_grad_ns"});
      !fault.empty())
    return fault;
  std::optional<std::string> name = fields.get("name").string();
  if (!name)
    return where + ".name is " + fields.get("name").excerpt() +
           ", not a string";
  stage.name = *name;
  for (auto [key, ns] : {std::pair("forward_ns", &stage.forwardNs),
                         std::pair("input_grad_ns", &stage.inputGradNs),
                         std::pair("weight_grad_ns", &stage.weightGradNs)})
    if (Fault fault =
            readInteger(fields.get(key), where + "." + key, 0, mostNs, *ns);
        !fault.empty())
      return fault;
  return {};
}

Fault fill(Value value, std::vector<StageTimes> &stages) {
  Fields fields;
  if (Fault fault =
          fields.read(value, "costs", {"format", "stages"}, {"samples"});
      !fault.empty())
    return fault;
  if (fields.get("format").string() != "rondo-costs/1")
    return "format is " + fields.get("format").excerpt() +
           ", not \"rondo-costs/1\"";
  int64_t samples;
  if (const Value *value = fields.find("samples"))
    if (Fault fault = readInteger(*value, "samples", 0, mostNs, samples);
        !fault.empty())
      return fault;
  if (!fields.get("stages").isArray())
    return "stages is not a list";
  Elements walk(fields.get("stages"));
  while (std::optional<Value> element = walk.next()) {
    StageTimes stage;
    std::string where = "stages[" + std::to_string(stages.size()) + "]";
    if (Fault fault = readStage(*element, where, stage); !fault.empty())
      return fault;
    if (llvm::any_of(stages, [&](const StageTimes &other) {
          return other.name == stage.name;
        }))
      return where + " is the second one named " + quoted(stage.name);
    stages.push_back(std::move(stage));
  }
  return {};
}

} // namespace

llvm::Expected<std::vector<StageTimes>> readCosts(StringRef text) {
  std::vector<StageTimes> stages;
  Fault fault;
  if (text.trim().empty())
    fault = "the file is empty; expected one rondo-costs/1 object";
  else if (std::optional<SyntaxFault> syntax = checkSyntax(text))
    fault = describe(*syntax, text);
  else
    fault = fill(Value(text), stages);
  if (!fault.empty())
    return llvm::createStringError(llvm::inconvertibleErrorCode(), fault);
  return stages;
}

} // namespace rondo::json
