//===- PatternPresets.cpp - Start of the search of patterns ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The presets were chosen greedily, from some 2,400 combinations on 340 random
// problems that are not kept: each row is the one that improves most on the
// rows before it. `build/bench/search --only=presets --every=1` chooses a table
// in the same way, on problems that it generates, and compares both:
// docs/search-inside.md.
//
//===----------------------------------------------------------------------===//

#include "schedule/search/PatternGenes.h"

using namespace rondo;

using Discipline = Pattern::Discipline;
static constexpr int32_t aThirdOfRanks = Preset::aThirdOfRanks,
                         halfTheRanks = Preset::halfTheRanks,
                         twoThirdsOfRanks = Preset::twoThirdsOfRanks,
                         asManyAsRanks = Preset::asManyAsRanks,
                         asManyAsFit = Preset::asManyAsFit;

const std::vector<Preset> &rondo::presets() {
  static const std::vector<Preset> table = {
      {asManyAsFit, 0, 1, Discipline::ForwardInOrder, Pattern::unlimited, true},
      {1, 0, 0, Discipline::ForwardInOrder, 4, true},
      {halfTheRanks, -2, 0, Discipline::ForwardInOrder, Pattern::unlimited,
       false},
      {asManyAsFit, 6, 0, Discipline::ForwardInOrder, Pattern::unlimited,
       false},
      {asManyAsRanks, -2, 3, Discipline::ForwardInOrder, Pattern::unlimited,
       false},
      {halfTheRanks, 6, 1, Discipline::ForwardInOrder, Pattern::unlimited,
       false},
      {2, 6, 0, Discipline::ForwardInOrder, 4, false},
      {1, 0, 2, Discipline::ForwardInOrder, Pattern::unlimited, true},
      {1, 0, 0, Discipline::ForwardInOrder, Pattern::unlimited, false},
      {asManyAsRanks, 6, 1, Discipline::Ready, Pattern::unlimited, true},
      {asManyAsFit, -4, 0, Discipline::ForwardInOrder, Pattern::unlimited,
       false},
      {halfTheRanks, 6, 6, Discipline::ForwardInOrder, Pattern::unlimited,
       false},
      {aThirdOfRanks, -4, -2, Discipline::ForwardInOrder, Pattern::unlimited,
       true},
      {halfTheRanks, 0, 2, Discipline::ForwardInOrder, Pattern::unlimited,
       false},
      {3, 3, -2, Discipline::ForwardInOrder, Pattern::unlimited, false},
      {2, 3, 3, Discipline::ForwardInOrder, Pattern::unlimited, true},
      {2, 6, 1, Discipline::ForwardInOrder, 4, false},
      {asManyAsFit, 6, 0, Discipline::ForwardInOrder, Pattern::unlimited, true},
      {4, -4, -2, Discipline::ForwardInOrder, Pattern::unlimited, false},
      {1, 0, 3, Discipline::ForwardInOrder, Pattern::unlimited, true},
      {halfTheRanks, -2, 1, Discipline::ForwardInOrder, Pattern::unlimited,
       false},
      {twoThirdsOfRanks, -2, 2, Discipline::ForwardInOrder, Pattern::unlimited,
       true},
      {halfTheRanks, 6, 1, Discipline::ForwardInOrder, Pattern::unlimited,
       true},
      {2, 0, 3, Discipline::ForwardInOrder, Pattern::unlimited, false},
      {asManyAsRanks, -6, 2, Discipline::Ready, Pattern::unlimited, false},
      {halfTheRanks, -4, -2, Discipline::ForwardInOrder, Pattern::unlimited,
       false},
      {asManyAsFit, 6, 6, Discipline::ForwardInOrder, Pattern::unlimited,
       false},
      {asManyAsFit, 0, 1, Discipline::ForwardInOrder, Pattern::unlimited,
       false},
      {3, 3, 3, Discipline::ForwardInOrder, Pattern::unlimited, false},
      {asManyAsFit, -2, 3, Discipline::ForwardInOrder, 4, true},
      {2, 0, -2, Discipline::ForwardInOrder, Pattern::unlimited, false},
      {1, 0, 2, Discipline::ForwardInOrder, Pattern::unlimited, false},
      {halfTheRanks, 0, 1, Discipline::Ready, Pattern::unlimited, true},
      {halfTheRanks, 6, 0, Discipline::ForwardInOrder, 4, true},
      {halfTheRanks, -2, 1, Discipline::ForwardInOrder, 4, false},
      {twoThirdsOfRanks, 6, 1, Discipline::ForwardInOrder, Pattern::unlimited,
       false},
      {1, 0, 3, Discipline::ForwardInOrder, Pattern::unlimited, false},
      {4, 0, 0, Discipline::ForwardInOrder, Pattern::unlimited, true},
      {aThirdOfRanks, -4, 0, Discipline::ForwardInOrder, Pattern::unlimited,
       false},
      {1, 0, 0, Discipline::InOrder, 4, true},
      {halfTheRanks, 0, 1, Discipline::ForwardInOrder, Pattern::unlimited,
       true},
      {asManyAsRanks, 6, 6, Discipline::ForwardInOrder, Pattern::unlimited,
       true},
      {asManyAsFit, -6, -2, Discipline::ForwardInOrder, Pattern::unlimited,
       true},
      {3, -4, 0, Discipline::ForwardInOrder, Pattern::unlimited, true},
      {asManyAsFit, 3, 3, Discipline::ForwardInOrder, Pattern::unlimited, true},
      {twoThirdsOfRanks, 6, 2, Discipline::ForwardInOrder, 4, false},
      {halfTheRanks, -2, 2, Discipline::ForwardInOrder, Pattern::unlimited,
       false},
      {4, 6, 3, Discipline::Ready, Pattern::unlimited, true},
  };
  return table;
}
