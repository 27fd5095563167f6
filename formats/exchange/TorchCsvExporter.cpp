//===- TorchCsvExporter.cpp - Writes PyTorch's compute_only CSV -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/exchange/TorchRows.h"

using namespace rondo;
using namespace rondo::exchange;

static std::optional<Fault> write(const ExchangedSchedule &schedule,
                                  const ExportOptions &options,
                                  llvm::raw_ostream &os,
                                  std::vector<std::string> &notes) {
  Result<ExchangedSchedule> prepared =
      prepareForTorch(schedule, options, notes);
  if (!prepared)
    return prepared.fault();
  writeTorchCells(taskRows(*prepared), os);
  return std::nullopt;
}

Exporter exchange::torchCsvExporter() {
  return {"torch-csv",
          "csv",
          "PyTorch's CSV of tasks, which _PipelineScheduleRuntime and "
          "torchtitan load (compute_only)",
          {Part::Schedule},
          {"fuse", "backward", "ascending", "pad", "torch"},
          write,
          /*hasWindows=*/false,
          "PyTorch's schedules",
          /*hasCopies=*/false,
          UnevenForm::EqualMessages,
          /*ascends=*/true};
}
