//===- TorchMessages.cpp - The messages of PyTorch's CSV ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/exchange/TorchMessages.h"

#include "schedule/program/Program.h"
#include "schedule/rules/ProgramRules.h"

#include "llvm/ADT/Twine.h"

#include <map>

using namespace rondo;
using namespace rondo::exchange;
using llvm::Twine;

namespace {

std::optional<Fault> failAt(const TorchCell &cell, const Twine &message) {
  return fail(placeOf(cell.row, cell.column) + nameOf(cell) + message);
}

bool isSend(TorchKind kind) {
  return kind == TorchKind::SendForward || kind == TorchKind::SendBackward;
}
bool isReceive(TorchKind kind) {
  return kind == TorchKind::ReceiveForward ||
         kind == TorchKind::ReceiveBackward;
}
bool isSendWait(TorchKind kind) {
  return kind == TorchKind::WaitSendForward ||
         kind == TorchKind::WaitSendBackward;
}
/// Whether it is about an activation, and not a gradient.
bool isForward(TorchKind kind) {
  return kind == TorchKind::Forward || kind == TorchKind::SendForward ||
         kind == TorchKind::ReceiveForward ||
         kind == TorchKind::WaitSendForward;
}

/// The state of a message while rows are read.
struct MessageState {
  bool isMade = false, isSent = false, isPosted = false, isWaitedFor = false;
};

class Checker {
public:
  Checker(const TorchRows &rows, const ExchangedSchedule &schedule,
          const TorchVersion &version, Queues queues)
      : rows(rows), problem(schedule.problem), version(version), queues(queues),
        forward(problem.numStages(), -1), backward(problem.numStages(), -1),
        states(problem.edges.size() * size_t(problem.microbatches)) {
    for (size_t e = 0; e < problem.edges.size(); ++e) {
      const Edge &edge = problem.edges[e];
      if (problem.rankOf(edge.from) != problem.rankOf(edge.to))
        (edge.producer == ActionKind::Forward ? forward : backward)[edge.from] =
            int64_t(e);
    }
  }

  std::optional<Fault> run() {
    for (const auto &cells : rows)
      if (std::optional<Fault> fault = checkRow(cells))
        return fault;
    writeProgram();
    if (std::optional<Fault> fault = checkEnds())
      return fault;
    if (std::optional<Fault> fault = checkQueues())
      return fault;
    // In the only queue of a rank, all that follows a wait also follows the
    // send.
    return queues == Queues::PerRank ? std::nullopt : checkWaits();
  }

private:
  /// The message that a cell sends, receives, waits for or makes; -1 if there
  /// is none between two ranks.
  int64_t messageOf(const TorchCell &cell) const {
    int64_t edge = -1;
    if (isReceive(cell.kind)) {
      const int64_t from = cell.stage + (isForward(cell.kind) ? -1 : 1);
      if (from >= 0 && from < problem.numStages())
        edge = (isForward(cell.kind) ? forward : backward)[from];
    } else if (cell.kind != TorchKind::WeightGrad && hasMicrobatch(cell.kind)) {
      edge = (isForward(cell.kind) ? forward : backward)[cell.stage];
    }
    return edge < 0 ? -1 : edge * problem.microbatches + cell.microbatch;
  }
  /// The message from another rank that a task needs; -1 if there is none.
  int64_t inputOf(const TorchCell &cell) const {
    if (!isTask(cell.kind) || cell.kind == TorchKind::WeightGrad)
      return -1;
    TorchCell receive = cell;
    receive.kind = isForward(cell.kind) ? TorchKind::ReceiveForward
                                        : TorchKind::ReceiveBackward;
    return messageOf(receive);
  }

  std::optional<Fault> checkRow(const std::vector<TorchCell> &cells);
  void writeProgram();
  std::string placeIn(const Fault &fault) const;
  std::optional<Fault> checkEnds() const;
  std::optional<Fault> checkQueues() const;
  std::optional<Fault> checkWaits() const;
  bool canRun(const TorchCell &cell, const std::vector<bool> &sent,
              const std::vector<bool> &posted) const;

