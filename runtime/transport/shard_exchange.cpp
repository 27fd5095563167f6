//===- shard_exchange.cpp - What a rank moves of sharded state ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/shard_exchange.h"

#include "kinds/Sums.h"

using namespace rondo;
using namespace rondo::runtime;

ShardExchange::ShardExchange(const CollectiveParams &parts, int32_t me,
                             Kind kind, float *whole, int64_t maxAtOnce)
    : kind(kind), whole(whole) {
  const auto pieces = static_cast<int64_t>(parts.size());
  shard = parts.front().count / pieces;
  for (const PartParams &part : parts) {
    if (part.rank == me)
      myPiece = static_cast<int64_t>(ranks.size());
    ranks.push_back(part.rank);
  }
  // One rank alone moves nothing.
  if (pieces == 1)
    return;
  atOnce = elementsOfRound(pieces, parts.front().count, maxAtOnce);
  rounds = atOnce == 0 ? 0 : (shard + atOnce - 1) / atOnce;
}

std::vector<ShardExchange::Move> ShardExchange::sends(int64_t round) const {
  std::vector<Move> moves;
  for (size_t p = 0; p < ranks.size(); ++p)
    if (const auto piece = static_cast<int64_t>(p); piece != myPiece)
      moves.push_back({ranks[p],
                       at(kind == Kind::Gather ? myPiece : piece, round),
                       countOf(round)});
  return moves;
}

std::vector<ShardExchange::Move> ShardExchange::receives(int64_t round,
                                                         float *staging) const {
  std::vector<Move> moves;
  for (size_t p = 0; p < ranks.size(); ++p) {
    const auto piece = static_cast<int64_t>(p);
    if (piece == myPiece)
      continue;
    moves.push_back({ranks[p],
                     kind == Kind::Gather ? at(piece, round) : staging,
                     countOf(round)});
    if (kind == Kind::Scatter)
      staging += atOnce;
  }
  return moves;
}
