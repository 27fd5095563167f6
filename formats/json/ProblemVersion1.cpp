//===- ProblemVersion1.cpp - rondo-problem/1 to Problem -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ProblemParts.h"

#include "llvm/ADT/Twine.h"

using llvm::StringRef;

namespace rondo::json {

namespace {

constexpr StringRef stageKeys[] = {
    "rank",           "forward_ns",       "input_grad_ns",
    "weight_grad_ns", "activation_bytes", "input_grad_frees_bytes",
    "output_bytes"};

std::optional<TextFault> readRanks(const Value &ranks, Problem &problem) {
  if (!ranks.isArray())
    return "ranks is not a list";
  Elements walk(ranks);
  while (std::optional<Value> rank = walk.next()) {
    std::string where = element("ranks", problem.memoryCaps.size());
    Fields fields;
    if (auto fault = fields.read(*rank, where, {"memory_bytes"}))
      return fault;
    int64_t cap;
    if (auto fault = readMemory(fields.get("memory_bytes"),
                                where + ".memory_bytes", cap))
      return fault;
    problem.memoryCaps.push_back(cap);
  }
  if (problem.memoryCaps.empty())
    return "ranks is empty";
  return {};
}

std::optional<TextFault> readStages(const Value &stages, Problem &problem) {
  if (!stages.isArray())
    return "stages is not a list";
  std::vector<int64_t> outputBytes;
  Elements walk(stages);
  while (std::optional<Value> stage = walk.next()) {
    size_t index = outputBytes.size();
    std::string where = element("stages", index);
    Fields fields;
    if (auto fault = fields.read(*stage, where, stageKeys))
      return fault;
    int64_t figures[std::size(stageKeys)];
    for (size_t i = 0; i < std::size(stageKeys); ++i) {
      const Value &value = fields.get(stageKeys[i]);
      const std::string key = (llvm::Twine(where) + "." + stageKeys[i]).str();
      if (auto fault = i == 0
                           ? readRank(value, key, problem, figures[i])
                           : readInteger(value, key, 0, maxFigure, figures[i]))
        return fault;
    }
    auto [rank, forward, inputGrad, weightGrad, activation, frees, output] =
        figures;
    if (frees > activation)
      return where + ".input_grad_frees_bytes is " + std::to_string(frees) +
             ", more than its activation_bytes " + std::to_string(activation);
    problem.replicas.addStage(static_cast<int32_t>(rank));
    problem.costs.resize(problem.costs.size() + numCostColumns);
    problem.setStageCost(static_cast<int32_t>(index), forward, inputGrad,
                         weightGrad, activation, frees);
    outputBytes.push_back(output);
  }
  if (outputBytes.empty())
    return "stages is empty";
  problem.makeChain(outputBytes);
  return {};
}

} // namespace

std::optional<TextFault> readVersion1(Value object, Problem &problem) {
  Fields fields;
  if (auto fault =
          fields.read(object, "problem",
                      {"format", "name", "microbatches", "ranks", "stages"},
                      {"link", "links", "objective"}))
    return fault;
  if (auto fault = readName(fields, problem))
    return fault;
  if (auto fault = readMicrobatches(fields, problem))
    return fault;
  if (auto fault = readRanks(fields.get("ranks"), problem))
    return fault;
  if (auto fault = readStages(fields.get("stages"), problem))
    return fault;
  if (auto fault = readLinks(fields, {}, nullptr, problem))
    return fault;
  return readObjective(fields, problem);
}

} // namespace rondo::json
