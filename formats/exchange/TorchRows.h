//===- TorchRows.h - A schedule as PyTorch runs it --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_EXCHANGE_TORCHROWS_H
#define RONDO_FORMATS_EXCHANGE_TORCHROWS_H

#include "formats/exchange/TorchCells.h"

namespace rondo::exchange {

/// The same schedule in the form that PyTorch takes: without steps, which its
/// caller makes; with fused backwards where the options ask for them; with
/// micro-batches renamed so that the forwards of the last stage ascend; without
/// pairs where the version has none. Notes say what was changed. Fails where
/// PyTorch cannot run it.
Result<ExchangedSchedule> prepareForTorch(const ExchangedSchedule &schedule,
                                          const ExportOptions &options,
                                          std::vector<std::string> &notes);

/// Its tasks, by rank.
TorchRows taskRows(const ExchangedSchedule &schedule);

} // namespace rondo::exchange

#endif // RONDO_FORMATS_EXCHANGE_TORCHROWS_H
