//===- copy_list.h - Copies of a rank and their waits -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A part of the runtime that only programs with copies link.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_EXECUTION_COPY_LIST_H
#define RONDO_RUNTIME_EXECUTION_COPY_LIST_H

#include "runtime/execution/messages.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace rondo::runtime {

/// The copies of one rank of a program, with their addresses, and the waits
/// between its tasks and its lanes of copies. Does not change.
class CopyList {
public:
  /// A task or a copy that others await, or that awaits others.
  struct Node {
    ActionKind kind;
    int32_t replica, microbatch;
    std::vector<int32_t> awaited;
  };
  struct Copy {
    int32_t node;
    bool isSave;
    /// CopyDesc::turn.
    int32_t turn;
    /// A part for I and one for W; null if there is none.
    char *device[2] = {}, *host[2] = {};
    int64_t bytes[2] = {};

    /// The ends of a part.
    char *from(int part) const { return isSave ? device[part] : host[part]; }
    char *to(int part) const { return isSave ? host[part] : device[part]; }
  };

  CopyList(const RankContext &context, const Messages &messages);

  const std::vector<Node> &nodes() const { return allNodes; }
  /// In the order of the rank's list.
  const std::vector<Copy> &copies() const { return allCopies; }
  /// [lane]: the copies of its list. Copies to the host, and all copies of a
  /// half-duplex link; the others.
  const std::vector<std::vector<int32_t>> &lanes() const { return allLanes; }

  /// -1: it awaits nothing, and nothing awaits it.
  int32_t findNode(ActionKind kind, int64_t replica, int64_t microbatch) const;
  /// The number of a copy; -1: the program does not have it.
  int32_t findCopy(ActionKind kind, int64_t replica, int64_t microbatch) const {
    return copyOn(findNode(kind, replica, microbatch));
  }
  /// The copy that a node is; -1: it is none.
  int32_t copyOn(int32_t node) const { return node < 0 ? -1 : copyOf[node]; }
  /// `0SAVE3`
  std::string nameOf(int32_t node) const {
    return actionName(allNodes[node].kind, Message::None,
                      context.stageOf(allNodes[node].replica),
                      allNodes[node].microbatch);
  }
  TraceEvent eventOf(const Copy &copy, int64_t iteration, int64_t startNs,
                     int64_t endNs) const;

private:
  static uint64_t keyOf(ActionKind kind, int64_t replica, int64_t microbatch) {
    return static_cast<uint64_t>(kind) << 58 |
           static_cast<uint64_t>(replica) << 32 |
           static_cast<uint64_t>(microbatch);
  }
  int32_t nodeOf(ActionKind kind, int32_t replica, int32_t microbatch);
  void addCopy(const CopyDesc &desc, const Messages &messages);

  const RankContext context;
  std::vector<Node> allNodes;
  std::unordered_map<uint64_t, int32_t> numbers;
  std::vector<Copy> allCopies;
  /// [node]: its copy; -1: it is a task.
  std::vector<int32_t> copyOf;
  std::vector<std::vector<int32_t>> allLanes;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_COPY_LIST_H
