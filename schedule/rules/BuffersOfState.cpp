//===- BuffersOfState.cpp - L3 of state and of what is gathered -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/rules/BufferReplay.h"

#include <algorithm>
#include <set>

using namespace rondo;
using namespace rondo::buffer_replay;

/// Waits between lanes are derived for pools that copies alone read and write
/// between tasks.
Replay::Found Replay::checkPools() {
  // [pool]: a buffer that copies read or write, and another one.
  std::vector<int32_t> copied(program.pools.size(), -1), others = copied;
  for (size_t buffer = 0; buffer < program.places.size(); ++buffer) {
    const int32_t pool = program.places[buffer].pool,
                  number = static_cast<int32_t>(buffer);
    if (pool < 0 || pool >= static_cast<int64_t>(program.pools.size()))
      continue;
    const BufferKind kind = buffers[number].kind;
    const bool isOnHost = program.pools[pool].isOnHost;
    if (isOnHost && kind != BufferKind::OnHost)
      return keep(makeRuleFault<FaultKind::LiesOnHost>(
          Rule::Buffers, BufferName{number}, pool));
    if (!isOnHost && kind == BufferKind::OnHost)
      return keep(makeRuleFault<FaultKind::LiesOnDevice>(
          Rule::Buffers, BufferName{number}, pool));
    (isOnHost || isOffloaded(kind) || isLoaded(kind) ? copied : others)[pool] =
        number;
    if (!copiedAway.empty() && copied[pool] >= 0 && others[pool] >= 0)
      return keep(makeRuleFault<FaultKind::LiesAmongCopied>(
          Rule::Buffers, BufferName{copied[pool]}, BufferName{others[pool]},
          pool));
  }
  return nullptr;
}

Replay::Found Replay::placeState() {
  const std::set<int32_t> staging(program.staging.begin(),
                                  program.staging.end());
  for (size_t buffer = 0; buffer < program.places.size(); ++buffer) {
    const int32_t pool = program.places[buffer].pool;
    if (pool >= 0 && staging.count(pool) > 0)
      return keep(makeRuleFault<FaultKind::LiesInStaging>(
          Rule::Buffers, BufferName{static_cast<int32_t>(buffer)}, pool));
  }
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
    for (const BufferTraits &traits : bufferTable) {
      if (program.places.empty() || !traits.isState())
        continue;
      const int32_t buffer = buffers.of(replica, traits.kind);
      size_t entries = program.places[buffer].slotOf.size();
      for (size_t i = 0; i < std::max<size_t>(entries, 1); ++i) {
        int64_t slot = slots.of(buffer, static_cast<int64_t>(i));
        if (slot == Slots::none)
          break;
        if (slot == Slots::invalid)
          return keep(makeRuleFault<FaultKind::LiesInNoSlot>(
              Rule::Buffers, BufferName{buffer}));
        Content &content = contents[slot];
        bool isShared = traits.owner == Owner::Rank && content.buffer >= 0 &&
                        buffers[content.buffer].kind == traits.kind;
        bool isSame = content.buffer == buffer;
        if (content.isOwned && !isShared && !isSame)
          return keep(makeRuleFault<FaultKind::LiesWhereOtherLies>(
              Rule::Buffers, BufferName{buffer}, slotName(slot),
              contentName(content)));
        content.isOwned = content.isState = true;
        content.buffer = buffer;
      }
    }
  return nullptr;
}

/// Gathered weights own their slot from unshard to reshard. The gradients of a
/// unit own theirs from its first W or B until its reduction has been awaited.
Replay::Found Replay::moveState() {
  const int32_t replica = action.subject;
  const int32_t weights = buffers.of(replica, BufferKind::GatheredWeights);
  switch (action.kind()) {
  case ActionKind::Unshard:
    gathered[replica] = action.index;
    return take(weights, /*uses=*/1);
  case ActionKind::Reshard:
    gathered[replica] = -1;
    return read(weights, /*isLastUse=*/true);
  default:
    hasUnreduced[replica] = false;
    reduced[replica] = int64_t(action.index) + 1;
    return problem.isGroupLocal(replica)
               ? read(buffers.of(replica, BufferKind::UnreducedGradients),
                      /*isLastUse=*/true)
               : nullptr;
  }
}

Replay::Found Replay::awaitReduction() {
  const Collective &collective = program.collectives[action.subject];
  if (collective.kind == CollectiveKind::ScatterGradients)
    for (int32_t replica : collective.replicas)
      if (problem.rankOf(replica) == rank)
        if (Found wrong =
                read(buffers.of(replica, BufferKind::UnreducedGradients),
                     /*isLastUse=*/true))
          return wrong;
  return nullptr;
}

Replay::Found Replay::checkReleased() {
  for (const Content &content : contents) {
    if (!content.isOwned || content.isState)
      continue;
    return keep(makeFaultAt<FaultKind::NeverReleased>(
        Rule::Buffers, content.rank, content.position,
        program.order.rank(content.rank)[content.position],
        contentName(content)));
  }
  return nullptr;
}
