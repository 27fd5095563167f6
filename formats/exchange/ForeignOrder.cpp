//===- ForeignOrder.cpp - Orders as another tool wrote them ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/exchange/ForeignOrder.h"

#include "schedule/rules/Legality.h"

#include "llvm/ADT/Twine.h"

#include <set>

using namespace rondo;
using namespace rondo::exchange;
using llvm::Twine;

std::string exchange::placeOf(int64_t row, int64_t column) {
  return "row " + std::to_string(row) + ", column " + std::to_string(column) +
         ": ";
}

Problem exchange::unitProblem(const std::string &name, int64_t ranks,
                              const std::vector<int64_t> &rankOf,
                              int64_t microbatches) {
  Problem problem;
  problem.name = name;
  problem.microbatches = static_cast<int32_t>(microbatches);
  problem.memoryCaps.assign(ranks, noMemoryCap);
  for (int64_t rank : rankOf) {
    const int32_t stage = problem.numStages();
    problem.replicas.addStage(static_cast<int32_t>(rank));
    problem.costs.resize(problem.costs.size() + numCostColumns);
    problem.setStageCost(stage, 1, 1, 1, 0, 0);
  }
  problem.makeChain(std::vector<int64_t>(rankOf.size(), 0));
  return problem;
}

namespace {

std::string nameOf(const ForeignTask &task) {
  return std::to_string(task.stage) + traitsOf(task.kind).code +
         std::to_string(task.microbatch);
}

std::string placeOf(const ForeignTask &task) {
  return task.row > 0 ? exchange::placeOf(task.row, task.column)
                      : std::string();
}

/// The numbers of stages, ranks and micro-batches.
struct Shape {
  /// Indexed by stage.
  std::vector<int64_t> rankOf;
  int64_t microbatches = 0;
};

/// Finds the rank of each stage.
std::optional<Fault> placeStages(const ForeignOrder &order, Shape &shape) {
  std::vector<const ForeignTask *> first;
  for (size_t rank = 0; rank < order.size(); ++rank)
    for (const ForeignTask &task : order[rank]) {
      if (task.stage >= maxStages)
        return fail(placeOf(task) + nameOf(task) + " is of stage " +
                    Twine(task.stage) + "; there can be " + Twine(maxStages) +
                    " stages");
      if (size_t(task.stage) >= first.size()) {
        first.resize(task.stage + 1);
        shape.rankOf.resize(task.stage + 1, -1);
      }
      if (!first[task.stage]) {
        first[task.stage] = &task;
        shape.rankOf[task.stage] = int64_t(rank);
      } else if (shape.rankOf[task.stage] != int64_t(rank)) {
        return fail(placeOf(task) + nameOf(task) + " is on rank " +
                    Twine(rank) + ", but rank " +
                    Twine(shape.rankOf[task.stage]) + " has stage " +
                    Twine(task.stage) + ", as in " +
                    nameOf(*first[task.stage]) + "; a stage is on one rank");
      }
    }
  for (size_t stage = 0; stage < first.size(); ++stage)
    if (!first[stage])
      return fail("stage " + Twine(stage) + " is on no rank, but there are " +
                  "stages up to " + Twine(first.size() - 1));
  return std::nullopt;
}

/// Counts the micro-batches: as many as a stage runs forwards of at most, so
/// that one task that is there twice or is missing is told as such.
std::optional<Fault> countMicrobatches(const ForeignOrder &order,
                                       Shape &shape) {
  std::vector<std::set<int64_t>> forwards(shape.rankOf.size());
  for (const auto &tasks : order)
    for (const ForeignTask &task : tasks)
      if (task.kind == ActionKind::Forward)
        forwards[task.stage].insert(task.microbatch);
  for (const std::set<int64_t> &ofStage : forwards)
    shape.microbatches = std::max(shape.microbatches, int64_t(ofStage.size()));
  if (shape.microbatches == 0)
    return fail("there is no forward");
  if (shape.microbatches > maxMicrobatches)
    return fail("there are " + countOf(shape.microbatches, "micro-batch") +
                "; there can be " + Twine(maxMicrobatches));
  for (const auto &tasks : order)
    for (const ForeignTask &task : tasks)
      if (task.microbatch >= shape.microbatches)
        return fail(placeOf(task) + nameOf(task) + " is of micro-batch " +
                    Twine(task.microbatch) + ", but no stage runs more than " +
                    countOf(shape.microbatches, "forward") +
                    ", so the last one is " + Twine(shape.microbatches - 1));
  return std::nullopt;
}

/// A fault if `problem` has another shape than `order`.
std::optional<Fault> compare(const Problem &problem, const ForeignOrder &order,
                             const Shape &shape) {
  const std::string of = " of problem '" + problem.name + "'";
  if (problem.replicas.isReplicated())
    return fail("problem '" + Twine(problem.name) +
                "' has stages on several ranks, which the format does not");
  if (problem.numRanks() != int64_t(order.size()))
    return fail("there are orders of " + countOf(order.size(), "rank") +
                ", not of the " + countOf(problem.numRanks(), "rank") + of);
  if (problem.numStages() != int64_t(shape.rankOf.size()))
    return fail("there are " + countOf(shape.rankOf.size(), "stage") +
                ", not the " + countOf(problem.numStages(), "stage") + of);
  if (problem.microbatches != shape.microbatches)
    return fail("a stage runs " + countOf(shape.microbatches, "forward") +
                ", not the " + countOf(problem.microbatches, "micro-batch") +
                of);
  for (size_t stage = 0; stage < shape.rankOf.size(); ++stage)
    if (problem.rankOf(int32_t(stage)) != shape.rankOf[stage])
      return fail("stage " + Twine(stage) + " is on rank " +
                  Twine(shape.rankOf[stage]) + ", not on rank " +
                  Twine(problem.rankOf(int32_t(stage))) + " as in problem '" +
                  problem.name + "'");
  return std::nullopt;
}

/// The place of a task in a rank's order; none if the rank does not have it.
std::string placeIn(const ForeignOrder &order, int32_t rank, Action action) {
  if (rank < 0 || size_t(rank) >= order.size())
    return {};
  for (const ForeignTask &task : order[rank])
    if (Action(task.kind, task.stage, task.microbatch) == action)
      return placeOf(task);
  // It is missing there.
  const int64_t row = order[rank].empty() ? 0 : order[rank].front().row;
  return row > 0 ? "row " + std::to_string(row) + ": " : std::string();
}

/// A broken rule, at its place in the file.
Fault faultIn(const ForeignOrder &order, const Fault &fault,
              const Problem &problem) {
  const bool hasPosition = fault.rank >= 0 && fault.position >= 0 &&
                           size_t(fault.rank) < order.size() &&
                           size_t(fault.position) < order[fault.rank].size();
  return fail((hasPosition ? placeOf(order[fault.rank][fault.position])
                           : placeIn(order, fault.rank, fault.action)) +
              describe(fault, problem));
}

} // namespace

