//===- MicrobatchOrder.cpp - Orders of micro-batches ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/model/MicrobatchOrder.h"

#include <algorithm>
#include <numeric>

using namespace rondo;

std::vector<int64_t> rondo::lengthsOf(const Problem &problem) {
  std::vector<int64_t> lengths(problem.microbatches);
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
    for (int32_t i = 0; i < problem.microbatches; ++i)
      for (ActionKind kind : {ActionKind::Forward, ActionKind::InputGrad,
                              ActionKind::WeightGrad, ActionKind::Recompute})
        if (problem.replicas[replica].takes(i))
          lengths[i] += problem.cost(replica, kind, i).ns;
  return lengths;
}

std::vector<int32_t> rondo::orderByLength(const Problem &problem,
                                          LengthOrder rule) {
  const std::vector<int64_t> lengths = lengthsOf(problem);
  std::vector<int32_t> order(problem.microbatches);
  std::iota(order.begin(), order.end(), 0);
  if (rule == LengthOrder::Given)
    return order;
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return rule == LengthOrder::Ascending ? lengths[a] < lengths[b]
                                          : lengths[a] > lengths[b];
  });
  if (rule == LengthOrder::LongShort) {
    std::vector<int32_t> mixed;
    for (size_t i = 0, j = order.size(); i < j;) {
      mixed.push_back(order[i++]);
      if (i < j)
        mixed.push_back(order[--j]);
    }
    return mixed;
  }
  return order;
}

bool rondo::isIndexOrder(const std::vector<int32_t> &order) {
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i] != static_cast<int32_t>(i))
      return false;
  return true;
}