  const TorchRows &rows;
  const Problem &problem;
  const TorchVersion &version;
  const Queues queues;
  /// The tasks, sends and receives of the rows, and by rank their cells.
  Program program;
  std::vector<std::vector<const TorchCell *>> cellOf;
  /// [stage]: the edge over which it sends to another rank; -1: none.
  std::vector<int64_t> forward, backward;
  /// Indexed by edge and micro-batch.
  std::vector<MessageState> states;
};

/// Checks a row by itself.
std::optional<Fault> Checker::checkRow(const std::vector<TorchCell> &cells) {
  for (const TorchCell &cell : cells) {
    const int64_t message = messageOf(cell);
    if (isTask(cell.kind)) {
      if (const int64_t input = inputOf(cell);
          input >= 0 && !states[input].isPosted)
        return failAt(cell, Twine(" has no ") + Twine(cell.stage) +
                                (isForward(cell.kind) ? "RECV_F" : "RECV_B") +
                                Twine(cell.microbatch) + " before it");
      if (message >= 0)
        states[message].isMade = true;
      continue;
    }
    if (!isSend(cell.kind) && !isReceive(cell.kind) && !isSendWait(cell.kind))
      continue;
    if (message < 0)
      return failAt(cell, ": no other rank is at the other end");
    MessageState &state = states[message];
    if (isSend(cell.kind)) {
      if (!state.isMade)
        return failAt(cell, " comes before the task that makes what it sends");
      if (state.isSent)
        return failAt(cell, " is there twice");
      state.isSent = true;
    } else if (isReceive(cell.kind)) {
      if (state.isPosted)
        return failAt(cell, " is there twice");
      state.isPosted = true;
    } else {
      if (!state.isSent)
        return failAt(cell, " has no send before it to wait for");
      if (state.isWaitedFor)
        return failAt(cell, " is there twice");
      state.isWaitedFor = true;
    }
  }
  if (!version.hasWaits)
    return std::nullopt;
  for (const TorchCell &cell : cells)
    if (isSend(cell.kind) && !states[messageOf(cell)].isWaitedFor)
      return failAt(cell, Twine(" has no WAIT_") + wordOf(cell.kind) +
                              " after it, which PyTorch " + version.name +
                              " needs; --torch 2.14 reads files of older "
                              "versions");
  return std::nullopt;
}

void Checker::writeProgram() {
  for (const auto &cells : rows) {
    auto &places = cellOf.emplace_back();
    for (const TorchCell &cell : cells) {
      Action action;
      if (isTask(cell.kind))
        action = Action(actionOf(cell.kind), cell.stage, cell.microbatch);
      else if (isSend(cell.kind) || isReceive(cell.kind))
        action =
            Action(isSend(cell.kind) ? ActionKind::Send : ActionKind::Recv,
                   messageOf(cell) / problem.microbatches, cell.microbatch);
      else
        continue;
      program.order.append(action);
      places.push_back(&cell);
    }
    program.order.endRank();
  }
}

std::string Checker::placeIn(const Fault &fault) const {
  if (fault.rank < 0 || fault.position < 0 ||
      size_t(fault.position) >= cellOf[fault.rank].size())
    return {};
  const TorchCell &cell = *cellOf[fault.rank][fault.position];
  return placeOf(cell.row, cell.column);
}

/// Rule L1 of the program.
std::optional<Fault> Checker::checkEnds() const {
  const std::optional<Fault> fault = checkChannels(problem, program);
  if (!fault)
    return std::nullopt;
  return fail(placeIn(*fault) + describe(*fault, problem) +
              "; PyTorch's messages have no tag, so the data would be taken "
              "for those of another micro-batch");
}

/// Rule L2 of the program.
std::optional<Fault> Checker::checkQueues() const {
  const std::optional<Fault> fault = checkWaitCycle(problem, program, queues);
  if (!fault)
    return std::nullopt;
  return fail(placeIn(*fault) + describe(*fault, problem) +
              (queues == Queues::PerPair
                   ? ""
                   : "; a rank sends and receives in one in-order queue, as "
                     "PyTorch does with NCCL: give both ends of all its "
                     "messages one order, or say --queues pair if each "
                     "directed pair of ranks has a communicator of its own"));
}

bool Checker::canRun(const TorchCell &cell, const std::vector<bool> &sent,
                     const std::vector<bool> &posted) const {
  if (isSendWait(cell.kind))
    return posted[messageOf(cell)];
  const int64_t input = inputOf(cell);
  return input < 0 || sent[input];
}

/// Rule L2 of the waits for sends, which programs do not have, with a queue for
/// each pair: a wait ends when the receiver has posted.
std::optional<Fault> Checker::checkWaits() const {
  std::vector<bool> sent(states.size(), false), posted(states.size(), false);
  std::vector<size_t> next(rows.size(), 0);
  for (bool hasMoved = true; hasMoved;) {
    hasMoved = false;
    for (size_t rank = 0; rank < rows.size(); ++rank)
      for (size_t &i = next[rank]; i < rows[rank].size();) {
        const TorchCell &cell = rows[rank][i];
        if (!canRun(cell, sent, posted) ||
            (cell.isJoined && !canRun(rows[rank][i + 1], sent, posted)))
          break;
        if (isSend(cell.kind))
          sent[messageOf(cell)] = true;
        if (isReceive(cell.kind))
          posted[messageOf(cell)] = true;
        ++i;
        hasMoved = true;
      }
  }
  for (size_t rank = 0; rank < rows.size(); ++rank)
    if (next[rank] < rows[rank].size()) {
      const TorchCell &cell = rows[rank][next[rank]];
      return failAt(cell, Twine(" waits forever: ") +
                              (isSendWait(cell.kind)
                                   ? "the receive that it waits for is after "
                                     "something that waits for this rank"
                                   : "the send that it waits for is after "
                                     "something that waits for this rank") +
                              " (L2)");
    }
  return std::nullopt;
}

} // namespace

