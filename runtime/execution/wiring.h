//===- wiring.h - How a program's ranks are connected -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_WIRING_H
#define RONDO_RUNTIME_EXECUTION_WIRING_H

#include "runtime/execution/state.h"
#include "runtime/transport/transport.h"

#include <cstdint>
#include <vector>

namespace rondo::runtime {

/// The channels and collectives that a program needs, as it numbers them, and
/// their numbers in the transport that all programs share.
struct Wiring {
  std::vector<ChannelParams> channels;
  /// A norm that is awaited `delay` iterations later is in flight for as many
  /// iterations at once, and has as many entries, one after another.
  std::vector<CollectiveParams> collectives;
  /// Indexed by collective of the program: its first entry.
  std::vector<int32_t> firstEntry;
  /// Indexed by entry: a number that distinguishes the collectives that move
  /// the state of a group, since their parts have no address; -1: it moves
  /// none.
  std::vector<int32_t> moves;
  /// Indexed by entry: whether it is a norm, of which only the total is needed.
  std::vector<bool> areTotals;
  /// Indexed by rank.
  std::vector<StagingParams> staging;
  /// [from * ranks + to]; -1: no messages.
  std::vector<int32_t> channelOf;
  /// Indexed by channel and by entry: the transport's number.
  std::vector<int32_t> channelNumbers, collectiveNumbers;
};
/// Channels for the messages of all edges between different ranks, and the
/// parts of collectives; without the transport's numbers. Throws Error if a
/// collective names a tensor that its stages do not have.
Wiring wire(const State &state, const ProgramDesc &program);

/// The largest number of micro-batches that may be in flight on an edge.
int64_t maxAtOnce(const ProgramDesc &program);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_WIRING_H
