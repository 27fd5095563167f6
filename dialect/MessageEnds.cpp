//===- MessageEnds.cpp - How sends and receives name messages -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/MessageEnds.h"

#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

MessageNumbers::MessageNumbers(const Problem &problem) : problem(problem) {
  for (auto [number, edge] : llvm::enumerate(problem.edges))
    numbers[{replicaOf(edge.from).stage, messageOf(edge)}].push_back(
        static_cast<int32_t>(number));
}

MessageNumbers::Numbers MessageNumbers::of(int32_t stage,
                                           Message message) const {
  auto it = numbers.find({stage, message});
  return it == numbers.end() ? Numbers() : it->second;
}

size_t MessageNumbers::numReceivers(int32_t stage, Message message) const {
  llvm::SmallSet<int32_t, 4> receivers;
  for (int32_t edge : of(stage, message))
    receivers.insert(replicaOf(problem.edges[edge].to).stage);
  return receivers.size();
}

SmallVector<int32_t, 2> MessageNumbers::find(const MessageEnds &words) const {
  Numbers found = of(words.stage, words.message);
  auto keep = [&](auto fits) {
    llvm::erase_if(found, [&](int32_t edge) {
      return !fits(replicaOf(problem.edges[edge].from),
                   replicaOf(problem.edges[edge].to));
    });
  };
  if (words.receiver >= 0)
    keep([&](const Replica &, const Replica &to) {
      return to.stage == words.receiver;
    });
  if (words.replicaIndex)
    keep([&](const Replica &from, const Replica &) {
      return from.index == words.replicaIndex.getInt();
    });
  if (words.receiverReplica)
    keep([&](const Replica &, const Replica &to) {
      return to.index == words.receiverReplica.getInt();
    });
  // The own end is the replica on this rank. If there is none, rule L1 reports
  // it.
  const bool isSend = words.kind == ActionKind::Send;
  Numbers own = found;
  llvm::erase_if(own, [&](int32_t edge) {
    return words.rank != (isSend ? replicaOf(problem.edges[edge].from)
                                 : replicaOf(problem.edges[edge].to))
                             .rank;
  });
  const bool isOwnNamed =
      bool(isSend ? words.replicaIndex : words.receiverReplica);
  return own.empty() || isOwnNamed || found.size() == 1 ? found : own;
}
