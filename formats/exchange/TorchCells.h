//===- TorchCells.h - The cells of PyTorch's CSV ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// torch.distributed.pipelining keeps a schedule as one row of actions per rank:
// `compute_only` has the tasks alone, `compute_comms` the messages as well.
// Facts were taken from torch 2.7 to 2.15.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_EXCHANGE_TORCHCELLS_H
#define RONDO_FORMATS_EXCHANGE_TORCHCELLS_H

#include "formats/exchange/ForeignOrder.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace rondo::exchange {

/// The kind of a PyTorch cell. The first four are tasks.
enum class TorchKind : uint8_t {
  Forward,
  InputGrad,
  WeightGrad,
  Backward,
  Unshard,
  Reshard,
  SendForward,
  ReceiveForward,
  SendBackward,
  ReceiveBackward,
  ReduceGrad,
  WaitSendForward,
  WaitSendBackward,
  WaitReduceGrad,
};

constexpr bool isTask(TorchKind kind) { return kind <= TorchKind::Backward; }
/// The kind of a task.
ActionKind actionOf(TorchKind kind);
/// The kind of F, I, W or B.
TorchKind torchKindOf(ActionKind kind);
/// `SEND_F`.
llvm::StringRef wordOf(TorchKind kind);
/// Whether it has a micro-batch after its word.
bool hasMicrobatch(TorchKind kind);

/// One action. Those of a pair are adjacent.
struct TorchCell {
  TorchKind kind = TorchKind::Forward;
  int64_t stage = 0;
  int64_t microbatch = -1;
  int64_t row = 0, column = 0;
  /// The first of an OVERLAP_F_B.
  bool isJoined = false;
};

/// Indexed by rank.
using TorchRows = std::vector<std::vector<TorchCell>>;

/// `0SEND_F3`.
std::string nameOf(const TorchCell &cell);

/// Reads the text of a file as torch's reader does, but refuses what that takes
/// and fails on later: blank rows, a byte order mark, pairs that are not an F
/// and a backward. Blank cells are left out.
Result<TorchRows> readTorchCells(llvm::StringRef text,
                                 std::vector<std::string> &notes);

/// The rows as a ForeignOrder; cells that are no tasks are left out.
ForeignOrder tasksOf(const TorchRows &rows);

/// PyTorch's requirements in addition to the rules: the forwards of the
/// last stage must ascend, since it finds the loss of a micro-batch by their
/// order, and no pair may wait for itself.
std::optional<Fault> checkForTorch(const ExchangedSchedule &schedule,
                                   const ForeignOrder &order);

/// [position in the schedule's array]: whether an action is one with the next.
std::vector<bool> joinedOf(const ExchangedSchedule &schedule);

/// Writes rows in torch's form: commas, and CR LF after each row.
void writeTorchCells(const TorchRows &rows, llvm::raw_ostream &os);

} // namespace rondo::exchange

#endif // RONDO_FORMATS_EXCHANGE_TORCHCELLS_H
