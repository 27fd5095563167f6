//===- TorchCells.cpp - The cells of PyTorch's CSV ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/exchange/TorchCells.h"

#include "lowering/Communication.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace rondo;
using namespace rondo::exchange;
using llvm::StringRef;
using llvm::Twine;

namespace {

struct KindRow {
  TorchKind kind;
  StringRef word;
};
constexpr KindRow kinds[] = {
    {TorchKind::Forward, "F"},
    {TorchKind::InputGrad, "I"},
    {TorchKind::WeightGrad, "W"},
    {TorchKind::Backward, "B"},
    {TorchKind::Unshard, "UNSHARD"},
    {TorchKind::Reshard, "RESHARD"},
    {TorchKind::SendForward, "SEND_F"},
    {TorchKind::ReceiveForward, "RECV_F"},
    {TorchKind::SendBackward, "SEND_B"},
    {TorchKind::ReceiveBackward, "RECV_B"},
    {TorchKind::ReduceGrad, "REDUCE_GRAD"},
    {TorchKind::WaitSendForward, "WAIT_SEND_F"},
    {TorchKind::WaitSendBackward, "WAIT_SEND_B"},
    {TorchKind::WaitReduceGrad, "WAIT_REDUCE_GRAD"},
};
constexpr StringRef pairWord = "OVERLAP_F_B";

/// Above all limits of the core.
constexpr int64_t maxNumber = int64_t(1) << 40;

int64_t takeNumber(StringRef &text) {
  int64_t number = 0;
  while (!text.empty() && llvm::isDigit(text.front())) {
    number = std::min(maxNumber, number * 10 + (text.front() - '0'));
    text = text.drop_front();
  }
  return number;
}

/// Text of a cell for a message, which a control character could garble.
std::string quoted(StringRef text) {
  std::string shown = text.take_front(40).str();
  for (char &c : shown)
    if (!llvm::isPrint(c))
      c = '?';
  return "'" + shown + (text.size() > 40 ? "...'" : "'");
}

/// A file's cells, one after another.
class Reader {
public:
  Reader(StringRef text, std::vector<std::string> &notes)
      : rest(text), notes(notes) {}

  Result<TorchRows> run();

private:
  std::optional<Fault> failHere(const Twine &message) const {
    return fail(exchange::placeOf(row, column) + message);
  }
  std::optional<Fault> readRow(StringRef line, std::vector<TorchCell> &cells);
  std::optional<Fault> readCell(StringRef text, std::vector<TorchCell> &cells);
  std::optional<Fault> readAction(StringRef text,
                                  std::vector<TorchCell> &cells);
  std::optional<Fault> readPair(StringRef text, std::vector<TorchCell> &cells);

