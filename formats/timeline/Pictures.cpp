//===- Pictures.cpp - What pictures of timelines share --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/timeline/Pictures.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <algorithm>
#include <array>

using namespace rondo;

int64_t timeline::endOf(llvm::ArrayRef<Panel> panels) {
  int64_t end = 1;
  for (const Panel &panel : panels)
    end = std::max(end, panel.timeline.makespanNs);
  return end;
}

std::vector<int32_t> timeline::stagesOfRanks(const Problem &problem) {
  std::vector<int32_t> count(problem.numRanks(), 0);
  for (const Replica &replica : problem.replicas)
    ++count[replica.rank];
  return count;
}

std::vector<int32_t> timeline::chunksOf(const Problem &problem) {
  std::vector<int32_t> next(problem.numRanks(), 0), chunks;
  for (const Replica &replica : problem.replicas)
    chunks.push_back(next[replica.rank]++);
  return chunks;
}

std::string timeline::labelOf(const Panel &panel, const TimelineTask &task,
                              const std::vector<int32_t> &stagesOfRank) {
  if (stagesOfRank[task.rank] > 1)
    return actionName(task.action, panel.problem);
  return task.action.traits().code +
         std::to_string(uint64_t(task.action.index));
}

std::string timeline::colorOf(ActionKind kind, int32_t chunk) {
  // Okabe and Ito's palette.
  std::array<int, 3> color = {0x99, 0x99, 0x99};
  switch (kind) {
  case ActionKind::Forward:
    color = {0x56, 0xb4, 0xe9};
    break;
  case ActionKind::InputGrad:
    color = {0xe6, 0x9f, 0x00};
    break;
  case ActionKind::WeightGrad:
    color = {0x00, 0x9e, 0x73};
    break;
  case ActionKind::Backward:
    color = {0xd5, 0x5e, 0x00};
    break;
  case ActionKind::Recompute:
    color = {0xcc, 0x79, 0xa7};
    break;
  default:
    break;
  }
  // Towards white, each chunk less than the one before it.
  double left = 1;
  for (int32_t i = 0; i < std::min(chunk, 6); ++i)
    left *= 0.72;
  std::string text = "#";
  for (int part : color) {
    const int mixed = int(255 - (255 - part) * (0.3 + 0.7 * left) + 0.5);
    text += llvm::hexdigit((chunk ? mixed : part) / 16, /*LowerCase=*/true);
    text += llvm::hexdigit((chunk ? mixed : part) % 16, /*LowerCase=*/true);
  }
  return text;
}

int64_t timeline::memoryScaleOf(const Panel &panel) {
  int64_t scale = 0;
  for (const TimelineTask &task : panel.timeline.tasks)
    scale = std::max(scale, task.heldBytes);
  for (int64_t cap : panel.problem.memoryCaps)
    if (cap != noMemoryCap)
      scale = std::max(scale, cap);
  return scale;
}

int64_t timeline::axisStep(int64_t end, int64_t most) {
  int64_t power = 1;
  while (true) {
    for (int64_t factor : {1, 2, 5})
      if (end / (power * factor) <= most)
        return power * factor;
    power *= 10;
  }
}

std::string timeline::timeText(int64_t ns) {
  constexpr std::pair<int64_t, const char *> units[] = {
      {1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
  for (auto [size, unit] : units) {
    if (ns < size && size > 1)
      continue;
    std::string text;
    llvm::raw_string_ostream os(text);
    os << llvm::format("%.3f", double(ns) / double(size));
    if (llvm::StringRef(text).contains('.'))
      text = llvm::StringRef(text).rtrim('0').rtrim('.').str();
    return text + " " + unit;
  }
  return "0 ns";
}

std::string timeline::escaped(llvm::StringRef text) {
  std::string result;
  for (char c : text)
    switch (c) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      // XML has no other control characters.
      result += (unsigned(c) & 0xff) < 0x20 ? ' ' : c;
    }
  return result;
}
