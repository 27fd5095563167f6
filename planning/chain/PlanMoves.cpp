//===- PlanMoves.cpp - Small changes of a plan ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/PlanMoves.h"

using namespace rondo;

/// The most layers by which a boundary moves together with a device.
static constexpr int32_t farthestGive = 4;

/// Whether two devices are equal in rates, server, NIC, speed and memory.
static bool areEqual(const ChainProblem &problem, int32_t u, int32_t v) {
  if (problem.nodeOf[u] != problem.nodeOf[v] ||
      problem.rate(u, v) != problem.rate(v, u) ||
      (!problem.nicOf.empty() && problem.nicOf[u] != problem.nicOf[v]) ||
      (!problem.speedPercent.empty() &&
       problem.speedPercent[u] != problem.speedPercent[v]) ||
      (!problem.memoryLess.empty() &&
       problem.memoryLess[u] != problem.memoryLess[v]))
    return false;
  for (int32_t w = 0; w < problem.numDevices(); ++w)
    if (w != u && w != v &&
        (problem.rate(u, w) != problem.rate(v, w) ||
         problem.rate(w, u) != problem.rate(w, v)))
      return false;
  return true;
}

PlanMoves::PlanMoves(const ChainProblem &problem) {
  for (int32_t v = 0; v < problem.numDevices(); ++v) {
    int32_t same = v;
    for (int32_t u = 0; u < v && same == v; ++u)
      if (classes[u] == u && areEqual(problem, u, v))
        same = u;
    classes.push_back(same);
    differ |= same != 0;
  }
}

void PlanMove::apply(WorkingPlan &plan) const {
  switch (kind) {
  case Shift:
    plan.moveBoundary(a, layers);
    return;
  case Give:
    plan.moveDevice(a, b, c);
    if (layers != 0)
      plan.moveBoundary(std::min(a, c), layers);
    return;
  case Swap:
    plan.swapDevices(a, b, c, d);
    return;
  case SwapAll:
    plan.swapGroups(a, c);
    return;
  case Merge:
    plan.merge(a);
    return;
  case Split:
    plan.split(a, layers, b, d != 0);
    return;
  }
}

void PlanMoves::list(const WorkingPlan &plan,
                     std::vector<PlanMove> &moves) const {
  const int32_t S = plan.numStages();
  for (int32_t n = 0; n < S; ++n) {
    const int32_t length = plan.end(n) - plan.first(n), r = plan.numDevices(n);
    if (n + 1 < S) {
      const int32_t next = plan.end(n + 1) - plan.end(n);
      for (int32_t by = 1 - length; by < next; ++by)
        if (by != 0)
          moves.push_back({PlanMove::Shift, n, 0, 0, 0, by});
      moves.push_back({PlanMove::Merge, n});
    }
    for (int32_t layers = 1; layers < length; ++layers)
      for (int32_t count = 1; count < r; ++count) {
        moves.push_back({PlanMove::Split, n, count, 0, 0, layers});
        if (differ)
          moves.push_back({PlanMove::Split, n, count, 0, 1, layers});
      }
  }
  listDeviceMoves(plan, moves);
}

void PlanMoves::listDeviceMoves(const WorkingPlan &plan,
                                std::vector<PlanMove> &moves) const {
  const int32_t S = plan.numStages();
  // [group]: one device of each class.
  std::vector<std::vector<int32_t>> distinct(S + 1);
  auto classAt = [&](int32_t group, int32_t place) {
    return classes[plan.devices(group)[place]];
  };
  for (int32_t n = 0; n <= S; ++n)
    for (int32_t k = 0; k < plan.numDevices(n); ++k)
      if (std::none_of(distinct[n].begin(), distinct[n].end(), [&](int32_t i) {
            return classAt(n, i) == classAt(n, k);
          }))
        distinct[n].push_back(k);
  for (int32_t n = 0; n <= S; ++n)
    for (int32_t other = 0; other <= S; ++other) {
      if (n == other)
        continue;
      for (int32_t k : distinct[n]) {
        if (n < S && plan.numDevices(n) == 1)
          break;
        moves.push_back({PlanMove::Give, n, k, other});
        const int32_t left = std::min(n, other);
        if (std::max(n, other) == S || std::max(n, other) != left + 1)
          continue;
        for (int32_t by = -farthestGive; by <= farthestGive; ++by)
          if (by != 0 && plan.end(left) + by > plan.first(left) &&
              plan.end(left) + by < plan.end(left + 1))
            moves.push_back({PlanMove::Give, n, k, other, 0, by});
      }
      if (!differ || n > other)
        continue;
      if (other < S)
        moves.push_back({PlanMove::SwapAll, n, 0, other});
      for (int32_t k : distinct[n])
        for (int32_t l : distinct[other])
          if (classAt(n, k) != classAt(other, l))
            moves.push_back({PlanMove::Swap, n, k, other, l});
    }
}

