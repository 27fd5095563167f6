//===- nccl_compare.cpp - Compares both ends of a channel -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/cuda/nccl_transport.h"

#include <algorithm>
#include <sstream>

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

/// Never empty.
static std::string textOf(const std::vector<Posting> &postings) {
  std::ostringstream text;
  text << postings.size();
  for (const Posting &posting : postings)
    text << ' ' << posting.name.edge << ' ' << posting.name.microbatch << ' '
         << posting.name.fromReplica << ' ' << posting.name.toReplica << ' '
         << posting.bytes;
  return text.str();
}

static std::vector<Posting> postingsOf(const std::string &text) {
  std::istringstream stream(text);
  size_t count = 0;
  stream >> count;
  std::vector<Posting> postings(count);
  for (Posting &posting : postings)
    stream >> posting.name.edge >> posting.name.microbatch >>
        posting.name.fromReplica >> posting.name.toReplica >> posting.bytes;
  return postings;
}

static void compare(const ChannelEnd &end, const std::vector<Posting> &sent,
                    const std::vector<Posting> &received,
                    const EdgeNames &edges) {
  for (size_t i = 0; i < std::min(sent.size(), received.size()); ++i)
    checkMatch(sent[i], received[i], end.from, end.to, edges);
  if (sent.size() != received.size())
    throw Error("rank " + std::to_string(end.from) + " sends " +
                std::to_string(sent.size()) + " messages to rank " +
                std::to_string(end.to) + ", which receives " +
                std::to_string(received.size()));
}

/// NCCL does not identify messages: one that matched the wrong receive would
/// train on wrong data. So both ends compare what they have posted in the first
/// iteration of a program; later ones repeat it.
void NcclTransport::compareEnds(GpuRank &me) {
  for (ChannelEnd *end : me.ends) {
    const std::string key = prefix + "posted/" + std::to_string(me.program) +
                            "/" + std::to_string(end->channel),
                      mine = textOf(end->firstPostings);
    std::string theirs;
    if (world.isAlone()) {
      // The later end compares.
      std::lock_guard<std::mutex> lock(postedMutex);
      std::string &other = posted[key];
      if (other.empty()) {
        other = mine;
        continue;
      }
      theirs = other;
    } else if (end->isSender) {
      world.store->set(key, mine);
      continue;
    } else {
      theirs = world.store->get(key);
    }
    if (end->isSender)
      compare(*end, end->firstPostings, postingsOf(theirs), edges);
    else
      compare(*end, postingsOf(theirs), end->firstPostings, edges);
  }
}
