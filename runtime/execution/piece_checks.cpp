//===- piece_checks.cpp - Checks the tables of sharded state --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/error.h"
#include "runtime/execution/state.h"

#include <algorithm>
#include <set>

using namespace rondo;
using namespace rondo::runtime;

/// The homes of a stage are groups of as many, by their pieces.
void State::checkGroups() const {
  auto fail = [&](int32_t h, const std::string &what) {
    throw Error("'" + std::string(exe.name) + "': home " + std::to_string(h) +
                " of stage '" + exe.stages[exe.homes[h].stage].name + "' " +
                what);
  };
  for (int32_t h = 0; h < exe.numHomes; ++h) {
    const HomeDesc &home = exe.homes[h];
    const HomeDesc &first = exe.homes[h - home.replica];
    const bool isLast =
        h + 1 == exe.numHomes || exe.homes[h + 1].stage != home.stage;
    if (home.pieces < 1 || home.pieces != first.pieces ||
        home.piece != home.replica % home.pieces ||
        (isLast && home.piece + 1 != home.pieces))
      fail(h, "has piece " + std::to_string(home.piece) + " of " +
                  std::to_string(home.pieces) +
                  "; a stage's homes have as many pieces each, and those of a "
                  "group follow each other by their pieces");
    for (int32_t other = groupOf(exe.homes, h); other < h; ++other)
      if (exe.homes[other].rank == home.rank)
        fail(h, "keeps its piece on rank " + std::to_string(home.rank) +
                    ", and so does home " + std::to_string(other) +
                    "; each piece of a group is on another rank");
  }
}

/// How a program runs the homes of a group.
void State::checkPieces(const ProgramDesc &program) const {
  auto fail = [&](const std::string &what) {
    throw Error("program '" + std::string(program.name) + "': " + what);
  };
  std::set<std::pair<CollectiveKind, int32_t>> there;
  for (int32_t c = 0; c < program.numCollectives; ++c) {
    const CollectiveDesc &desc = program.collectives[c];
    if (!movesState(desc.kind))
      continue;
    const int32_t first = desc.numHomes > 0 ? desc.homes[0] : -1;
    bool isGroup =
        first >= 0 && first < exe.numHomes && exe.homes[first].piece == 0 &&
        exe.homes[first].pieces == desc.numHomes && desc.numHomes > 1;
    for (int32_t i = 0; isGroup && i < desc.numHomes; ++i)
      isGroup = desc.homes[i] == first + i;
    if (!isGroup || !there.insert({desc.kind, first}).second)
      fail("collective " + std::to_string(c) + ", " +
           traitsOf(desc.kind).keyword + ", is of " +
           std::to_string(desc.numHomes) + " homes from home " +
           std::to_string(first) +
           "; each group has one, of its homes in their order");
  }
  for (int32_t h = 0; h < exe.numHomes; ++h) {
    const HomeDesc &home = exe.homes[h];
    if (home.pieces == 1)
      continue;
    const std::string name =
        "stage '" + std::string(exe.stages[home.stage].name) + "'";
    if (program.overlap)
      fail(name + " has its state in pieces, and iterations overlap, which do "
                  "not go together yet; compile it without one of both");
    const bool evaluates = program.kind == ProgramKind::Evaluation;
    for (Buffer buffer : {Buffer::GatheredWeights, Buffer::UnreducedGradients})
      if (program.places[h * numBuffers + static_cast<int>(buffer)].pool < 0 &&
          program.shares[h].bytes[static_cast<int>(buffer)] > 0 &&
          !(evaluates && buffer == Buffer::UnreducedGradients))
        fail(name + " has no memory for its " + traitsOf(buffer).keyword);
    const bool hasWeights =
        program.shares[h].bytes[static_cast<int>(Buffer::Weights)] > 0;
    if (home.piece > 0)
      continue;
    const int32_t *ranks = program.rankOfHome + h;
    const std::set<int32_t> distinct(ranks, ranks + home.pieces);
    if (distinct.size() == 1)
      continue;
    if (static_cast<int32_t>(distinct.size()) != home.pieces)
      fail("the " + std::to_string(home.pieces) + " homes of a group of " +
           name + " are on " + std::to_string(distinct.size()) +
           " ranks; they are all on one rank or each on another");
    for (CollectiveKind kind :
         {CollectiveKind::GatherWeights, CollectiveKind::ScatterGradients})
      if (hasWeights && !there.count({kind, h}) &&
          !(evaluates && kind == CollectiveKind::ScatterGradients))
        fail("the group of home " + std::to_string(h) + " of " + name +
             " has no collective " + traitsOf(kind).keyword);
  }
}
