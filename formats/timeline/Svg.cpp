//===- Svg.cpp - Timelines for papers -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/timeline/Pictures.h"

#include "llvm/Support/Format.h"

#include <algorithm>
#include <set>
#include <tuple>

using namespace rondo;
using namespace rondo::timeline;

namespace {

constexpr double left = 64, right = 16, drawn = 1120;
constexpr double barHeight = 20, memoryHeight = 14, rowGap = 4;
/// Height of the bars of one direction.
constexpr double copyHeight = 7;
constexpr double titleHeight = 26, axisHeight = 26, letterWidth = 6.4;

/// Coordinates with two decimals.
llvm::format_object<double> at(double x) { return llvm::format("%.2f", x); }

class Picture {
public:
  Picture(llvm::raw_ostream &os, llvm::ArrayRef<Panel> panels)
      : os(os), panels(panels), end(endOf(panels)) {}

  void write();

private:
  double x(int64_t ns) const { return left + drawn * double(ns) / double(end); }
  double rowHeight(const Panel &panel) const {
    return barHeight + copiesHeight(panel) +
           (memoryScaleOf(panel) > 0 ? memoryHeight : 0) + rowGap;
  }
  /// Copies to the host and back have a strip each.
  double copiesHeight(const Panel &panel) const {
    return hasCopies(panel) ? 2 * copyHeight : 0;
  }
  static bool hasCopies(const Panel &panel) {
    return llvm::any_of(panel.timeline.tasks, [](const TimelineTask &task) {
      return task.action.traits().isCopy();
    });
  }
  void writePanel(const Panel &panel);
  void writeRank(const Panel &panel, int32_t rank, int64_t memoryScale);
  void writeMemory(const Panel &panel, int32_t rank, int64_t memoryScale,
                   double top);
  void writeAxis();
  void writeLegend();

