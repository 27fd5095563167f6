//===- TorchCsvImporter.cpp - Reads PyTorch's compute_only CSV ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/exchange/TorchCells.h"

#include "llvm/ADT/Twine.h"

using namespace rondo;
using namespace rondo::exchange;

static Result<ExchangedSchedule> read(llvm::StringRef text,
                                      const ImportOptions &options,
                                      std::vector<std::string> &notes) {
  Result<TorchRows> rows = readTorchCells(text, notes);
  if (!rows)
    return rows.fault();
  for (const std::vector<TorchCell> &cells : *rows)
    for (const TorchCell &cell : cells)
      if (!isTask(cell.kind))
        return fail(placeOf(cell.row, cell.column) + nameOf(cell) +
                    " is no task, and this format has tasks alone; a file "
                    "with all messages is torch-csv-comms");
  const ForeignOrder order = tasksOf(*rows);
  Result<ExchangedSchedule> schedule = assemble(order, options);
  if (!schedule)
    return schedule;
  if (std::optional<Fault> fault = checkForTorch(*schedule, order))
    return *fault;
  return schedule;
}

Importer exchange::torchCsvImporter() {
  return {"torch-csv",
          "PyTorch's CSV of tasks, which _PipelineScheduleRuntime and "
          "torchtitan load (compute_only)",
          {Part::Schedule},
          {},
          read};
}
