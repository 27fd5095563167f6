//===- shard_checks.cpp - Checks the tables of sharded state --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/error.h"
#include "runtime/execution/state.h"

#include <algorithm>
#include <set>

using namespace rondo;
using namespace rondo::runtime;

/// The replicas of a stage are groups of as many, by their shards.
void State::checkGroups() const {
  auto fail = [&](int32_t h, const std::string &what) {
    throw Error("'" + std::string(exe.name) + "': replica " +
                std::to_string(h) + " of stage '" +
                exe.stages[exe.replicas[h].stage].name + "' " + what);
  };
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    const ReplicaDesc &replica = exe.replicas[h];
    const ReplicaDesc &first = exe.replicas[h - replica.index];
    const bool isLast =
        h + 1 == exe.numReplicas || exe.replicas[h + 1].stage != replica.stage;
    if (replica.shards < 1 || replica.shards != first.shards ||
        replica.shard != replica.index % replica.shards ||
        (isLast && replica.shard + 1 != replica.shards))
      fail(h,
           "has shard " + std::to_string(replica.shard) + " of " +
               std::to_string(replica.shards) +
               "; a stage's replicas have as many shards each, and those of a "
               "group follow each other by their shards");
    for (int32_t other = groupOf(exe.replicas, h); other < h; ++other)
      if (exe.replicas[other].rank == replica.rank)
        fail(h, "keeps its shard on rank " + std::to_string(replica.rank) +
                    ", and so does replica " + std::to_string(other) +
                    "; each shard of a group is on another rank");
  }
}

/// How a program runs the replicas of a group.
void State::checkShards(const ProgramDesc &program) const {
  auto fail = [&](const std::string &what) {
    throw Error("program '" + std::string(program.name) + "': " + what);
  };
  std::set<std::pair<CollectiveKind, int32_t>> there;
  for (int32_t c = 0; c < program.numCollectives; ++c) {
    const CollectiveDesc &desc = program.collectives[c];
    if (!movesState(desc.kind))
      continue;
    const int32_t first = desc.numReplicas > 0 ? desc.replicas[0] : -1;
    bool isGroup = first >= 0 && first < exe.numReplicas &&
                   exe.replicas[first].shard == 0 &&
                   exe.replicas[first].shards == desc.numReplicas &&
                   desc.numReplicas > 1;
    for (int32_t i = 0; isGroup && i < desc.numReplicas; ++i)
      isGroup = desc.replicas[i] == first + i;
    if (!isGroup || !there.insert({desc.kind, first}).second)
      fail("collective " + std::to_string(c) + ", " +
           traitsOf(desc.kind).keyword + ", is of " +
           std::to_string(desc.numReplicas) + " replicas from replica " +
           std::to_string(first) +
           "; each group has one, of its replicas in their order");
  }
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    const ReplicaDesc &replica = exe.replicas[h];
    if (replica.shards == 1)
      continue;
    const std::string name =
        "stage '" + std::string(exe.stages[replica.stage].name) + "'";
    if (program.overlap)
      fail(name + " has sharded state, and iterations overlap, which do "
                  "not go together yet; compile it without one of both");
    const bool evaluates = program.kind == ProgramKind::Evaluation;
    for (Buffer buffer : {Buffer::GatheredWeights, Buffer::UnreducedGradients})
      if (program.places[h * numBuffers + static_cast<int>(buffer)].pool < 0 &&
          program.shares[h].bytes[static_cast<int>(buffer)] > 0 &&
          !(evaluates && buffer == Buffer::UnreducedGradients))
        fail(name + " has no memory for its " + traitsOf(buffer).keyword);
    const bool hasWeights =
        program.shares[h].bytes[static_cast<int>(Buffer::Weights)] > 0;
    if (replica.shard > 0)
      continue;
    const int32_t *ranks = program.rankOfReplica + h;
    const std::set<int32_t> distinct(ranks, ranks + replica.shards);
    if (distinct.size() == 1)
      continue;
    if (static_cast<int32_t>(distinct.size()) != replica.shards)
      fail("the " + std::to_string(replica.shards) +
           " replicas of a group of " + name + " are on " +
           std::to_string(distinct.size()) +
           " ranks; they are all on one rank or each on another");
    for (CollectiveKind kind :
         {CollectiveKind::GatherWeights, CollectiveKind::ScatterGradients})
      if (hasWeights && !there.count({kind, h}) &&
          !(evaluates && kind == CollectiveKind::ScatterGradients))
        fail("the group of replica " + std::to_string(h) + " of " + name +
             " has no collective " + traitsOf(kind).keyword);
  }
}
