//===- CollectiveTime.cpp - How long collectives take ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/CollectiveTime.h"

#include <algorithm>

using namespace rondo;

/// How long it takes if each home's piece for each other passes `times`.
static int64_t exchangeOverNs(const Problem &problem,
                              const std::vector<int32_t> &homes, int64_t bytes,
                              int64_t times) {
  const int64_t count = static_cast<int64_t>(homes.size());
  if (count < 2)
    return 0;
  int64_t latencyNs = 0, rate = 0;
  for (int32_t from : homes)
    for (int32_t to : homes)
      if (from != to) {
        const Link link =
            problem.linkBetween(problem.rankOf(from), problem.rankOf(to));
        latencyNs = std::max(latencyNs, link.latencyNs);
        if (link.bytesPerUs > 0)
          rate = rate == 0 ? link.bytesPerUs : std::min(rate, link.bytesPerUs);
      }
  int64_t ns =
      rate == 0 ? 0 : exchangeNs(bytes, count, times * (count - 1), rate);
  // By card: the pieces that leave by it, which are as many as come in.
  std::vector<int64_t> pieces(problem.cards.count());
  for (int32_t from : homes)
    for (int32_t to : homes)
      if (const int32_t card =
              problem.cards.between(problem.rankOf(from), problem.rankOf(to))
                  .out;
          card >= 0)
        ++pieces[card];
  for (int32_t card = 0; card < problem.cards.count(); ++card)
    ns = std::max(ns, exchangeNs(bytes, count, times * pieces[card],
                                 problem.cards.bytesPerUs[card]));
  return ns + times * latencyNs;
}

int64_t rondo::sumOverHomesNs(const Problem &problem,
                              const std::vector<int32_t> &homes,
                              int64_t bytes) {
  return exchangeOverNs(problem, homes, bytes, /*times=*/2);
}

HomeSteps rondo::samePieceOfGroups(const Problem &problem, int32_t home) {
  const Home &one = problem.homes[home];
  return {problem.homes.numberOf(one.stage) + one.piece, one.pieces,
          static_cast<int32_t>(problem.homes.of(one.stage).size()) /
              one.pieces};
}

int64_t rondo::pieceOfGradients(const Problem &problem, int32_t home) {
  return problem.cost(home, ActionKind::ReduceGrad).releaseBytes /
         problem.homes[home].pieces;
}

int64_t rondo::sumAcrossNs(const Problem &problem, int32_t home) {
  const HomeSteps all = samePieceOfGroups(problem, home);
  std::vector<int32_t> homes;
  for (int32_t k = 0; k < all.count; ++k)
    homes.push_back(all[k]);
  return sumOverHomesNs(problem, homes, pieceOfGradients(problem, home));
}

int64_t rondo::gatherOverHomesNs(const Problem &problem,
                                 const std::vector<int32_t> &homes,
                                 int64_t bytes) {
  return exchangeOverNs(problem, homes, bytes, /*times=*/1);
}
