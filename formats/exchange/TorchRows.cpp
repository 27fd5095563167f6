//===- TorchRows.cpp - A schedule as PyTorch runs it ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/exchange/TorchRows.h"

#include "formats/exchange/Adapt.h"

#include "llvm/ADT/Twine.h"

using namespace rondo;
using namespace rondo::exchange;

Result<ExchangedSchedule>
exchange::prepareForTorch(const ExchangedSchedule &schedule,
                          const ExportOptions &options,
                          std::vector<std::string> &notes) {
  if (std::optional<Fault> fault =
          needSingleTasks(schedule.schedule, "PyTorch's schedules"))
    return *fault;
  ExchangedSchedule prepared = schedule;
  if (std::optional<Fault> fault =
          prepare(prepared, options, /*renames=*/true, notes))
    return *fault;
  if (!prepared.overlap.empty() && !options.torch->hasOverlap) {
    notes.push_back("PyTorch " + std::string(options.torch->name) +
                    " has no OVERLAP_F_B, so " +
                    countOf(int64_t(prepared.overlap.size()), "pair") +
                    " became two actions each");
    prepared.overlap.clear();
  }
  for (int32_t rank = 0; rank < prepared.schedule.numRanks(); ++rank)
    if (prepared.schedule.rank(rank).empty())
      return fail("rank " + llvm::Twine(rank) +
                  " has no task, and PyTorch needs one on every rank");
  return prepared;
}

TorchRows exchange::taskRows(const ExchangedSchedule &schedule) {
  const std::vector<bool> joined = joinedOf(schedule);
  TorchRows rows;
  for (int32_t rank = 0; rank < schedule.schedule.numRanks(); ++rank) {
    std::vector<TorchCell> &cells = rows.emplace_back();
    int64_t position = schedule.schedule.rankBegin(rank);
    for (Action action : schedule.schedule.rank(rank)) {
      TorchCell cell;
      cell.kind = torchKindOf(action.kind());
      cell.stage = schedule.problem.replicas[action.subject].stage;
      cell.microbatch = int64_t(action.index);
      cell.isJoined = joined[position++];
      cells.push_back(cell);
    }
  }
  return rows;
}
