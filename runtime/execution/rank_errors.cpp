//===- rank_errors.cpp - Errors of a rank's actions -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Separate from the actions, so that building the text costs them no time.
//
//===----------------------------------------------------------------------===//

#include "runtime/execution/rank.h"

#include "runtime/base/error.h"

using namespace rondo;
using namespace rondo::runtime;

std::string rondo::runtime::actionName(ActionKind kind, Message message,
                                       int64_t subject, int64_t microbatch) {
  const ActionTraits &traits = traitsOf(kind);
  const std::string number = std::to_string(subject);
  if (traits.isTask())
    return number + traits.letter + std::to_string(microbatch);
  std::string text = std::string(traits.keyword) + " " + number;
  if (traits.subject == Subject::Edge)
    text += traitsOf(traitsOf(message).producer).letter +
            std::to_string(microbatch);
  if (traits.movesState())
    text += ", unit " + std::to_string(microbatch);
  return text;
}

std::string RunningRank::currentAction() const {
  uint64_t packed = current.load(std::memory_order_relaxed);
  return actionName(static_cast<ActionKind>(packed >> 58),
                    static_cast<Message>((packed >> 56) & 0x3),
                    static_cast<int64_t>((packed >> 32) & 0xffffff),
                    static_cast<int64_t>(packed & 0xffffffff));
}

void RunningRank::failOnReplica(int64_t replica, int64_t microbatch) const {
  throw Error("the program of rank " + std::to_string(me) + " runs replica " +
              std::to_string(replica) + ", micro-batch " +
              std::to_string(microbatch) + ", which it does not hold");
}

void RunningRank::failOnVersion(int64_t replica, ActionKind kind,
                                int64_t microbatch,
                                const std::string &why) const {
  throw Error(
      "stage '" + std::string(replicas[replica].binding->desc->name) +
      "': " + actionName(kind, Message::None, stageOf(replica), microbatch) +
      " reads version " + std::to_string(versionOf(replica, kind, microbatch)) +
      " of the run's weights, " + why);
}

void RunningRank::failOnUnposted(int32_t edge, int64_t microbatch) const {
  throw Error("rank " + std::to_string(me) + " needs " +
              nameOf(edgeDescs[edge].message, stageOf(edgeDescs[edge].from),
                     static_cast<int32_t>(microbatch)) +
              ", which it has not posted a receive for");
}

void RunningRank::failOnMessage(const char *verb, Message message,
                                int64_t replica, int64_t microbatch,
                                const char *why) const {
  const bool isKnown =
      replica >= 0 && replica < static_cast<int64_t>(replicas.size());
  throw Error("the program of rank " + std::to_string(me) + " " + verb + " " +
              nameOf(message,
                     isKnown ? stageOf(replica) : static_cast<int32_t>(replica),
                     static_cast<int32_t>(microbatch)) +
              ", which " + why);
}
