//===- PatternGenes.h - Parameters of patterns ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_PATTERNGENES_H
#define RONDO_SCHEDULE_SEARCH_PATTERNGENES_H

#include "schedule/search/Dispatch.h"

namespace rondo {

/// Parameters of a pattern. `hop`, `turn`, `stretch` and `step` are in 1/24 of
/// the period.
struct Genes {
  /// [at()]: slack of an edge within a row of stages (`hop`), and
  /// of an edge from one row to another (`turn`). Row n has the n-th stages of
  /// all ranks. `turn` also applies between F and I of a stage whose I has no
  /// inputs.
  std::vector<int32_t> hop, turn;
  static size_t at(int32_t row, Task task) {
    return size_t(2 * row + indexOf(task));
  }
  /// Added to the period.
  int32_t stretch = 0;
  int32_t group = 1, step = 0;
  Pattern::Discipline discipline = Pattern::Discipline::Ready;
  int32_t patience = 4;
  int32_t backlog = Pattern::unlimited;
  /// Whether a rank's tasks that would overlap in the steady state are moved
  /// apart.
  bool isApart = false;
  /// Pattern::goal, as the part of the way from the bound to the best
  /// objective, in 1/32; -1: none.
  int32_t goal = -1;
};

/// Initial parameters of the search of patterns. `hop` and `step` are in the
/// unit of Genes.
struct Preset {
  /// Number of micro-batches that follow each other quickly, or one of the
  /// constants below.
  int32_t group;
  int32_t step, hop;
  Pattern::Discipline discipline;
  int32_t backlog;
  bool isApart;

  /// Groups that depend on the problem: -n is n sixths of the ranks. With
  /// asManyAsFit, the group is as large as memory permits.
  static constexpr int32_t aThirdOfRanks = -2, halfTheRanks = -3,
                           twoThirdsOfRanks = -4, asManyAsRanks = -6,
                           asManyAsFit = -7;
};

/// All presets, the best one first; each row adds to those before it.
const std::vector<Preset> &presets();

/// Makes the patterns of one problem.
class PatternMaker {
public:
  explicit PatternMaker(const FlatProblem &flat);

  /// The largest number of stages on one rank.
  int32_t numRows() const { return rows; }
  /// Nothing if the preset does not apply: a group if each rank has one stage,
  /// or a group of one micro-batch.
  std::optional<Genes> genesOf(const Preset &preset) const;
  /// The pattern without Pattern::goal. O(stages * stages of a rank).
  Pattern patternOf(const Genes &genes) const;

private:
  int32_t groupOf(const Preset &preset) const;
  int32_t stretchOfMemory() const;

  const FlatProblem &flat;
  /// [stage]: its place among those of its rank.
  std::vector<int32_t> row;
  int32_t rows = 1;
  /// Work of the busiest rank for one micro-batch, in ns.
  int64_t period = 0;
  /// Number of micro-batches that fit on all ranks.
  int32_t fit;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_PATTERNGENES_H