  llvm::raw_ostream &os;
  llvm::ArrayRef<Panel> panels;
  const int64_t end;
  double y = 8;
};

void Picture::writeMemory(const Panel &panel, int32_t rank, int64_t memoryScale,
                          double top) {
  const auto height = [&](int64_t bytes) {
    return top + memoryHeight -
           (memoryHeight - 1) * double(bytes) / double(memoryScale);
  };
  os << "<path class=\"memory\" d=\"M" << at(left) << " "
     << at(top + memoryHeight);
  const Timeline &timeline = panel.timeline;
  // Time, whether it is a start, and the bytes from then on.
  std::vector<std::tuple<int64_t, bool, int64_t>> levels;
  for (int64_t i = timeline.rankBegin[rank]; i < timeline.rankBegin[rank + 1];
       ++i) {
    const TimelineTask &task = timeline.tasks[i];
    levels.push_back({task.startNs, true, task.heldBytes});
    levels.push_back({task.endNs, false, task.leftBytes});
  }
  // The times of copies overlap those of tasks; otherwise they are in order.
  if (hasCopies(panel))
    llvm::stable_sort(levels, [](const auto &a, const auto &b) {
      return std::tie(std::get<0>(a), std::get<1>(a)) <
             std::tie(std::get<0>(b), std::get<1>(b));
    });
  for (const auto &[ns, isStart, bytes] : levels)
    os << "H" << at(x(ns)) << "V" << at(height(bytes));
  os << "H" << at(x(timeline.makespanNs)) << "V" << at(top + memoryHeight)
     << "Z\"/>\n";
  if (const int64_t cap = panel.problem.memoryCaps[rank]; cap != noMemoryCap)
    os << "<path class=\"cap\" d=\"M" << at(left) << " " << at(height(cap))
       << "H" << at(x(timeline.makespanNs)) << "\"/>\n";
}

void Picture::writeRank(const Panel &panel, int32_t rank, int64_t memoryScale) {
  const Timeline &timeline = panel.timeline;
  const std::vector<int32_t> chunks = chunksOf(panel.problem),
                             stages = stagesOfRanks(panel.problem);
  os << "<text class=\"rank\" x=\"" << at(left - 8) << "\" y=\""
     << at(y + barHeight * 0.7) << "\">rank " << rank << "</text>\n";
  for (int64_t i = timeline.rankBegin[rank]; i < timeline.rankBegin[rank + 1];
       ++i) {
    const TimelineTask &task = timeline.tasks[i];
    const double begin = x(task.startNs), width = x(task.endNs) - begin;
    const bool isCopy = task.action.traits().isCopy();
    const double top = !isCopy                     ? y
                       : task.lane == Lane::CopyIn ? y + barHeight + copyHeight
                                                   : y + barHeight;
    os << "<rect x=\"" << at(begin) << "\" y=\"" << at(top) << "\" width=\""
       << at(width) << "\" height=\"" << (isCopy ? copyHeight : barHeight)
       << "\" fill=\""
       << colorOf(task.action.kind(), chunks[task.action.subject]) << "\"/>";
    if (isCopy) {
      os << "\n";
      continue;
    }
    const std::string label = labelOf(panel, task, stages);
    if (double(label.size()) * letterWidth + 2 < width)
      os << "<text class=\"task\" x=\"" << at(begin + width / 2) << "\" y=\""
         << at(y + barHeight * 0.7) << "\">" << label << "</text>";
    os << "\n";
  }
  if (memoryScale > 0)
    writeMemory(panel, rank, memoryScale, y + barHeight + copiesHeight(panel));
  y += rowHeight(panel);
}

void Picture::writePanel(const Panel &panel) {
  os << "<text class=\"title\" x=\"" << at(left) << "\" y=\"" << at(y + 16)
     << "\">" << escaped(panel.title) << " — "
     << timeText(panel.timeline.makespanNs) << "</text>\n";
  y += titleHeight;
  const int64_t memoryScale = memoryScaleOf(panel);
  for (int32_t rank = 0; rank < panel.problem.numRanks(); ++rank)
    writeRank(panel, rank, memoryScale);
}

void Picture::writeAxis() {
  const int64_t step = axisStep(end, 10);
  os << "<path class=\"axis\" d=\"M" << at(left) << " " << at(y) << "H"
     << at(x(end)) << "\"/>\n";
  for (int64_t ns = 0; ns <= end; ns += step)
    os << "<path class=\"axis\" d=\"M" << at(x(ns)) << " " << at(y)
       << "v4\"/><text class=\"tick\" x=\"" << at(x(ns)) << "\" y=\""
       << at(y + 16) << "\">" << timeText(ns) << "</text>\n";
  y += axisHeight;
}

void Picture::writeLegend() {
  std::set<ActionKind> kinds;
  bool hasMemory = false;
  for (const Panel &panel : panels) {
    hasMemory |= memoryScaleOf(panel) > 0;
    for (const TimelineTask &task : panel.timeline.tasks)
      kinds.insert(task.action.kind());
  }
  double begin = left;
  for (ActionKind kind : kinds) {
    std::string words = traitsOf(kind).keyword;
    std::replace(words.begin(), words.end(), '_', ' ');
    words = std::string(traitsOf(kind).code) + " " + words;
    os << "<rect x=\"" << at(begin) << "\" y=\"" << at(y)
       << "\" width=\"14\" height=\"12\" fill=\"" << colorOf(kind, 0)
       << "\"/><text class=\"legend\" x=\"" << at(begin + 19) << "\" y=\""
       << at(y + 10) << "\">" << words << "</text>\n";
    begin += 19 + double(words.size()) * letterWidth + 22;
  }
  if (hasMemory)
    os << "<rect class=\"memory\" x=\"" << at(begin) << "\" y=\"" << at(y)
       << "\" width=\"14\" height=\"12\"/><text class=\"legend\" x=\""
       << at(begin + 19) << "\" y=\"" << at(y + 10)
       << "\">memory, dashed: its cap</text>\n";
  y += 20;
}

void Picture::write() {
  double height = y + axisHeight + 20;
  for (const Panel &panel : panels)
    height += titleHeight + panel.problem.numRanks() * rowHeight(panel);
  const double width = left + drawn + right;
  os << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << at(width)
     << " " << at(height) << "\" width=\"" << at(width) << "\" height=\""
     << at(height) << "\" font-family=\"Helvetica, Arial, sans-serif\" "
     << "font-size=\"11\">\n<style>\n"
     << ".title{font-size:13px;font-weight:bold}.rank{text-anchor:end}"
     << ".task,.tick{text-anchor:middle}\n"
     << "rect{stroke:#fff;stroke-width:.5}"
     << ".memory{fill:#c8c8c8;stroke:none}"
     << ".cap{stroke:#b00020;stroke-dasharray:4 3;fill:none}"
     << ".axis{stroke:#333;fill:none}\n</style>\n"
     << "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  for (const Panel &panel : panels)
    writePanel(panel);
  writeAxis();
  writeLegend();
  os << "</svg>\n";
}

} // namespace

void timeline::writeSvg(llvm::raw_ostream &os, llvm::ArrayRef<Panel> panels) {
  Picture(os, panels).write();
}