  StringRef rest;
  std::vector<std::string> &notes;
  int64_t row = 0, column = 0;
};

std::optional<Fault> Reader::readAction(StringRef text,
                                        std::vector<TorchCell> &cells) {
  TorchCell cell;
  cell.row = row;
  cell.column = column;
  StringRef rest = text;
  const bool hasStage = !rest.empty() && llvm::isDigit(rest.front());
  cell.stage = takeNumber(rest);
  const StringRef word =
      rest.take_while([](char c) { return llvm::isUpper(c) || c == '_'; });
  const auto *kind = llvm::find_if(
      kinds, [&](const KindRow &each) { return each.word == word; });
  if (!hasStage || kind == std::end(kinds)) {
    const bool isLower = hasStage && !rest.empty() && llvm::isLower(rest[0]);
    return failHere(quoted(text) + " is not an action such as 0F1" +
                    (isLower ? "; its kind must be in capitals" : ""));
  }
  rest = rest.drop_front(word.size());
  cell.kind = kind->kind;
  const bool hasNumber = !rest.empty() && llvm::isDigit(rest.front());
  if (hasNumber)
    cell.microbatch = takeNumber(rest);
  if (hasNumber != hasMicrobatch(cell.kind))
    return failHere(quoted(text) +
                    (hasNumber
                         ? " has a micro-batch, which " + word + " is not of"
                         : Twine(" has no micro-batch after ") + word));
  if (!rest.empty())
    notes.push_back(exchange::placeOf(row, column) + quoted(text) +
                    " is read as " + nameOf(cell) + ", as PyTorch reads it");
  cells.push_back(cell);
  return std::nullopt;
}

std::optional<Fault> Reader::readPair(StringRef text,
                                      std::vector<TorchCell> &cells) {
  const auto [inside, word] = text.drop_front().split(')');
  if (word.trim() != pairWord || inside.count(';') != 1)
    return failHere(quoted(text) + " is not a pair such as (0F1;1B0)" +
                    pairWord);
  const auto [first, second] = inside.split(';');
  const size_t begin = cells.size();
  for (StringRef each : {first, second})
    if (std::optional<Fault> fault = readAction(each.trim(), cells))
      return fault;
  if (cells[begin].kind != TorchKind::Forward ||
      (cells[begin + 1].kind != TorchKind::Backward &&
       cells[begin + 1].kind != TorchKind::InputGrad))
    return failHere(quoted(text) + " is not an F, then a B or an I");
  cells[begin].isJoined = true;
  return std::nullopt;
}

std::optional<Fault> Reader::readCell(StringRef text,
                                      std::vector<TorchCell> &cells) {
  ++column;
  text = text.trim();
  // Python's reader takes cells in quotation marks.
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    text = text.drop_front().drop_back().trim();
  if (text.empty())
    return std::nullopt;
  return text.front() == '(' ? readPair(text, cells) : readAction(text, cells);
}

std::optional<Fault> Reader::readRow(StringRef line,
                                     std::vector<TorchCell> &cells) {
  ++row;
  column = 0;
  if (row == 1 && line.starts_with("\xef\xbb\xbf"))
    return fail("row 1, column 1: the file begins with a byte order mark, "
                "which PyTorch takes for a part of the first action; save it "
                "as UTF-8 without one");
  while (true) {
    const auto [cell, others] = line.split(',');
    if (std::optional<Fault> fault = readCell(cell, cells))
      return fault;
    if (others.data() == nullptr || cell.size() == line.size())
      break;
    line = others;
  }
  if (cells.empty())
    return fail("row " + Twine(row) + " has no action, and PyTorch takes it " +
                "for a rank; a rank needs an action, and a file ends after "
                "its last rank");
  return std::nullopt;
}

Result<TorchRows> Reader::run() {
  TorchRows rows;
  if (rest.contains('\0'))
    return fail("the file has bytes of 0, as UTF-16 does; PyTorch reads UTF-8");
  while (!rest.empty()) {
    auto [line, others] = rest.split('\n');
    rest = others;
    line.consume_back("\r");
    if (std::optional<Fault> fault = readRow(line, rows.emplace_back()))
      return *fault;
  }
  if (rows.empty())
    return fail("the file is empty; it has a row of actions for each rank");
  if (int64_t(rows.size()) > maxRanks)
    return fail("there are " + Twine(rows.size()) + " rows; there can be " +
                Twine(maxRanks) + " ranks");
  return rows;
}

} // namespace

ActionKind exchange::actionOf(TorchKind kind) {
  switch (kind) {
  case TorchKind::Forward:
    return ActionKind::Forward;
  case TorchKind::InputGrad:
    return ActionKind::InputGrad;
  case TorchKind::WeightGrad:
    return ActionKind::WeightGrad;
  default:
    return ActionKind::Backward;
  }
}

TorchKind exchange::torchKindOf(ActionKind kind) {
  for (TorchKind each :
       {TorchKind::Forward, TorchKind::InputGrad, TorchKind::WeightGrad})
    if (actionOf(each) == kind)
      return each;
  return TorchKind::Backward;
}

StringRef exchange::wordOf(TorchKind kind) {
  return kinds[static_cast<size_t>(kind)].word;
}

bool exchange::hasMicrobatch(TorchKind kind) {
  return !llvm::is_contained({TorchKind::Unshard, TorchKind::Reshard,
                              TorchKind::ReduceGrad, TorchKind::WaitReduceGrad},
                             kind);
}

