//===- TorchCommsExporter.cpp - Writes PyTorch's compute_comms CSV --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places gathers, messages, reductions and waits where PyTorch's own lowering
// of a compute_only file places them: at most three stages' weights are
// gathered on a rank, a gradient is reduced after a stage's last backward, a
// forward's send is waited for after its backward and all others at the end.
//
//===----------------------------------------------------------------------===//

#include "formats/exchange/TorchMessages.h"
#include "formats/exchange/TorchRows.h"
#include "lowering/Communication.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

#include <map>

using namespace rondo;
using namespace rondo::exchange;

namespace {

constexpr size_t maxGathered = 3;
/// Two uses of a ReduceGrad action: the reduction, and the wait for it.
constexpr int64_t reduces = 0, waitsForReduction = 1;

/// A rank's tasks with the actions that are no messages.
class RankWriter {
public:
  RankWriter(ActionRange tasks, int64_t microbatches,
             const TorchVersion &version)
      : tasks(tasks), microbatches(microbatches), version(version) {
    for (int64_t i = 0; i < tasks.size(); ++i)
      lastUse[int32_t(tasks[i].subject)] = i;
  }

  /// `isJoined` says it of each task.
  void run(llvm::function_ref<bool(int64_t)> isJoined, Schedule &order,
           std::vector<bool> &joined) {
    const auto add = [&](Action action, bool isFirst = false) {
      order.append(action);
      joined.push_back(isFirst);
    };
    for (int64_t i = 0; i < tasks.size();) {
      gather(i, add);
      const int64_t begin = i;
      for (bool isFirst = true; isFirst; ++i) {
        isFirst = isJoined(i);
        add(tasks[i], isFirst);
      }
      for (int64_t k = begin; k < i; ++k)
        reduceBehind(tasks[k], add);
    }
    for (int32_t stage : gathered)
      add(Action(ActionKind::Reshard, stage, 0));
  }

private:
  template <typename Add> void gather(int64_t begin, Add add) {
    llvm::SmallVector<int32_t> wanted;
    size_t remaining = 0;
    for (const auto &[stage, use] : lastUse)
      remaining += use >= begin;
    const size_t most = std::min(maxGathered, remaining);
    for (int64_t i = begin; i < tasks.size() && wanted.size() < most; ++i)
      if (const auto stage = int32_t(tasks[i].subject);
          !llvm::is_contained(wanted, stage))
        wanted.push_back(stage);
    for (int32_t stage : llvm::SmallVector<int32_t>(gathered))
      if (!llvm::is_contained(wanted, stage)) {
        llvm::erase(gathered, stage);
        add(Action(ActionKind::Reshard, stage, 0), false);
      }
    for (int32_t stage : wanted)
      if (!llvm::is_contained(gathered, stage)) {
        gathered.push_back(stage);
        add(Action(ActionKind::Unshard, stage, 0), false);
      }
  }

  template <typename Add> void reduceBehind(Action task, Add add) {
    if (!version.hasReduceGrad ||
        (task.kind() != ActionKind::WeightGrad &&
         task.kind() != ActionKind::Backward) ||
        ++numReady[int32_t(task.subject)] < microbatches)
      return;
    add(Action(ActionKind::ReduceGrad, int64_t(task.subject), reduces), false);
    if (version.hasWaits)
      add(Action(ActionKind::ReduceGrad, int64_t(task.subject),
                 waitsForReduction),
          false);
  }

