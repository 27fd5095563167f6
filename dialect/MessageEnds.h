//===- MessageEnds.h - How sends and receives name messages -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of the bridge, only for its files.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_MESSAGEENDS_H
#define RONDO_DIALECT_MESSAGEENDS_H

#include "dialect/Pipe.h"

#include <map>
#include <utility>

namespace rondo::pipe {

inline Message messageOf(const Edge &edge) {
  return static_cast<Message>(edge.message());
}

/// The message of a send or a receive as its op names it; null fields are open.
struct MessageEnds {
  ActionKind kind = ActionKind::Send;
  /// The rank that runs it.
  int32_t rank = 0;
  Message message = Message::Activation;
  int32_t stage = 0;
  mlir::IntegerAttr replicaIndex;
  /// -1: left open.
  int32_t receiver = -1;
  mlir::IntegerAttr receiverReplica;
};

/// Edges by the messages that they carry.
class MessageNumbers {
public:
  explicit MessageNumbers(const Problem &problem);

  /// The number of stages that need such a message of a stage.
  size_t numReceivers(int32_t stage, Message message) const;
  /// All edges that may be meant.
  llvm::SmallVector<int32_t, 2> find(const MessageEnds &words) const;

private:
  using Numbers = llvm::SmallVector<int32_t, 2>;

  const Replica &replicaOf(int32_t number) const {
    return problem.replicas[number];
  }
  Numbers of(int32_t stage, Message message) const;

  const Problem &problem;
  std::map<std::pair<int32_t, Message>, Numbers> numbers;
};

} // namespace rondo::pipe

#endif // RONDO_DIALECT_MESSAGEENDS_H
