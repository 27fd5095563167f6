//===- TorchCommsImporter.cpp - Reads PyTorch's compute_comms CSV ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PyTorch checks little of such a file: messages have no tag, so that receives
// in another order than the sends give wrong results without an error.
//
//===----------------------------------------------------------------------===//

#include "formats/exchange/TorchCells.h"
#include "formats/exchange/TorchMessages.h"

#include "schedule/rules/ProgramRules.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace rondo;
using namespace rondo::exchange;
using llvm::Twine;

namespace {

std::optional<Fault> failAt(const TorchCell &cell, const Twine &message) {
  return fail(placeOf(cell.row, cell.column) + nameOf(cell) + message);
}

bool isWait(TorchKind kind) { return kind >= TorchKind::WaitSendForward; }

/// Actions that the version does not have, or that are of no stage or
/// micro-batch, or on another rank than their stage.
std::optional<Fault> checkNames(const TorchRows &rows, const Problem &problem,
                                const TorchVersion &version) {
  for (size_t rank = 0; rank < rows.size(); ++rank)
    for (const TorchCell &cell : rows[rank]) {
      if ((isWait(cell.kind) && !version.hasWaits) ||
          (cell.kind == TorchKind::ReduceGrad && !version.hasReduceGrad) ||
          (cell.isJoined && !version.hasOverlap))
        return failAt(cell, Twine(" is no action of PyTorch ") + version.name +
                                " (--torch)");
      if (cell.stage >= problem.numStages())
        return failAt(cell, " is of stage " + Twine(cell.stage) +
                                ", but there are " +
                                countOf(problem.numStages(), "stage"));
      if (cell.microbatch >= problem.microbatches)
        return failAt(cell, " is of micro-batch " + Twine(cell.microbatch) +
                                ", but the last one is " +
                                Twine(problem.microbatches - 1));
      if (const int32_t replica = problem.rankOf(int32_t(cell.stage));
          replica != int32_t(rank))
        return failAt(cell, " is on rank " + Twine(rank) + ", but stage " +
                                Twine(cell.stage) + " is on rank " +
                                Twine(replica));
    }
  return std::nullopt;
}

/// A reduction comes after all backwards of its stage; in versions with waits,
/// one reduction of a rank is under way at a time.
std::optional<Fault> checkReductions(const TorchRows &rows,
                                     const Problem &problem,
                                     const ImportOptions &options,
                                     std::vector<std::string> &notes) {
  std::vector<bool> isReduced(problem.numStages(), false);
  for (const std::vector<TorchCell> &cells : rows) {
    const TorchCell *pending = nullptr;
    std::vector<int64_t> numReady(problem.numStages(), 0);
    for (const TorchCell &cell : cells) {
      numReady[cell.stage] += cell.kind == TorchKind::WeightGrad ||
                              cell.kind == TorchKind::Backward;
      if (cell.kind == TorchKind::ReduceGrad) {
        if (pending)
          return failAt(cell, " comes while " + nameOf(*pending) +
                                  " is under way; a rank waits for one "
                                  "(WAIT_REDUCE_GRAD) before the next");
        if (isReduced[cell.stage])
          return failAt(cell, " is there twice");
        if (numReady[cell.stage] < problem.microbatches)
          return failAt(cell, " comes before the last backward of its stage: " +
                                  Twine(numReady[cell.stage]) + " of " +
                                  Twine(problem.microbatches) +
                                  " are done, and the gradients of the others "
                                  "would not be reduced or scaled");
        isReduced[cell.stage] = true;
        pending = options.torch->hasWaits ? &cell : nullptr;
      } else if (cell.kind == TorchKind::WaitReduceGrad) {
        if (!pending || pending->stage != cell.stage)
          return failAt(cell, " has no REDUCE_GRAD of its stage to wait for");
        pending = nullptr;
      }
    }
    if (pending)
      return failAt(*pending, " has no WAIT_REDUCE_GRAD after it, which "
                              "PyTorch " +
                                  Twine(options.torch->name) + " needs");
  }
  const int64_t without = llvm::count(isReduced, false);
  if (without == 0 || !options.torch->hasReduceGrad)
    return std::nullopt;
  if (options.scalesGradients)
    return fail("stage " +
                Twine(llvm::find(isReduced, false) - isReduced.begin()) +
                " has no REDUCE_GRAD, which is what scales gradients "
                "(scale_grads=True): they would be " +
                Twine(problem.microbatches) + " times too large");
  notes.push_back(countOf(without, "stage") +
                  " without REDUCE_GRAD: right with scale_grads=False and "
                  "without data parallelism alone");
  return std::nullopt;
}

Result<ExchangedSchedule> read(llvm::StringRef text,
                               const ImportOptions &options,
                               std::vector<std::string> &notes) {
  Result<TorchRows> rows = readTorchCells(text, notes);
  if (!rows)
    return rows.fault();
  // PyTorch asserts that every cell has an action.
  int64_t row = 0;
  while (!text.empty()) {
    auto [line, others] = text.split('\n');
    text = others;
    ++row;
    llvm::SmallVector<llvm::StringRef> cells;
    line.split(cells, ',');
    for (size_t column = 0; column < cells.size(); ++column)
      if (cells[column].trim().empty())
        return fail(placeOf(row, int64_t(column) + 1) +
                    "the cell is blank; only files of tasks alone "
                    "(torch-csv) may have blank cells");
  }
  const ForeignOrder order = tasksOf(*rows);
  Result<ExchangedSchedule> schedule = assemble(order, options);
  if (!schedule)
    return schedule;
  if (std::optional<Fault> fault =
          checkNames(*rows, schedule->problem, *options.torch))
    return *fault;
  if (std::optional<Fault> fault = checkForTorch(*schedule, order))
    return *fault;
  if (std::optional<Fault> fault =
          checkMessages(*rows, *schedule, *options.torch, options.queues))
    return *fault;
  if (std::optional<Fault> fault =
          checkReductions(*rows, schedule->problem, options, notes))
    return *fault;
  takeLinkOrders(*rows, *schedule, notes);
  return schedule;
}

} // namespace

Importer exchange::torchCommsImporter() {
  return {"torch-csv-comms",
          "PyTorch's CSV with messages, reductions and waits (compute_comms)",
          {Part::Program},
          {"torch", "scale-grads", "queues"},
          read};
}
