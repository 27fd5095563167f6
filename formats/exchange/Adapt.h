//===- Adapt.h - Changes that other tools need ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_EXCHANGE_ADAPT_H
#define RONDO_FORMATS_EXCHANGE_ADAPT_H

#include "formats/exchange/Exchange.h"

namespace rondo::exchange {

// Each changes a schedule that keeps the rules into another that does, and
// appends a note where it changed something.

/// Fails where a task serves several micro-batches.
std::optional<Fault> needSingleTasks(const Schedule &schedule, const char *who);

/// Appends a note if stages share a weight, whose gradients the other tool has
/// to add.
void noteSharedWeight(const ExchangedSchedule &schedule,
                      std::vector<std::string> &notes);

/// Optimizer steps are the caller's in other tools.
void dropSteps(ExchangedSchedule &schedule, std::vector<std::string> &notes);

/// Other tools order their messages themselves.
void dropLinkOrders(ExchangedSchedule &schedule,
                    std::vector<std::string> &notes);

/// Adjacent I and W of a stage's micro-batch become B if nothing waits for
/// the I: what needs its gradient would start no earlier. Where that makes the
/// iteration longer all the same, since messages meet on a link, only those
/// whose I sends nothing are fused. The note has the predicted times.
void fuseBackwards(ExchangedSchedule &schedule,
                   std::vector<std::string> &notes);

/// The I of these stages become B, and their W are left out. The note has the
/// predicted times. Fails if the schedule would break a rule, such as a cap on
/// memory.
std::optional<Fault> runWholeBackwards(ExchangedSchedule &schedule,
                                       const std::vector<int32_t> &stages,
                                       std::vector<std::string> &notes);

/// The changes of backwards that `options` names.
std::optional<Fault> changeBackwards(ExchangedSchedule &schedule,
                                     const ExportOptions &options,
                                     std::vector<std::string> &notes);

/// Makes the second task of a pair a B if the I that it was has become one.
void renamePairs(ExchangedSchedule &schedule);

/// Fails if messages of an edge differ by micro-batch, which a format with
/// UnevenForm::EqualMessages cannot state.
std::optional<Fault> needEqualMessages(const Problem &problem, const char *who);

/// Gives every micro-batch the longest times, and the bytes of the largest one.
/// The note has the predicted times. Fails if the schedule would then break a
/// rule, such as a cap on memory.
std::optional<Fault> padMicrobatches(ExchangedSchedule &schedule,
                                     std::vector<std::string> &notes);

/// Renames the micro-batches so that the forwards of the last stage ascend. If
/// they differ, the note has the order in which the data loader must give them.
void renameToAscend(ExchangedSchedule &schedule,
                    std::vector<std::string> &notes);

/// Fails unless the forwards of all stages have one order of micro-batches;
/// after renameToAscend() all of them ascend.
std::optional<Fault> needOneOrder(const ExchangedSchedule &schedule);

/// The changes for tools that take tasks alone: no steps and no orders of
/// links, and changeBackwards(). With `renames`, renameToAscend(); with
/// `options.ascending`, needOneOrder().
std::optional<Fault> prepare(ExchangedSchedule &schedule,
                             const ExportOptions &options, bool renames,
                             std::vector<std::string> &notes);

} // namespace rondo::exchange

#endif // RONDO_FORMATS_EXCHANGE_ADAPT_H
