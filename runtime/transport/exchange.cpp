//===- exchange.cpp - What a rank moves in a collective -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/exchange.h"

#include "kinds/Sums.h"

#include <algorithm>

using namespace rondo::runtime;
using namespace rondo;

/// The ranks of the parts that contribute, ascending.
static std::vector<int32_t> addersOf(CollectiveParams parts) {
  parts.erase(
      std::remove_if(parts.begin(), parts.end(),
                     [](const PartParams &part) { return !part.contributes; }),
      parts.end());
  return ranksOf(parts);
}

SumExchange::SumExchange(const CollectiveParams &parts, int32_t me,
                         int64_t maxAtOnce)
    : parts(parts), me(me), count(parts.front().count), ranks(ranksOf(parts)),
      adders(addersOf(parts)) {
  for (const PartParams &part : parts) {
    if (part.rank == me && !result)
      result = static_cast<float *>(part.data);
    if (part.rank != me && part.contributes)
      ++arrivals;
  }
  const auto mine = std::find(adders.begin(), adders.end(), me);
  if (mine == adders.end())
    arrivals = 0;
  else
    myPiece = mine - adders.begin();
  const auto pieces = static_cast<int64_t>(adders.size());
  const int64_t largest = largestPiece(pieces, count);
  // One rank alone moves nothing.
  atOnce =
      ranks.size() == 1 ? largest : elementsOfRound(pieces, count, maxAtOnce);
  rounds = atOnce == 0 ? 0 : (largest + atOnce - 1) / atOnce;
}

SumExchange::Elements SumExchange::elementsOf(int64_t adder,
                                              int64_t round) const {
  if (adder < 0 || round < 0 || round >= rounds)
    return {};
  const auto pieces = static_cast<int64_t>(adders.size());
  const int64_t begin = beginOfPiece(adder, pieces, count) + round * atOnce,
                end = beginOfPiece(adder + 1, pieces, count);
  return {begin, std::clamp<int64_t>(end - begin, 0, atOnce)};
}

std::vector<SumExchange::Move> SumExchange::sends(int64_t round) const {
  std::vector<Move> moves;
  const Elements sums = elementsOf(myPiece, round - 1);
  for (int32_t rank : ranks)
    if (rank != me && sums.count > 0)
      moves.push_back({rank, result + sums.begin, sums.count});
  for (size_t adder = 0; adder < adders.size(); ++adder) {
    const Elements elements = elementsOf(static_cast<int64_t>(adder), round);
    for (const PartParams &part : parts)
      if (part.contributes && part.rank == me && adders[adder] != me &&
          elements.count > 0)
        moves.push_back({adders[adder],
                         static_cast<float *>(part.data) + elements.begin,
                         elements.count});
  }
  return moves;
}

std::vector<SumExchange::Move> SumExchange::receives(int64_t round,
                                                     float *staging) const {
  std::vector<Move> moves;
  for (size_t adder = 0; adder < adders.size(); ++adder) {
    const Elements sums = elementsOf(static_cast<int64_t>(adder), round - 1);
    if (adders[adder] != me && sums.count > 0)
      moves.push_back({adders[adder], result + sums.begin, sums.count});
  }
  const Elements elements = elementsOf(myPiece, round);
  for (const PartParams &part : parts) {
    if (!part.contributes || part.rank == me || elements.count == 0)
      continue;
    moves.push_back({part.rank, staging, elements.count});
    staging += atOnce;
  }
  return moves;
}

//===----------------------------------------------------------------------===//
// Gathers and scatters of shards.
//===----------------------------------------------------------------------===//

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
