//===- StageCosts.cpp - Costs of stages of rondo-problem ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ProblemText.h"

#include "kinds/Counts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <tuple>

namespace rondo::json {

static TextFault notSupported(const std::string &where) {
  return where + " is part of rondo-problem/2, but not supported yet";
}

/// F takes bytes, R and I more, or R and B; what is taken is freed by the end
/// of W or B. A step needs none.
static std::optional<TextFault> checkMemory(llvm::ArrayRef<Cost> costs,
                                            const std::string &where) {
  const auto cost = [&](ActionKind kind) { return costs[costColumn(kind)]; };
  const Cost &forward = cost(ActionKind::Forward);
  if (forward.releaseBytes)
    return notSupported(where + ".F.frees_bytes");
  if (cost(ActionKind::WeightGrad).acquireBytes)
    return notSupported(where + ".W.takes_bytes");
  const Cost &step = cost(ActionKind::Step);
  if (step.acquireBytes || step.releaseBytes)
    return notSupported(where + "." + traitsOf(ActionKind::Step).code +
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

/// Sets what W frees: what was taken and not freed before.
static std::optional<TextFault> freeRest(const std::string &where, Cost *row) {
  const auto cost = [&](ActionKind kind) -> Cost & {
    return row[costColumn(kind)];
  };
  int64_t rest = 0;
  for (ActionKind kind :
       {ActionKind::Forward, ActionKind::Recompute, ActionKind::InputGrad})
    rest += cost(kind).acquireBytes - cost(kind).releaseBytes;
  if (rest < 0)
    return where + ".W.frees_bytes is \"rest\", but I frees " +
           countOf(cost(ActionKind::InputGrad).releaseBytes, "byte") + ", " +
           std::to_string(-rest) + " more than are held";
  cost(ActionKind::WeightGrad).releaseBytes = rest;
  return std::nullopt;
}

bool isUneven(const CostsText &text) {
  return llvm::any_of(text.row,
                      [](const CostText &cost) { return cost.isUneven(); }) ||
         (text.save && text.save->isUneven()) ||
         (text.load && text.load->isUneven());
}

Result<int64_t> valueOf(const UnevenText &text, const std::string &where,
                        const ProblemText &problem, int64_t microbatch) {
  if (!text.affine) {
    const size_t count = size_t(problem.microbatches) * problem.iterations;
    if (text.byIndex.size() != count)
      return TextFault(where + "_by_index has " +
                       countOf(text.byIndex.size(), "entry") + "; there are " +
                       countOf(count, "micro-batch"));
    return text.byIndex[microbatch];
  }
  if (problem.sizes.empty())
    return TextFault(where + " depends on sizes, but the problem states none");
  const std::vector<int64_t> &sizes = problem.sizes[microbatch];
  const AffineText &affine = *text.affine;
  if (affine.perSize.size() != sizes.size())
    return TextFault(where + ".per_size has " +
                     countOf(affine.perSize.size(), "entry") +
                     "; a micro-batch has " + countOf(sizes.size(), "size"));
  __int128 sum = 0;
  for (size_t k = 0; k < sizes.size() && sum >> 124 == 0; ++k)
    sum += static_cast<__int128>(affine.perSize[k]) * sizes[k];
  const __int128 value = affine.fixed + (sum + affine.over - 1) / affine.over;
  if (value >= maxFigure)
    return TextFault(where + " is 2^62 or more for micro-batch " +
                     std::to_string(microbatch));
  return static_cast<int64_t>(value);
}

Result<CostsText> costsOfMicrobatch(const CostsText &text,
                                    const std::string &where,
                                    const ProblemText &problem,
                                    int64_t microbatch) {
  CostsText costs = text;
  for (const ActionTraits &traits : actionTable.rows) {
    if (!traits.hasCost())
      continue;
    CostText &cost = costs.row[costColumn(traits.kind)];
    if (cost.isUneven() && !traits.isTask())
      return TextFault(where + "." + traits.code +
                       " has costs by micro-batch, but does not run for each");
    for (auto [key, uneven, figure] :
         {std::tuple(".ns", &cost.unevenNs, &cost.ns),
          std::tuple(".takes_bytes", &cost.unevenAcquire, &cost.acquireBytes),
          std::tuple(".frees_bytes", &cost.unevenRelease,
                     &cost.releaseBytes)}) {
      if (!uneven->isStated())
        continue;
      const Result<int64_t> value = valueOf(
          *uneven, where + "." + traits.code + key, problem, microbatch);
      if (!value)
        return value.fault();
      *figure = *value;
    }
  }
  return costs;
}

std::optional<TextFault> checkSizes(const ProblemText &text) {
  const size_t count = size_t(text.microbatches) * text.iterations;
  if (text.sizes.empty())
    return {};
  if (text.sizes.size() != count)
    return "sizes has " + countOf(text.sizes.size(), "entry") + "; there are " +
           countOf(count, "micro-batch");
  for (const auto &[index, sizes] : llvm::enumerate(text.sizes))
    if (sizes.empty() || sizes.size() != text.sizes.front().size())
      return "sizes[" + std::to_string(index) + "] has " +
             countOf(sizes.size(), "number") +
             (sizes.empty() ? "; each micro-batch has at least one"
                            : "; sizes[0] has " +
                                  std::to_string(text.sizes.front().size()));
  return {};
}

std::optional<TextFault> setCosts(const CostsText &text,
                                  const std::string &where, bool isSharded,
                                  Cost *row) {
  for (const ActionTraits &traits : actionTable.rows)
    if (traits.hasCost() && text.has[costColumn(traits.kind)]) {
      if (traits.movesState() && !isSharded)
        return notSupported(where + "." + traits.code);
      Cost &cost = row[costColumn(traits.kind)];
      const Cost &stated = text.row[costColumn(traits.kind)];
      cost.ns = stated.ns;
      if (stated.acquireBytes != notStated)
        cost.acquireBytes = stated.acquireBytes;
      if (stated.releaseBytes != notStated)
        cost.releaseBytes = stated.releaseBytes;
    }
  for (const ActionTraits &traits : actionTable.rows) {
    if (!traits.hasCost() || !text.row[costColumn(traits.kind)].freesRest)
      continue;
    if (traits.kind != ActionKind::WeightGrad)
      return where + "." + traits.code +
             ".frees_bytes is \"rest\"; only W frees the rest";
    if (auto fault = freeRest(where, row))
      return fault;
  }
  if (!text.has[costColumn(ActionKind::Backward)]) {
    const Cost &inputGrad = row[costColumn(ActionKind::InputGrad)],
               &weightGrad = row[costColumn(ActionKind::WeightGrad)];
    row[costColumn(ActionKind::Backward)] = {
        inputGrad.ns + weightGrad.ns, inputGrad.acquireBytes,
        inputGrad.releaseBytes + weightGrad.releaseBytes};
  }
  return checkMemory(llvm::ArrayRef(row, numCostColumns), where);
}

/// The bytes that a replica moves must follow from `parameter_bytes`, if it
/// states them.
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

} // namespace rondo::json
