//===- PatternGenes.h - Patterns and where their search begins -*- C++ -*-==//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_PATTERNGENES_H
#define RONDO_SCHEDULE_SEARCH_PATTERNGENES_H

#include "schedule/search/Dispatch.h"

namespace rondo {

/// What a pattern is made from. Slack is in 1/24 of the period.
struct Genes {
  /// By row of stages (the n-th stages of all ranks): [2 * row + letter].
  std::vector<int32_t> hop, turn;
  int32_t stretch = 0;
  int32_t group = 1, step = 0;
  Pattern::Discipline discipline = Pattern::Discipline::Ready;
  int32_t patience = 4;
  int32_t backlog = Pattern::unlimited;
  /// Whether a rank's tasks that would overlap in the steady state are moved
  /// apart.
  bool isApart = false;
  /// Of the way from the bound to the best objective, in 1/32: Pattern::goal;
  /// -1: none.
  int32_t goal = -1;
};

/// Where the search of patterns begins. Hops and step are in the unit of Genes.
struct Preset {
  /// How many micro-batches follow each other fast, or one of the constants
  /// below.
  int32_t group;
  int32_t step, hop;
  Pattern::Discipline discipline;
  int32_t backlog;
  bool isApart;

  /// Groups that depend on the problem: -n is n sixths of the ranks.
  static constexpr int32_t aThirdOfRanks = -2, halfTheRanks = -3,
                           twoThirdsOfRanks = -4, asManyAsRanks = -6,
                           asManyAsFit = -7;
};

/// A table, the best one first; each row adds to those before it.
const std::vector<Preset> &presets();

/// Makes the patterns of one problem.
class PatternMaker {
public:
  explicit PatternMaker(const FlatProblem &flat);

  /// Of the ranks, the most stages on one.
  int32_t numRows() const { return rows; }
  /// Nothing if the preset makes no sense for the problem: groups on one row,
  /// or of one micro-batch.
  std::optional<Genes> genesOf(const Preset &preset) const;
  /// Without Pattern::goal. O(stages * stages of a rank).
  Pattern patternOf(const Genes &genes) const;

private:
  int32_t groupOf(const Preset &preset) const;
  int32_t stretchOfMemory() const;

  const FlatProblem &flat;
  /// By stage: its place among those of its rank.
  std::vector<int32_t> row;
  int32_t rows = 1;
  /// The work of the busiest rank for one micro-batch.
  int64_t period = 0;
  /// How many micro-batches fit on all ranks.
  int32_t fit;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_PATTERNGENES_H