/// A number from 0 to count - 1.
static int32_t below(std::mt19937_64 &random, int32_t count) {
  return static_cast<int32_t>((random() >> 33) * count >> 31);
}

bool PlanMoves::drawGive(const WorkingPlan &plan, std::mt19937_64 &random,
                         PlanMove &move) const {
  const int32_t S = plan.numStages();
  const int32_t from = below(random, S + 1);
  if (plan.numDevices(from) < (from < S ? 2 : 1))
    return false;
  // Two draws of three move the device to a neighbouring stage.
  const bool isNear = from < S && S > 1 && below(random, 3) > 0;
  int32_t to =
      isNear ? from + (below(random, 2) ? 1 : -1) : below(random, S + 1);
  if (to < 0 || to == from || (isNear && to == S))
    return false;
  move = {PlanMove::Give, from, below(random, plan.numDevices(from)), to};
  if (!isNear || below(random, 3) == 0)
    return true;
  const int32_t left = std::min(from, to),
                by = below(random, 2 * farthestGive + 1) - farthestGive;
  if (plan.end(left) + by <= plan.first(left) ||
      plan.end(left) + by >= plan.end(left + 1))
    return false;
  move.layers = by;
  return true;
}

bool PlanMoves::drawSwap(const WorkingPlan &plan, std::mt19937_64 &random,
                         PlanMove &move) const {
  const int32_t S = plan.numStages();
  const int32_t a = below(random, S), c = below(random, S + 1);
  if (!differ || a == c || plan.numDevices(c) == 0)
    return false;
  if (c < S && below(random, 2) == 0) {
    move = {PlanMove::SwapAll, a, 0, c};
    return true;
  }
  move = {PlanMove::Swap, a, below(random, plan.numDevices(a)), c,
          below(random, plan.numDevices(c))};
  return classes[plan.devices(a)[move.b]] != classes[plan.devices(c)[move.d]];
}

bool PlanMoves::draw(const WorkingPlan &plan, std::mt19937_64 &random,
                     PlanMove &move) const {
  const int32_t S = plan.numStages();
  // Weights out of 16, roughly proportional to how often each kind of change
  // helps.
  const int32_t kind = below(random, 16);
  if (kind >= 10)
    return kind >= 13 ? drawSwap(plan, random, move)
                      : drawGive(plan, random, move);
  if (kind >= 7)
    return drawGive(plan, random, move);
  const int32_t n = below(random, S), length = plan.end(n) - plan.first(n);
  if (kind == 6) {
    move = {PlanMove::Merge, n};
    return n + 1 < S;
  }
  if (kind >= 4) {
    if (length < 2 || plan.numDevices(n) < 2)
      return false;
    move = {PlanMove::Split,
            n,
            1 + below(random, plan.numDevices(n) - 1),
            0,
            below(random, 2),
            1 + below(random, length - 1)};
    return true;
  }
  if (n + 1 == S)
    return false;
  // Half of these draws move the boundary by one layer, the others by up to
  // four.
  const int32_t most = kind < 2 ? 1 : 4,
                by = (1 + below(random, most)) * (below(random, 2) ? 1 : -1);
  move = {PlanMove::Shift, n, 0, 0, 0, by};
  return plan.end(n) + by > plan.first(n) && plan.end(n) + by < plan.end(n + 1);
}
