//===- StagesVersion2.cpp - Stages of rondo-problem/2 ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ProblemParts.h"
#include "formats/json/ShardedStages.h"
#include "formats/json/Version2.h"
#include "kinds/Counts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using llvm::ArrayRef;
using llvm::StringRef;

namespace rondo::json {

namespace {

/// The kinds of the format, in its order.
constexpr ActionKind kinds[] = {
    ActionKind::Forward,  ActionKind::InputGrad,  ActionKind::WeightGrad,
    ActionKind::Backward, ActionKind::Recompute,  ActionKind::Unshard,
    ActionKind::Reshard,  ActionKind::ReduceGrad, ActionKind::AllReduce,
    ActionKind::Step,     ActionKind::Save,       ActionKind::Load};

/// A replica as the text has it.
struct ReplicaText {
  Share share;
  bool hasSamples = false;
  /// Costs of its own.
  std::optional<Value> costs;
};

std::optional<TextFault> readReplica(const Value &value,
                                     const std::string &where,
                                     const Problem &problem,
                                     ReplicaText &replica) {
  Fields fields;
  if (auto fault = fields.read(value, where, {"rank"}, {"samples", "costs"}))
    return fault;
  int64_t rank;
  if (auto fault = readRank(fields.get("rank"), where + ".rank", problem, rank))
    return fault;
  replica.share.rank = static_cast<int32_t>(rank);
  if (const Value *costs = fields.find("costs"))
    replica.costs = *costs;
  const Value *samples = fields.find("samples");
  replica.hasSamples = samples != nullptr;
  if (!samples)
    return {};
  int64_t number;
  if (auto fault =
          readInteger(*samples, where + ".samples", 1, problem.samples, number))
    return fault;
  replica.share.samples = static_cast<int32_t>(number);
  return {};
}

/// The replicas of a stage. Their shares are equal if none is stated.
std::optional<TextFault> readReplicas(const Value &replicas,
                                      const std::string &where,
                                      const Problem &problem,
                                      bool areRoundRobin,
                                      std::vector<ReplicaText> &result) {
  if (!replicas.isArray())
    return where + " is not a list";
  Elements walk(replicas);
  size_t stated = 0;
  while (std::optional<Value> replica = walk.next()) {
    ReplicaText &read = result.emplace_back();
    if (auto fault = readReplica(*replica, element(where, result.size() - 1),
                                 problem, read))
      return fault;
    stated += read.hasSamples;
  }
  if (result.empty())
    return where + " is empty";
  if (areRoundRobin) {
    if (stated != 0)
      return where +
             " states samples, but the stage assigns whole micro-batches";
    for (ReplicaText &replica : result)
      replica.share.samples = problem.samples;
    return {};
  }
  if (stated == result.size())
    return {};
  if (stated != 0)
    return where + " states samples of " + std::to_string(stated) + " of " +
           std::to_string(result.size()) + " replicas; state all or none";
  const auto number = static_cast<int32_t>(result.size());
  if (problem.samples % number != 0)
    return where + " are " + std::to_string(number) +
           " replicas with equal shares, but a micro-batch has " +
           countOf(problem.samples, "sample") + "; state the samples of each";
  for (ReplicaText &replica : result)
    replica.share.samples = problem.samples / number;
  return {};
}

std::optional<TextFault> readCost(const Value &value, const std::string &where,
                                  Cost &cost) {
  Fields fields;
  if (auto fault =
          fields.read(value, where, {"ns"},
                      {"takes_bytes", "frees_bytes", "lane", "ns_by_index"}))
    return fault;
  if (auto fault = takesNone(fields, {"ns_by_index"}, where + "."))
    return fault;
  if (const Value *lane = fields.find("lane"); lane) {
    std::optional<std::string> name = lane->string();
    if (name == "collective" || name == "copy")
      return notTaken(where + ".lane " + lane->excerpt());
    if (name != "compute")
      return where + ".lane is " + lane->excerpt() +
             ", not \"compute\", \"collective\" or \"copy\"";
  }
  for (auto [key, figure] :
       {std::pair("ns", &cost.ns), std::pair("takes_bytes", &cost.acquireBytes),
        std::pair("frees_bytes", &cost.releaseBytes)})
    if (const Value *number = fields.find(key))
      if (auto fault = readInteger(*number, where + "." + key, 0, maxFigure - 1,
                                   *figure))
        return fault;
  return {};
}

/// F takes bytes, R and I more, or R and B; what is taken is freed by the end
/// of W or B. A step needs none.
std::optional<TextFault> checkMemory(ArrayRef<Cost> costs,
                                     const std::string &where) {
  const auto cost = [&](ActionKind kind) { return costs[costColumn(kind)]; };
  const Cost &forward = cost(ActionKind::Forward);
  if (forward.releaseBytes)
    return notTaken(where + ".F.frees_bytes");
  if (cost(ActionKind::WeightGrad).acquireBytes)
    return notTaken(where + ".W.takes_bytes");
  const Cost &step = cost(ActionKind::Step);
  if (step.acquireBytes || step.releaseBytes)
    return notTaken(where + "." + traitsOf(ActionKind::Step).code +
                    (step.acquireBytes ? ".takes_bytes" : ".frees_bytes"));
  const Cost &again = cost(ActionKind::Recompute);
  const bool mentionsR = again.acquireBytes || again.releaseBytes;
  /// `first` is I or B, which may take bytes; `frees` by it and W.
  const auto check = [&](ActionKind first, const char *who, int64_t frees) {
    const int64_t later = cost(first).acquireBytes,
                  taken = forward.acquireBytes + again.acquireBytes + later,
                  freed = again.releaseBytes + frees;
    if (taken == freed)
      return std::optional<TextFault>();
    std::vector<std::string> takers = {"F"};
    if (mentionsR)
      takers.push_back("R");
    if (later)
      takers.push_back(std::string(1, traitsOf(first).letter));
    const std::string last = takers.back();
    takers.pop_back();
    return std::optional<TextFault>(
        where + "." + llvm::join(takers, ", ") +
        (takers.empty() ? last + " takes " : " and " + last + " take ") +
        std::to_string(taken) + " bytes, but " +
        (again.releaseBytes ? "R, " : "") + who + " " + std::to_string(freed));
  };
  if (auto fault = check(ActionKind::InputGrad, "I and W free",
                         cost(ActionKind::InputGrad).releaseBytes +
                             cost(ActionKind::WeightGrad).releaseBytes))
    return fault;
  return check(ActionKind::Backward, "B frees",
               cost(ActionKind::Backward).releaseBytes);
}

/// `recomputes`: whether R has a cost.
std::optional<TextFault> readCosts(const Value &value, const std::string &where,
                                   bool isSharded, Cost *costs,
                                   bool &recomputes) {
  llvm::SmallVector<StringRef> optional, refused;
  for (ActionKind kind : ArrayRef(kinds).drop_front(3)) {
    const ActionTraits &traits = traitsOf(kind);
    optional.push_back(traits.code);
    if (!traits.hasCost() || (traits.movesState() && !isSharded))
      refused.push_back(traits.code);
  }
  Fields fields;
  if (auto fault = fields.read(value, where, {"F", "I", "W"}, optional))
    return fault;
  if (auto fault = takesNone(fields, refused, where + "."))
    return fault;
  for (ActionKind kind : kinds) {
    const StringRef name = traitsOf(kind).code;
    if (const Value *cost = fields.find(name))
      if (auto fault = readCost(*cost, where + "." + name.str(),
                                costs[costColumn(kind)]))
        return fault;
  }
  recomputes = bool(fields.find("R"));
  if (!fields.find("B"))
    // Two figures below maxFigure do not overflow.
    costs[costColumn(ActionKind::Backward)] = {
        costs[costColumn(ActionKind::InputGrad)].ns +
            costs[costColumn(ActionKind::WeightGrad)].ns,
        costs[costColumn(ActionKind::InputGrad)].acquireBytes,
        costs[costColumn(ActionKind::InputGrad)].releaseBytes +
            costs[costColumn(ActionKind::WeightGrad)].releaseBytes};
  return checkMemory(ArrayRef(costs, numCostColumns), where);
}

/// The value of an enum whose words are these.
template <typename Enum, size_t n>
std::optional<TextFault> readWord(const Fields &fields, StringRef key,
                                  const std::string &where,
                                  const char *const (&words)[n], Enum &value) {
  const Value *found = fields.find(key);
  if (!found)
    return {};
  std::string list;
  for (size_t i = 0; i < n; ++i) {
    if (found->string() == words[i]) {
      value = static_cast<Enum>(i);
      return {};
    }
    list += std::string(i == 0       ? ""
                        : i + 1 == n ? " or "
                                     : ", ") +
            "\"" + words[i] + "\"";
  }
  return where + "." + key.str() + " is " + found->excerpt() + ", not " + list;
}

/// `versions` and `parameter_bytes` of the stage that is read next.
std::optional<TextFault>
readVersions(const Fields &stage, const std::string &where, Problem &problem) {
  const size_t number = size_t(problem.numStages());
  if (const Value *bytes = stage.find("parameter_bytes")) {
    problem.weightBytes.resize(number + 1);
    if (auto fault = readInteger(*bytes, where + ".parameter_bytes", 0,
                                 maxFigure, problem.weightBytes[number]))
      return fault;
  } else if (!problem.weightBytes.empty()) {
    problem.weightBytes.push_back(0);
  }
  const Value *versions = stage.find("versions");
  if (!versions) {
    if (!problem.versions.empty())
      problem.versions.push_back(synchronousPolicy);
    return {};
  }
  problem.versions.resize(number, synchronousPolicy);
  VersionPolicy &policy = problem.versions.emplace_back();
  const std::string inside = where + ".versions";
  // The name of a system stands for its words.
  if (const std::optional<std::string> name = versions->string()) {
    std::string names;
    for (const NamedPolicy &named : namedPolicies) {
      if (*name == named.name) {
        policy = named.policy;
        return {};
      }
      names += (names.empty() ? "" : ", ") + std::string(named.name);
    }
    return inside + " is " + versions->excerpt() +
           ", which is no policy; there are " + names;
  }
  Fields fields;
  if (auto fault =
          fields.read(*versions, inside, {},
                      {"forward", "backward", "activations", "most_delay"}))
    return fault;
  if (auto fault = readWord(fields, "forward", inside, forwardWeightWords,
                            policy.forward))
    return fault;
  if (auto fault = readWord(fields, "backward", inside, backwardWeightWords,
                            policy.backward))
    return fault;
  if (auto fault = readWord(fields, "activations", inside,
                            backwardActivationWords, policy.activations))
    return fault;
  const Value *delay = fields.find("most_delay");
  if (!delay || delay->isNull())
    return {};
  return readInteger(*delay, inside + ".most_delay", 0, maxFigure,
                     policy.maxDelay);
}

} // namespace

std::optional<TextFault> readStagesVersion2(const Value &stages,
                                            Problem &problem) {
  if (!stages.isArray())
    return "stages is not a list";
  Elements walk(stages);
  while (std::optional<Value> stage = walk.next()) {
    const std::string where = element("stages", problem.numStages());
    Fields fields;
    if (auto fault = fields.read(
            *stage, where, {"replicas", "costs"},
            {"split", "shard", "parameter_bytes", "buckets", "versions"}))
      return fault;
    bool areRoundRobin = false;
    if (const Value *split = fields.find("split")) {
      std::optional<std::string> word = split->string();
      if (word == "deal") // The word of earlier files.
        word = "round_robin";
      if (word != "samples" && word != "round_robin")
        return where + ".split is " + split->excerpt() +
               ", not \"samples\" or \"round_robin\"";
      areRoundRobin = word == "round_robin";
    }
    if (auto fault = readVersions(fields, where, problem))
      return fault;
    if (auto fault = takesOnly(1, fields, "buckets", where + "."))
      return fault;
    std::vector<ReplicaText> replicas;
    if (auto fault = readReplicas(fields.get("replicas"), where + ".replicas",
                                  problem, areRoundRobin, replicas))
      return fault;
    ShardedState sharded;
    int32_t shards;
    if (auto fault = readShard(fields, where, replicas.size(), sharded, shards))
      return fault;
    CostRow costs{};
    bool recomputes = false;
    const bool isSharded = sharded != ShardedState::None;
    if (auto fault = readCosts(fields.get("costs"), where + ".costs", isSharded,
                               costs.data(), recomputes))
      return fault;
    std::vector<Share> shares;
    for (const ReplicaText &replica : replicas)
      shares.push_back(replica.share);
    const int32_t number = problem.numStages(), first = problem.numReplicas();
    // One replica takes all either way.
    if (areRoundRobin && shares.size() > 1) {
      std::vector<int32_t> ranks;
      for (const Share &share : shares)
        ranks.push_back(share.rank);
      problem.replicas.addRoundRobinStage(ranks, problem.samples);
    } else {
      problem.replicas.addStage(shares, shards);
    }
    if (isSharded)
      problem.sharded.resize(number, ShardedState::None);
    if (isSharded || !problem.sharded.empty())
      problem.sharded.push_back(sharded);
    problem.setCosts(number, costs);
    if (recomputes) {
      problem.recomputation.resize(first);
      problem.recomputation.resize(problem.numReplicas(),
                                   Recomputation::FromCheckpoint);
    }
    for (size_t h = 0; h < replicas.size(); ++h) {
      if (!replicas[h].costs)
        continue;
      const std::string own = element(where + ".replicas", h) + ".costs";
      bool hasOwn = false;
      if (auto fault =
              readCosts(*replicas[h].costs, own, isSharded,
                        &problem.costs[(first + h) * numCostColumns], hasOwn))
        return fault;
      if (hasOwn != recomputes)
        return own + (hasOwn ? " has R, but the costs of its stage have none"
                             : " has no R, but the costs of its stage have");
    }
  }
  if (!problem.recomputation.empty())
    problem.recomputation.resize(problem.numReplicas());
  if (problem.numStages() == 0)
    return "stages is empty";
  return {};
}

} // namespace rondo::json