  ActionRange tasks;
  int64_t microbatches;
  const TorchVersion &version;
  /// Indexed by stage.
  std::map<int32_t, int64_t> lastUse, numReady;
  /// In the order in which they were.
  llvm::SmallVector<int32_t> gathered;
};

TorchKind kindOf(Action action, const Problem &problem) {
  const bool isForward =
      !action.isTask() &&
      (action.kind() == ActionKind::Send ||
       action.kind() == ActionKind::Recv) &&
      problem.edges[action.subject].producer == ActionKind::Forward;
  switch (action.kind()) {
  case ActionKind::Send:
    return isForward ? TorchKind::SendForward : TorchKind::SendBackward;
  case ActionKind::Recv:
    return isForward ? TorchKind::ReceiveForward : TorchKind::ReceiveBackward;
  case ActionKind::Unshard:
    return TorchKind::Unshard;
  case ActionKind::Reshard:
    return TorchKind::Reshard;
  case ActionKind::ReduceGrad:
    return action.index == reduces ? TorchKind::ReduceGrad
                                   : TorchKind::WaitReduceGrad;
  default:
    return torchKindOf(action.kind());
  }
}

/// PyTorch names a send by its sender's stage, a receive by its receiver's.
int64_t stageOf(Action action, const Problem &problem) {
  if (action.kind() == ActionKind::Send)
    return problem.replicas[problem.edges[action.subject].from].stage;
  if (action.kind() == ActionKind::Recv)
    return problem.replicas[problem.edges[action.subject].to].stage;
  return problem.replicas[action.subject].stage;
}

/// A rank's cells with a wait for each send.
std::vector<TorchCell> withWaits(std::vector<TorchCell> cells) {
  std::vector<TorchCell> waiting;
  std::map<std::pair<int64_t, int64_t>, size_t> forwards;
  std::vector<std::optional<TorchCell>> pending;
  const auto waitFor = [](TorchCell send) {
    send.kind = send.kind == TorchKind::SendForward
                    ? TorchKind::WaitSendForward
                    : TorchKind::WaitSendBackward;
    return send;
  };
  for (const TorchCell &cell : cells) {
    waiting.push_back(cell);
    if (cell.kind == TorchKind::SendForward)
      forwards[{cell.stage, cell.microbatch}] = pending.size();
    if (cell.kind == TorchKind::SendForward ||
        cell.kind == TorchKind::SendBackward)
      pending.push_back(cell);
    if (cell.kind == TorchKind::InputGrad || cell.kind == TorchKind::Backward)
      if (auto found = forwards.find({cell.stage, cell.microbatch});
          found != forwards.end()) {
        waiting.push_back(waitFor(*pending[found->second]));
        pending[found->second].reset();
      }
  }
  for (const std::optional<TorchCell> &send : pending)
    if (send)
      waiting.push_back(waitFor(*send));
  return waiting;
}

/// Actions that are no messages, with the messages of a program of the same
/// tasks: gathers stay right before their tasks, reductions right after.
Program withEarlyMessages(const ExchangedSchedule &schedule,
                          const Schedule &order) {
  const Program tasks = insertCommunication(
      schedule.problem, schedule.schedule,
      simulate(schedule.problem, schedule.schedule, /*keepTimes=*/true), {});
  Program program;
  for (int32_t rank = 0; rank < order.numRanks(); ++rank) {
    const ActionRange mine = order.rank(rank);
    int64_t next = 0;
    for (Action action : tasks.order.rank(rank)) {
      if (action.isTask())
        while (mine[next] != action)
          program.order.append(mine[next++]);
      next += action.isTask();
      program.order.append(action);
    }
    while (next < mine.size())
      program.order.append(mine[next++]);
    program.order.endRank();
  }
  return program;
}

std::optional<Fault> write(const ExchangedSchedule &schedule,
                           const ExportOptions &options, llvm::raw_ostream &os,
                           std::vector<std::string> &notes) {
  Result<ExchangedSchedule> prepared =
      prepareForTorch(schedule, options, notes);
  if (!prepared)
    return prepared.fault();
  const Problem &problem = prepared->problem;
  const std::vector<bool> areJoined = joinedOf(*prepared);
  Schedule order;
  std::vector<bool> joined;
  for (int32_t rank = 0; rank < prepared->schedule.numRanks(); ++rank) {
    const int64_t begin = prepared->schedule.rankBegin(rank);
    RankWriter(prepared->schedule.rank(rank), problem.microbatches,
               *options.torch)
        .run([&](int64_t i) { return areJoined[begin + i]; }, order, joined);
    order.endRank();
  }
  if (options.earlyMessages && llvm::is_contained(joined, true))
    return fail("--messages early does not go with pairs (OVERLAP_F_B)");
  const Program program =
      options.earlyMessages
          ? withEarlyMessages(*prepared, order)
          : insertCommunicationInRounds(problem, order, joined);
  TorchRows rows;
  for (int32_t rank = 0; rank < program.order.numRanks(); ++rank) {
    std::vector<TorchCell> &cells = rows.emplace_back();
    // Index into the rank's actions without messages.
    int64_t place = order.rankBegin(rank);
    for (Action action : program.order.rank(rank)) {
      TorchCell cell;
      cell.kind = kindOf(action, problem);
      cell.stage = stageOf(action, problem);
      cell.microbatch = int64_t(action.index);
      const bool isMessage = action.kind() == ActionKind::Send ||
                             action.kind() == ActionKind::Recv;
      cell.isJoined = !isMessage && joined[place];
      place += !isMessage;
      cells.push_back(cell);
    }
    if (place < order.rankBegin(rank) + order.rank(rank).size())
      return fail(
          "rank " + llvm::Twine(rank) + " would wait forever at " +
          actionName(order.rank(rank)[place - order.rankBegin(rank)], problem) +
          ": both tasks of a pair start together, so neither may need "
          "what comes of the other");
    if (options.torch->hasWaits)
      cells = withWaits(std::move(cells));
    for (size_t column = 0; column < cells.size(); ++column) {
      cells[column].row = rank + 1;
      cells[column].column = int64_t(column) + 1;
    }
  }
  if (std::optional<Fault> fault =
          checkMessages(rows, *prepared, *options.torch, Queues::PerRank))
    return fail((options.earlyMessages
                     ? "--messages early: the file would hang in PyTorch with "
                       "NCCL; leave the option out: "
                     : "the file would hang: ") +
                llvm::Twine(describe(*fault)));
  notes.push_back("for PyTorch " + std::string(options.torch->name) +
                  "; files with messages are tied to a version (--torch)");
  writeTorchCells(rows, os);
  return std::nullopt;
}

} // namespace

Exporter exchange::torchCommsExporter() {
  return {"torch-csv-comms",
          "csv",
          "PyTorch's CSV with messages, reductions and waits "
          "(compute_comms), for one version",
          {Part::Schedule},
          {"fuse", "backward", "ascending", "pad", "messages", "torch"},
          write,
          /*hasWindows=*/false,
          "PyTorch's schedules",
          /*hasCopies=*/false,
          UnevenForm::EqualMessages,
          /*ascends=*/true};
}
