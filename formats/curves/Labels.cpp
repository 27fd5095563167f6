//===- Labels.cpp - Where the names of points go --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/curves/Labels.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::curves;

/// Half of what a point takes, with some room.
static constexpr double pointSize = 6;

static bool overlap(const Box &a, const Box &b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom &&
         b.top < a.bottom;
}

std::vector<Box> curves::placeLabels(llvm::ArrayRef<Label> labels,
                                     llvm::ArrayRef<Box> lines,
                                     const Box &area) {
  std::vector<Box> taken(lines.begin(), lines.end());
  for (const Label &label : labels)
    taken.push_back({label.x - pointSize, label.y - pointSize,
                     label.x + pointSize, label.y + pointSize});
  std::vector<Box> boxes;
  for (const Label &label : labels) {
    // The middle of the text: its sides touch the point, or are away
    // from it by more and more.
    std::vector<Box> places;
    for (double away = 0; away <= 240; away += 12) {
      const double beside = label.width / 2 + pointSize + 2,
                   above = label.height / 2 + pointSize + 1;
      for (auto [dx, dy] : {std::pair(beside, 0.0),
                            {-beside, 0.0},
                            {0.0, -above},
                            {0.0, above},
                            {beside, -above},
                            {-beside, above},
                            {beside, above},
                            {-beside, -above}}) {
        const double x = label.x + dx + (dy == 0 ? (dx > 0 ? away : -away) : 0),
                     y = label.y + dy +
                         (dy == 0  ? 0
                          : dy > 0 ? away
                                   : -away);
        places.push_back({x - label.width / 2, y - label.height / 2,
                          x + label.width / 2, y + label.height / 2});
      }
    }
    const auto isFree = [&](const Box &box) {
      return box.left >= area.left && box.right <= area.right &&
             box.top >= area.top && box.bottom <= area.bottom &&
             std::none_of(taken.begin(), taken.end(), [&](const Box &other) {
               return overlap(box, other);
             });
    };
    const auto found = std::find_if(places.begin(), places.end(), isFree);
    boxes.push_back(found == places.end() ? places.front() : *found);
    taken.push_back(boxes.back());
  }
  return boxes;
}
