//===- match.h - Matches both ends of a channel -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRANSPORT_MATCH_H
#define RONDO_RUNTIME_TRANSPORT_MATCH_H

#include "runtime/transport/transport.h"

namespace rondo::runtime {

/// A message as one end of a channel posts it.
struct Posting {
  MessageName name;
  char *data = nullptr;
  int64_t bytes = 0;
};

/// Throws Error if the ends post different messages or sizes.
void checkMatch(const Posting &sent, const Posting &posted, int32_t from,
                int32_t to, const EdgeNames &edges);

/// Throws Error: rank `to` expects a different message than `from` sends.
[[noreturn]] void failOnMismatch(MessageName sent, MessageName expected,
                                 int32_t from, int32_t to,
                                 const EdgeNames &edges);

/// Throws Error: an end posts more messages than the channel has.
[[noreturn]] void failOnTooMany(bool isSender, MessageName name, int32_t from,
                                int32_t to, const EdgeNames &edges);

/// Throws Error if what a rank has received is not what the other has sent,
/// with this checksum. `what`: `message 0F3`, `a part of collective 2`.
void checkContent(const std::string &what, int32_t from, int32_t to,
                  const void *data, int64_t bytes, uint32_t sent);

/// Throws Error if a rank has less staging memory than a collective needs.
/// `what`: what the user knows the collective by.
void checkStaging(StagingParams staging, int64_t needed, int32_t collective,
                  int32_t rank, const char *what = "all_reduce");

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRANSPORT_MATCH_H
