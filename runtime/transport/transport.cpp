//===- transport.cpp - What all transports share --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/transport.h"

#include "runtime/base/error.h"
#include "runtime/transport/match.h"

using namespace rondo::runtime;

Transport::~Transport() = default;

void Transport::iterate(int32_t, bool, const std::function<void()> &actions) {
  actions();
}

void Transport::iterateProgram(int32_t, int32_t rank, bool mayReplay,
                               const std::function<void()> &actions) {
  iterate(rank, mayReplay, actions);
}

std::string rondo::runtime::nameOf(MessageName name) {
  return std::to_string(name.stage) +
         (name.kind == Message::Activation ? "F" : "I") +
         std::to_string(name.microbatch);
}

void rondo::runtime::checkMatch(const Posting &sent, const Posting &posted,
                                int32_t from, int32_t to) {
  if (!(sent.name == posted.name))
    throw Error("rank " + std::to_string(to) + " expects " +
                nameOf(posted.name) + " from rank " + std::to_string(from) +
                ", which sends " + nameOf(sent.name));
  if (sent.bytes != posted.bytes)
    throw Error("message " + nameOf(sent.name) + " of rank " +
                std::to_string(from) + " has " + std::to_string(sent.bytes) +
                " bytes, rank " + std::to_string(to) + " expects " +
                std::to_string(posted.bytes));
}

void rondo::runtime::failOnTooMany(bool isSender, MessageName name,
                                   int32_t from, int32_t to) {
  throw Error("rank " + std::to_string(isSender ? from : to) +
              (isSender ? " sends " : " receives ") + nameOf(name) +
              " although the channel from rank " + std::to_string(from) +
              " to rank " + std::to_string(to) +
              " has had all messages of the iteration");
}
