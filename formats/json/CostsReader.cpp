//===- CostsReader.cpp - Measured times of stages -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/CostsReader.h"

#include "formats/json/Fields.h"
#include "schedule/model/Problem.h"

#include "llvm/ADT/STLExtras.h"

using llvm::StringRef;

namespace rondo::json {

namespace {

/// Problem::check() limits sums.
constexpr int64_t maxNs = int64_t(1) << 62;

std::optional<TextFault> readStage(Value value, const std::string &where,
                                   StageTimes &stage) {
  Fields fields;
  if (auto fault =
          fields.read(value, where,
                      {"name", "forward_ns", "input_grad_ns", "weight_grad_ns"},
                      {"recompute_ns", "layers", "task_samples"}))
    return fault;
  std::optional<std::string> name = fields.get("name").string();
  if (!name)
    return where + ".name is " + fields.get("name").excerpt() +
           ", not a string";
  stage.name = *name;
  for (auto [key, ns] : {std::pair("forward_ns", &stage.forwardNs),
                         std::pair("input_grad_ns", &stage.inputGradNs),
                         std::pair("weight_grad_ns", &stage.weightGradNs)})
    if (auto fault =
            readInteger(fields.get(key), where + "." + key, 0, maxNs, *ns))
      return fault;
  if (const Value *value = fields.find("recompute_ns"))
    if (auto fault = readInteger(*value, where + ".recompute_ns", 0, maxNs,
                                 stage.recomputeNs.emplace()))
      return fault;
  if (const Value *value = fields.find("task_samples"))
    if (auto fault = readInteger(*value, where + ".task_samples", 1, maxSamples,
                                 stage.taskSamples))
      return fault;
  if (const Value *value = fields.find("layers")) {
    if (!value->isArray())
      return where + ".layers is not a list of names";
    Elements walk(*value);
    while (std::optional<Value> element = walk.next()) {
      std::optional<std::string> layer = element->string();
      if (!layer)
        return where + ".layers has " + element->excerpt() + ", not a string";
      stage.layers.push_back(*layer);
    }
  }
  return {};
}

std::optional<TextFault> fill(Value value, Costs &costs) {
  std::vector<StageTimes> &stages = costs.stages;
  Fields fields;
  if (auto fault =
          fields.read(value, "costs", {"format", "stages"},
                      {"samples", "microbatch_samples", "target", "dtype"}))
    return fault;
  if (fields.get("format").string() != "rondo-costs/1")
    return "format is " + fields.get("format").excerpt() +
           ", not \"rondo-costs/1\"";
  int64_t samples;
  if (const Value *value = fields.find("samples"))
    if (auto fault = readInteger(*value, "samples", 0, maxNs, samples))
      return fault;
  if (const Value *value = fields.find("microbatch_samples"))
    if (auto fault = readInteger(*value, "microbatch_samples", 1, maxSamples,
                                 costs.microbatchSamples))
      return fault;
  for (auto [key, word] :
       {std::pair("target", &costs.target), std::pair("dtype", &costs.dtype)})
    if (const Value *value = fields.find(key)) {
      if (!value->string())
        return std::string(key) + " is " + value->excerpt() + ", not a string";
      *word = *value->string();
    }
  if (!fields.get("stages").isArray())
    return "stages is not a list";
  Elements walk(fields.get("stages"));
  while (std::optional<Value> element = walk.next()) {
    StageTimes stage;
    std::string where = "stages[" + std::to_string(stages.size()) + "]";
    if (auto fault = readStage(*element, where, stage))
      return fault;
    if (llvm::any_of(stages, [&](const StageTimes &other) {
          return other.name == stage.name;
        }))
      return where + " is the second one named " + quoted(stage.name);
    if (stage.taskSamples > costs.microbatchSamples)
      return where + ".task_samples is " + std::to_string(stage.taskSamples) +
             ", more than the " + std::to_string(costs.microbatchSamples) +
             " of a micro-batch (microbatch_samples)";
    stages.push_back(std::move(stage));
  }
  return {};
}

} // namespace

llvm::Expected<Costs> readCosts(StringRef text) {
  Costs costs;
  std::optional<TextFault> fault;
  if (text.trim().empty())
    fault = "the file is empty; expected one rondo-costs/1 object";
  else if (!(fault = checkSyntax(text)))
    fault = fill(Value(text), costs);
  else
    fault->message += "; expected one rondo-costs/1 object, which is JSON";
  if (fault)
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   fault->message);
  return costs;
}

} // namespace rondo::json