Result<ExchangedSchedule> exchange::assemble(const ForeignOrder &order,
                                             const ImportOptions &options) {
  Shape shape;
  if (std::optional<Fault> fault = placeStages(order, shape))
    return *fault;
  if (std::optional<Fault> fault = countMicrobatches(order, shape))
    return *fault;
  ExchangedSchedule result;
  if (options.problem) {
    if (std::optional<Fault> fault = compare(*options.problem, order, shape))
      return *fault;
    result.problem = *options.problem;
    result.hasTimes = true;
  } else {
    result.problem = unitProblem(options.name, int64_t(order.size()),
                                 shape.rankOf, shape.microbatches);
    if (std::optional<Fault> fault = result.problem.check())
      return fail(describe(*fault, result.problem));
  }
  for (const auto &tasks : order) {
    Action before;
    bool isSecond = false;
    for (const ForeignTask &task : tasks) {
      // Replicas and stages are one where no stage has several.
      const Action action(task.kind, task.stage, task.microbatch);
      if (isSecond)
        result.overlap.emplace_back(before, action);
      result.schedule.append(action);
      before = action;
      isSecond = task.isJoined;
    }
    result.schedule.endRank();
  }
  if (auto fault = checkSchedule(result.problem, result.schedule))
    return faultIn(order, *fault, result.problem);
  return result;
}
