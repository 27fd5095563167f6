//===- TorchMessages.h - The messages of PyTorch's CSV ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_EXCHANGE_TORCHMESSAGES_H
#define RONDO_FORMATS_EXCHANGE_TORCHMESSAGES_H

#include "formats/exchange/TorchCells.h"

namespace rondo::exchange {

/// Checks the sends, receives and waits of rows whose tasks are
/// `schedule`: one is missing, twice, or before what it sends or after what
/// needs it; both ends of a link have different orders (L1); the ranks would
/// wait for each other forever with such queues (L2). O(cells).
std::optional<Fault> checkMessages(const TorchRows &rows,
                                   const ExchangedSchedule &schedule,
                                   const TorchVersion &version, Queues queues);

/// Gives the schedule the order of sends of each link that has another one than
/// the tasks that send.
void takeLinkOrders(const TorchRows &rows, ExchangedSchedule &schedule,
                    std::vector<std::string> &notes);

} // namespace rondo::exchange

#endif // RONDO_FORMATS_EXCHANGE_TORCHMESSAGES_H