std::optional<Fault> exchange::checkMessages(const TorchRows &rows,
                                             const ExchangedSchedule &schedule,
                                             const TorchVersion &version,
                                             Queues queues) {
  return Checker(rows, schedule, version, queues).run();
}

void exchange::takeLinkOrders(const TorchRows &rows,
                              ExchangedSchedule &schedule,
                              std::vector<std::string> &notes) {
  const Problem &problem = schedule.problem;
  int64_t numOrders = 0;
  for (size_t rank = 0; rank < rows.size(); ++rank) {
    /// Producers of the messages to each rank: in the order of the sends, and
    /// in that of the tasks.
    std::map<int32_t, std::vector<Action>> sends, makes;
    std::map<std::pair<bool, std::pair<int64_t, int64_t>>, Action> producers;
    for (const TorchCell &cell : rows[rank]) {
      const bool goesForward = isForward(cell.kind);
      const int64_t to = cell.stage + (goesForward ? 1 : -1);
      const bool isMaker =
          isTask(cell.kind) && cell.kind != TorchKind::WeightGrad;
      if ((!isMaker && !isSend(cell.kind)) || to < 0 ||
          to >= problem.numStages())
        continue;
      const int32_t toRank = problem.rankOf(int32_t(to));
      if (toRank == int32_t(rank))
        continue;
      const std::pair key(goesForward, std::pair(cell.stage, cell.microbatch));
      if (isMaker) {
        producers[key] =
            Action(actionOf(cell.kind), cell.stage, cell.microbatch);
        makes[toRank].push_back(producers[key]);
      } else {
        sends[toRank].push_back(producers[key]);
      }
    }
    for (const auto &[to, order] : sends)
      if (order != makes[to]) {
        schedule.schedule.linkOrders[{int32_t(rank), to}] = order;
        ++numOrders;
      }
  }
  if (numOrders > 0)
    notes.push_back(countOf(numOrders, "link") +
                    (numOrders == 1 ? " carries" : " carry") +
                    " messages in another order than their tasks (link_order)");
}
