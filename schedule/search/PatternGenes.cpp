//===- PatternGenes.cpp - Makes periodic patterns -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A steady state is an offset of every stage's F and I in a common period: the
// repeated building block of Qi et al., arXiv 2405.15362, with real times
// instead of slots. Offsets follow the edges, with slack for each edge within a
// row of stages and for each edge from one row to the next.
//
//===----------------------------------------------------------------------===//

#include "schedule/search/PatternGenes.h"
#include "schedule/bounds/HeldBytes.h"

#include <algorithm>

using namespace rondo;

namespace {

/// The occupied intervals of each rank within a period.
class Occupancy {
public:
  explicit Occupancy(int32_t ranks) : taken(ranks) {}

  /// Reserves and returns the first time from `time` on that is free for
  /// `length`, modulo the period; `time` itself if there is none.
  int64_t place(int32_t rank, int64_t time, int64_t length, int64_t period) {
    int64_t at = time;
    std::vector<Interval> &all = taken[rank];
    for (size_t tries = 0; tries <= all.size(); ++tries) {
      int64_t later = 0;
      for (const Interval &other : all) {
        // Time from the start of the other interval to the start of this one,
        // modulo the period.
        int64_t phase = (at - other.begin) % period;
        phase += phase < 0 ? period : 0;
        if (phase < other.length)
          later = std::max(later, other.length - phase);
        else if (phase + length > period)
          later = std::max(later, period - phase + other.length);
      }
      if (later == 0) {
        all.push_back({at, length});
        return at;
      }
      at += later;
    }
    all.push_back({time, length});
    return time;
  }

private:
  struct Interval {
    int64_t begin, length;
  };
  std::vector<std::vector<Interval>> taken;
};

} // namespace

PatternMaker::PatternMaker(const FlatProblem &flat)
    : flat(flat), row(flat.stages), fit(flat.microbatches) {
  std::vector<int64_t> work(flat.ranks);
  for (int32_t s = 0; s < flat.stages; ++s) {
    auto &stages = flat.stagesOf[flat.rankOf[s]];
    row[s] =
        int32_t(std::find(stages.begin(), stages.end(), s) - stages.begin());
    rows = std::max(rows, row[s] + 1);
    period = std::max(period, work[flat.rankOf[s]] += flat.workOf(s));
  }
  period = std::max<int64_t>(period, 1);
  for (int32_t rank = 0; rank < flat.ranks; ++rank) {
    int64_t bytes = 0;
    for (int32_t s : flat.stagesOf[rank])
      bytes += flat.takes[s];
    if (bytes > 0)
      fit = int32_t(std::min<int64_t>(fit, flat.caps[rank] / bytes));
  }
}

Pattern PatternMaker::patternOf(const Genes &genes) const {
  Pattern pattern;
  for (Task task : {Task::F, Task::I})
    pattern.offset[task].resize(flat.stages);
  const int64_t unit = std::max<int64_t>(1, period / 24);
  auto slack = [&](int32_t from, int32_t to, Task task) {
    const auto &genesOf = row[from] == row[to] ? genes.hop : genes.turn;
    return genesOf[Genes::at(row[from], task)] * unit;
  };
  pattern.period = std::max<int64_t>(1, period + genes.stretch * unit);
  Occupancy busy(flat.ranks);
  auto place = [&](Task task, int32_t s) {
    int64_t time = -never;
    for (int32_t e : flat.inputs(task, s)) {
      const FlatProblem::Message &message = flat.messages[e];
      time = std::max(time, pattern.offset[task][message.from] +
                                flat.ns[task][message.from] +
                                message.transferNs() +
                                slack(message.from, s, task));
    }
    if (time == -never)
      time = task == Task::F
                 ? 0
                 : pattern.offset[Task::F][s] + flat.ns[Task::F][s] +
                       genes.turn[Genes::at(row[s], Task::F)] * unit;
    if (genes.isApart)
      time = busy.place(flat.rankOf[s], time, flat.ns[task][s], pattern.period);
    pattern.offset[task][s] = time;
  };
  for (int32_t s = 0; s < flat.stages; ++s)
    place(Task::F, s);
  for (int32_t s = flat.stages; s-- > 0;)
    place(Task::I, s);
  pattern.group = genes.group;
  pattern.step =
      std::max<int64_t>(1, pattern.period / rows + genes.step * unit);
  pattern.discipline = genes.discipline;
  pattern.patience = genes.patience;
  pattern.backlog = genes.backlog;
  return pattern;
}

std::optional<Genes> PatternMaker::genesOf(const Preset &preset) const {
  Genes genes;
  genes.group = groupOf(preset);
  // The micro-batches that fit run as one group, at the pace that memory
  // permits.
  if (preset.group == Preset::asManyAsFit)
    genes.stretch = stretchOfMemory();
  if (preset.group != 1 && (rows == 1 || genes.group <= 1))
    return std::nullopt;
  genes.hop.assign(size_t(2) * rows, preset.hop);
  genes.turn.assign(size_t(2) * rows, 0);
  genes.step = preset.step;
  genes.discipline = preset.discipline;
  genes.backlog = preset.backlog;
  genes.isApart = preset.isApart;
  return genes;
}

int32_t PatternMaker::groupOf(const Preset &preset) const {
  if (preset.group == Preset::asManyAsFit)
    return fit;
  return preset.group > 0 ? preset.group : flat.ranks * -preset.group / 6;
}

int32_t PatternMaker::stretchOfMemory() const {
  const int64_t least = std::min(heldBytesPeriod(flat), 4 * period);
  return int32_t(std::max<int64_t>(0, 24 * (least - period) / period));
}
