//===- Adapt.cpp - Changes that other tools need --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/exchange/Adapt.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace rondo;
using namespace rondo::exchange;
using llvm::Twine;

void exchange::noteSharedWeight(const ExchangedSchedule &schedule,
                                std::vector<std::string> &notes) {
  if (!schedule.shared.has_value() || !*schedule.shared)
    return;
  const auto [embedding, head] = **schedule.shared;
  if (embedding == head)
    return;
  const int32_t rank = schedule.problem.rankOf(head);
  notes.push_back(
      "the model is tied: the head in stage " + std::to_string(head) +
      " has the weight of the embedding in stage " + std::to_string(embedding) +
      (schedule.problem.rankOf(embedding) == rank
           ? "; both are on rank " + std::to_string(rank) +
                 ", where they can be one parameter"
           : "; add the gradients of both copies before each optimizer step, "
             "since the schedule does not"));
}

std::optional<Fault> exchange::needSingleTasks(const Schedule &schedule,
                                               const char *who) {
  for (int32_t rank = 0; schedule.hasCounts() && rank < schedule.numRanks();
       ++rank)
    for (Action action : schedule.rank(rank))
      if (action.count > 1)
        return fail(Twine(actionName(action)) + " is one backward of " +
                    Twine(uint64_t(action.count)) + " micro-batches; " + who +
                    " have one for each");
  return std::nullopt;
}

void exchange::dropSteps(ExchangedSchedule &schedule,
                         std::vector<std::string> &notes) {
  if (!schedule.schedule.hasSteps())
    return;
  Schedule without;
  without.reserve(schedule.schedule.numActions());
  int64_t numSteps = 0;
  for (int32_t rank = 0; rank < schedule.schedule.numRanks(); ++rank) {
    for (Action action : schedule.schedule.rank(rank)) {
      if (action.isTask() || action.traits().isCopy())
        without.append(action);
      else
        ++numSteps;
    }
    without.endRank();
  }
  without.linkOrders = std::move(schedule.schedule.linkOrders);
  schedule.schedule = std::move(without);
  notes.push_back(countOf(numSteps, "optimizer step") +
                  " left out; the training loop makes them");
}

void exchange::dropLinkOrders(ExchangedSchedule &schedule,
                              std::vector<std::string> &notes) {
  if (schedule.schedule.linkOrders.empty())
    return;
  notes.push_back(
      "the order of messages on " +
      countOf(int64_t(schedule.schedule.linkOrders.size()), "link") +
      " left out; it becomes that of the tasks that send them");
  schedule.schedule.linkOrders.clear();
}

std::optional<Fault> exchange::needOneOrder(const ExchangedSchedule &schedule) {
  std::vector<std::vector<int64_t>> orders(schedule.problem.numStages());
  for (int32_t rank = 0; rank < schedule.schedule.numRanks(); ++rank)
    for (Action action : schedule.schedule.rank(rank))
      if (action.isTask() && action.kind() == ActionKind::Forward)
        orders[schedule.problem.replicas[action.subject].stage].push_back(
            int64_t(action.index));
  for (size_t stage = 1; stage < orders.size(); ++stage)
    for (size_t i = 0; i + 1 < orders[stage].size(); ++i) {
      const int64_t here = orders[stage][i], other = orders[0][i];
      if (here == other)
        continue;
      return fail("--ascending: stage 0 runs the forward of micro-batch " +
                  Twine(other) + " before that of " + Twine(here) +
                  ", and stage " + Twine(stage) +
                  " the other way round, so no names of the micro-batches "
                  "ascend in both");
    }
  return std::nullopt;
}

/// The problem whose micro-batch newName[i] is micro-batch i.
static void renameMicrobatches(Problem &problem,
                               llvm::ArrayRef<int64_t> newName) {
  const int64_t count = problem.microbatches;
  const auto rename = [&](auto &table) {
    auto renamed = table;
    for (size_t row = 0; row < table.size(); row += count)
      for (int64_t i = 0; i < count; ++i)
        renamed[row + newName[i]] = table[row + i];
    table = std::move(renamed);
  };
  rename(problem.unevenCosts);
  rename(problem.unevenBytes);
}

void exchange::renameToAscend(ExchangedSchedule &schedule,
                              std::vector<std::string> &notes) {
  const int32_t last = schedule.problem.numStages() - 1;
  std::vector<int64_t> newName(schedule.problem.microbatches, 0);
  int64_t next = 0, first = -1;
  for (Action action : schedule.schedule.rank(schedule.problem.rankOf(last)))
    if (action.kind() == ActionKind::Forward &&
        int32_t(action.subject) == last) {
      if (first < 0 && int64_t(action.index) != next)
        first = int64_t(action.index);
      newName[action.index] = next++;
    }
  if (first < 0)
    return;
  const auto rename = [&](Action action) {
    action.index = uint64_t(newName[action.index]);
    return action;
  };
  Schedule renamed;
  renamed.reserve(schedule.schedule.numActions());
  for (int32_t rank = 0; rank < schedule.schedule.numRanks(); ++rank) {
    for (Action action : schedule.schedule.rank(rank))
      renamed.append(rename(action));
    renamed.endRank();
  }
  for (const auto &[pair, producers] : schedule.schedule.linkOrders)
    for (Action producer : producers)
      renamed.linkOrders[pair].push_back(rename(producer));
  for (int32_t microbatch : schedule.schedule.accumulation)
    renamed.accumulation.push_back(int32_t(newName[microbatch]));
  schedule.schedule = std::move(renamed);
  for (auto &[one, other] : schedule.overlap) {
    one = rename(one);
    other = rename(other);
  }
  if (schedule.problem.isUneven()) {
    renameMicrobatches(schedule.problem, newName);
    std::vector<int64_t> given(newName.size());
    for (auto [old, renamedTo] : llvm::enumerate(newName))
      given[renamedTo] = int64_t(old);
    std::string list;
    for (int64_t microbatch : given)
      list += (list.empty() ? "" : " ") + std::to_string(microbatch);
    notes.push_back("micro-batches renamed, so that the last stage takes them "
                    "in ascending order; the data loader must give those of "
                    "the problem in the order " +
                    list);
    return;
  }
  notes.push_back(
      "micro-batches renamed, so that the last stage takes them in ascending "
      "order: " +
      std::to_string(first) + " is now " + std::to_string(newName[first]) +
      ", and so on; times and memory are the same");
}

std::optional<Fault> exchange::prepare(ExchangedSchedule &schedule,
                                       const ExportOptions &options,
                                       bool renames,
                                       std::vector<std::string> &notes) {
  dropSteps(schedule, notes);
  dropLinkOrders(schedule, notes);
  if (std::optional<Fault> fault = changeBackwards(schedule, options, notes))
    return fault;
  if (options.ascending)
    if (std::optional<Fault> fault = needOneOrder(schedule))
      return fault;
  if (renames)
    renameToAscend(schedule, notes);
  noteSharedWeight(schedule, notes);
  return std::nullopt;
}
