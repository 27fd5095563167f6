//===- TextTimeline.cpp - A schedule over time, as text -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reports/TextTimeline.h"

#include "kinds/Counts.h"
#include "reports/Figures.h"
#include "schedule/rules/Legality.h"

#include <algorithm>
#include <vector>

namespace rondo {

namespace {

constexpr int32_t maxRows = 64;
/// A step too short for its name.
constexpr char shortStep = '*';

/// Maps time to columns. If there is room, each nanosecond gets the same whole
/// number of columns, so that equal tasks look equal.
class Scale {
public:
  Scale(int64_t makespanNs, int64_t width) : ns(makespanNs), width(width) {
    if (ns > 0 && ns <= width)
      this->width = width / ns * ns;
  }
  int64_t column(int64_t timeNs) const {
    return ns ? static_cast<int64_t>(static_cast<long double>(timeNs) * width /
                                     ns)
              : 0;
  }
  int64_t columns() const { return width; }

private:
  int64_t ns, width;
};

/// 256-colour backgrounds on which black text is readable.
const char *colorOf(char letter) {
  switch (letter) {
  case 'F':
    return "\x1b[30;48;5;117m";
  case 'I':
    return "\x1b[30;48;5;223m";
  case 'W':
    return "\x1b[30;48;5;151m";
  case 'S':
  case 'L':
    return "\x1b[30;48;5;250m";
  default:
    return "\x1b[30;48;5;216m";
  }
}

struct Row {
  std::string text;
  /// The letter of the task that a column shows; ' ' where it is idle.
  std::string letters;
  bool hasShortStep = false;
};

/// The tasks of a rank on a lane.
Row makeRow(const Problem &problem, const Timeline &timeline,
            const Scale &scale, int32_t rank, Lane lane) {
  Row row{std::string(scale.columns(), '.'), std::string(scale.columns(), ' ')};
  int64_t numStages = std::count_if(
      problem.replicas.begin(), problem.replicas.end(),
      [&](const Replica &replica) { return replica.rank == rank; });
  for (int64_t i = timeline.rankBegin[rank]; i < timeline.rankBegin[rank + 1];
       ++i) {
    const TimelineTask &task = timeline.tasks[i];
    // Gathers and reductions run while tasks do, and have no rows.
    if (task.action.traits().movesState() || task.lane != lane)
      continue;
    int64_t first = scale.column(task.startNs);
    int64_t end = scale.column(task.endNs);
    // A task too short for a column still shows where it begins.
    end = std::min(std::max(end, first + 1), scale.columns());
    while (first < end && row.letters[first] != ' ')
      ++first;
    if (first >= end)
      continue;
    const ActionTraits &traits = task.action.traits();
    // A step has the letter S.
    const char letter = traits.code[0];
    const bool isStep = task.action.kind() == ActionKind::Step;
    std::string label =
        numStages > 1
            ? actionName(task.action, problem)
            : traits.code + std::to_string(uint64_t(task.action.index));
    // An S next to the label of a task would read as part of it.
    if (static_cast<int64_t>(label.size()) > end - first) {
      label = isStep ? shortStep : letter;
      row.hasShortStep |= isStep;
    }
    label.resize(end - first, '-');
    row.text.replace(first, label.size(), label);
    row.letters.replace(first, label.size(), label.size(), letter);
  }
  return row;
}

bool hasLane(const Timeline &timeline, int32_t rank, Lane lane) {
  const auto begin = timeline.tasks.begin();
  return std::any_of(
      begin + timeline.rankBegin[rank], begin + timeline.rankBegin[rank + 1],
      [&](const TimelineTask &task) { return task.lane == lane; });
}

std::string colored(const Row &row) {
  std::string text;
  char current = ' ';
  for (size_t i = 0; i < row.text.size(); ++i) {
    if (row.letters[i] != current) {
      current = row.letters[i];
      text += current == ' ' ? "\x1b[0m" : colorOf(current);
    }
    text += row.text[i];
  }
  return text + (current == ' ' ? "" : "\x1b[0m");
}

} // namespace

std::string renderTimeline(const Problem &problem, const Timeline &timeline,
                           int width, bool color) {
  const int32_t numRanks = problem.numRanks();
  const int digits =
      static_cast<int>(std::to_string(std::max(numRanks - 1, 0)).size());
  const int margin = 7 + digits; // "rank 0 |" and the closing '|'
  Scale scale(timeline.makespanNs, std::max(width - margin, 16));
  std::string text;
  bool hasShortStep = false;
  for (int32_t rank = 0; rank < numRanks; ++rank) {
    if (numRanks > maxRows && rank == maxRows / 2) {
      int32_t hidden = numRanks - maxRows;
      text += "  ... " + std::to_string(hidden) + " ranks ...\n";
      rank += hidden;
    }
    std::string name = std::to_string(rank);
    text += "rank " + std::string(digits - name.size(), ' ') + name + "|";
    const auto addRow = [&](Lane lane) {
      const Row row = makeRow(problem, timeline, scale, rank, lane);
      text += (color ? colored(row) : row.text) + "|\n";
      hasShortStep |= row.hasShortStep;
    };
    addRow(Lane::Compute);
    // Copies to the host and back.
    for (const auto &[lane, heading] :
         {std::pair(Lane::CopyOut, "out"), {Lane::CopyIn, "in"}})
      if (hasLane(timeline, rank, lane)) {
        const std::string word = heading;
        text += std::string(margin - 2 - word.size(), ' ') + word + "|";
        addRow(lane);
      }
  }
  std::string end = formatNs(timeline.makespanNs);
  int64_t gap = scale.columns() - static_cast<int64_t>(end.size());
  text += std::string(margin - 1, ' ') + "0" +
          std::string(std::max<int64_t>(gap - 1, 1), ' ') + end + "\n";
  if (hasShortStep)
    text += std::string(margin - 1, ' ') + shortStep + ": an optimizer step\n";
  return text;
}

} // namespace rondo
