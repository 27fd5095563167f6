//===- ShardedStages.cpp - `shard` of rondo-problem/2 ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ShardedStages.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace rondo::json {

/// By ShardedState.
static constexpr const char *words[] = {"none", "optimizer", "gradients",
                                        "weights"};

std::optional<TextFault> readShard(const Fields &stage,
                                   const std::string &where, size_t replicas,
                                   ShardedState &what, int32_t &shards) {
  what = ShardedState::None;
  shards = 1;
  const Value *shard = stage.find("shard");
  if (!shard || shard->isNull())
    return {};
  const std::string inside = where + ".shard";
  Fields fields;
  if (auto fault = fields.read(*shard, inside, {"what"}, {"group"}))
    return fault;
  const std::optional<std::string> word = fields.get("what").string();
  const auto *found =
      std::find(std::begin(words) + 1, std::end(words), word.value_or(""));
  if (found == std::end(words))
    return inside + ".what is " + fields.get("what").excerpt() +
           ", not \"optimizer\", \"gradients\" or \"weights\"";
  int64_t group = static_cast<int64_t>(replicas);
  if (const Value *stated = fields.find("group"))
    if (auto fault =
            readInteger(*stated, inside + ".group", 2, maxReplicas, group))
      return fault;
  what = static_cast<ShardedState>(found - std::begin(words));
  shards = static_cast<int32_t>(group);
  return {};
}

/// What a replica states to move, if it states anything, is what
/// `parameter_bytes` comes to.
static std::optional<TextFault> checkBytes(const Problem &problem,
                                           int32_t replica, ActionKind kind,
                                           const Cost &stated) {
  const Cost &real = problem.cost(replica, kind);
  for (auto [key, found, allowed] :
       {std::tuple(".takes_bytes", stated.acquireBytes, real.acquireBytes),
        std::tuple(".frees_bytes", stated.releaseBytes, real.releaseBytes)})
    if (found != 0 && found != allowed)
      return "stages[" + std::to_string(problem.replicas[replica].stage) +
             "].costs." + traitsOf(kind).code + key + " is " +
             std::to_string(found) +
             ", but by the stage's parameter_bytes it is " +
             std::to_string(allowed) + "; leave it out, or state that";
  return std::nullopt;
}

std::optional<TextFault> addShardCosts(Problem &problem) {
  constexpr ActionKind kinds[] = {ActionKind::Unshard, ActionKind::Reshard,
                                  ActionKind::ReduceGrad};
  for (int32_t stage = 0; stage < problem.numStages(); ++stage) {
    const ShardedState what =
        problem.sharded.empty() ? ShardedState::None : problem.sharded[stage];
    if (what == ShardedState::None)
      continue;
    const int32_t first = problem.replicas.numberOf(stage);
    const int64_t bytes =
        problem.weightBytes.empty() ? 0 : problem.weightBytes[stage];
    const int64_t gatherNs = problem.cost(first, ActionKind::Unshard).ns,
                  reduceNs = problem.cost(first, ActionKind::ReduceGrad).ns;
    std::vector<Cost> stated;
    for (const Replica &replica : problem.replicas.of(stage))
      for (ActionKind kind : kinds)
        stated.push_back(problem.cost(
            problem.replicas.numberOf(stage, replica.index), kind));
    problem.setShards(stage, what, bytes, bytes);
    auto next = stated.begin();
    for (const Replica &replica : problem.replicas.of(stage)) {
      const int32_t number = problem.replicas.numberOf(stage, replica.index);
      for (ActionKind kind : kinds)
        if (auto fault = checkBytes(problem, number, kind, *next++))
          return fault;
      if (gatherNs > 0)
        problem.cost(number, ActionKind::Unshard).ns = gatherNs;
      if (reduceNs > 0)
        problem.cost(number, ActionKind::ReduceGrad).ns = reduceNs;
    }
  }
  return std::nullopt;
}

void writeShard(llvm::json::OStream &json, const Problem &problem,
                int32_t stage) {
  const Replica &replica = *problem.replicas.of(stage).begin();
  if (!replica.isSharded())
    return;
  json.attributeObject("shard", [&] {
    json.attribute("what", words[static_cast<int>(problem.sharded[stage])]);
    json.attribute("group", replica.shards);
  });
  if (problem.weightBytes.empty())
    json.attribute(
        "parameter_bytes",
        problem.cost(problem.replicas.numberOf(stage), ActionKind::Unshard)
            .acquireBytes);
}

} // namespace rondo::json