std::string exchange::nameOf(const TorchCell &cell) {
  std::string name = std::to_string(cell.stage) + wordOf(cell.kind).str();
  return hasMicrobatch(cell.kind) ? name + std::to_string(cell.microbatch)
                                  : name;
}

Result<TorchRows> exchange::readTorchCells(StringRef text,
                                           std::vector<std::string> &notes) {
  return Reader(text, notes).run();
}

ForeignOrder exchange::tasksOf(const TorchRows &rows) {
  ForeignOrder order;
  for (const std::vector<TorchCell> &cells : rows) {
    std::vector<ForeignTask> &tasks = order.emplace_back();
    for (const TorchCell &cell : cells)
      if (isTask(cell.kind))
        tasks.push_back({cell.stage, actionOf(cell.kind), cell.microbatch,
                         cell.row, cell.column, cell.isJoined});
  }
  return order;
}

std::vector<bool> exchange::joinedOf(const ExchangedSchedule &schedule) {
  std::vector<bool> joined(schedule.schedule.numActions(), false);
  if (schedule.overlap.empty())
    return joined;
  const auto keyOf = [](Action action) {
    return std::tuple(uint64_t(action.kindBits), uint64_t(action.subject),
                      uint64_t(action.index));
  };
  std::map<decltype(keyOf(Action())), Action> second;
  for (const auto &[first, next] : schedule.overlap)
    second.emplace(keyOf(first), next);
  for (int32_t rank = 0; rank < schedule.schedule.numRanks(); ++rank) {
    const ActionRange order = schedule.schedule.rank(rank);
    for (int64_t i = 0; i + 1 < order.size(); ++i) {
      const auto found = second.find(keyOf(order[i]));
      joined[schedule.schedule.rankBegin(rank) + i] =
          found != second.end() && found->second == order[i + 1];
    }
  }
  return joined;
}

std::optional<Fault> exchange::checkForTorch(const ExchangedSchedule &schedule,
                                             const ForeignOrder &order) {
  const int64_t last = schedule.problem.numStages() - 1;
  for (const auto &tasks : order) {
    int64_t before = -1;
    for (const ForeignTask &task : tasks) {
      if (task.stage != last || task.kind != ActionKind::Forward)
        continue;
      if (task.microbatch < before)
        return fail(exchange::placeOf(task.row, task.column) + Twine(last) +
                    "F" + Twine(task.microbatch) + " comes after " +
                    Twine(last) + "F" + Twine(before) +
                    ": the forwards of the last stage must ascend, since "
                    "PyTorch finds the loss of a micro-batch by their order "
                    "and would give gradients of another one");
      before = task.microbatch;
    }
  }
  if (schedule.overlap.empty())
    return std::nullopt;
  const Program program = insertCommunicationInRounds(
      schedule.problem, schedule.schedule, joinedOf(schedule));
  for (size_t rank = 0; rank < order.size(); ++rank) {
    int64_t taken =
        llvm::count_if(program.order.rank(int32_t(rank)),
                       [](Action action) { return action.isTask(); });
    if (taken < int64_t(order[rank].size())) {
      const ForeignTask &task = order[rank][taken];
      return fail(exchange::placeOf(task.row, task.column) +
                  "the rank would wait here forever: both tasks of a pair "
                  "start together, so neither may need what comes of the "
                  "other");
    }
  }
  return std::nullopt;
}

void exchange::writeTorchCells(const TorchRows &rows, llvm::raw_ostream &os) {
  for (const std::vector<TorchCell> &cells : rows) {
    for (size_t i = 0; i < cells.size(); ++i) {
      os << (i == 0 ? "" : ",");
      if (!cells[i].isJoined) {
        os << nameOf(cells[i]);
        continue;
      }
      os << "(" << nameOf(cells[i]) << ";" << nameOf(cells[i + 1]) << ")"
         << pairWord;
      ++i;
    }
    os << "\r\n";
  }
}
