//===- SearchParts.cpp - The table of search parts ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/SearchParts.h"

using namespace rondo;

const std::vector<SearchPart> &rondo::searchParts() {
  static const std::vector<SearchPart> table = {
      {"families", "schedules of the table of families", PartPhase::Start},
      {"thinned", "families with fewer micro-batches in flight",
       PartPhase::Start},
      {"greedy", "orders that never wait, for NICs", PartPhase::Start},
      moduloSlots(),
      replay(),
      beamSearch(),
      steadyPattern(),
      neighbourhoods(),
      {"copies", "copies to the host, if stages may copy", PartPhase::End},
      {"less-memory", "the same objective with a lower peak", PartPhase::End}};
  return table;
}
