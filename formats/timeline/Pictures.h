//===- Pictures.h - Timelines as files --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each writer draws the same layout (schedule/timeline/Timeline.h).
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_TIMELINE_PICTURES_H
#define RONDO_FORMATS_TIMELINE_PICTURES_H

#include "schedule/timeline/Timeline.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace rondo::timeline {

/// One schedule of a picture.
struct Panel {
  std::string title;
  Problem problem;
  Timeline timeline;
  /// Lines that text and pages show with the schedule.
  std::vector<std::string> notes = {};
};

/// A static picture for papers: all panels on one axis, a row for each rank
/// with its memory below, a legend. No scripts.
void writeSvg(llvm::raw_ostream &os, llvm::ArrayRef<Panel> panels);

/// One page without network: zoom, pan, hover, critical path, messages.
void writeHtml(llvm::raw_ostream &os, llvm::ArrayRef<Panel> panels);

/// Chrome's and Perfetto's trace: microseconds, a process for each rank, its
/// tasks on thread 0, its messages on thread 1 with a flow each. Ranks of
/// further panels follow those of the first.
void writeTrace(llvm::raw_ostream &os, llvm::ArrayRef<Panel> panels);

// Common code of the writers.

/// The longest makespan of all panels.
int64_t endOf(llvm::ArrayRef<Panel> panels);

/// [replica]: its chunk of its rank, from 0.
std::vector<int32_t> chunksOf(const Problem &problem);

/// `F3`, or `2F3` if the rank has several stages.
std::string labelOf(const Panel &panel, const TimelineTask &task,
                    const std::vector<int32_t> &stagesOfRank);
/// [rank]: the number of its stages.
std::vector<int32_t> stagesOfRanks(const Problem &problem);

/// The colour of a task, `#rrggbb`: its hue says the kind, in colours that
/// colour-blind people can distinguish, its lightness the chunk.
std::string colorOf(ActionKind kind, int32_t chunk);

/// The most bytes that a panel's memory curves need: the largest cap or, where
/// there is none, the largest peak.
int64_t memoryScaleOf(const Panel &panel);

/// A round step of an axis, with at most `most` of them up to
/// `end`: 1, 2 or 5 times a power of ten. At least 1.
int64_t axisStep(int64_t end, int64_t most);
/// `1.5 ms`: with at most three decimals.
std::string timeText(int64_t ns);
/// `&`, `<`, `>` and quotes for XML.
std::string escaped(llvm::StringRef text);

} // namespace rondo::timeline

#endif // RONDO_FORMATS_TIMELINE_PICTURES_H
