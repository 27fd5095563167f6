//===- transport.cpp - Shared by all transports ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/transport.h"

#include "runtime/base/crc32c.h"
#include "runtime/base/error.h"

#include <algorithm>
#include <cstdio>

using namespace rondo::runtime;

Transport::~Transport() = default;

bool Transport::begin(int32_t, int32_t, const Replay &) { return true; }

void Transport::end(int32_t) {}

void Transport::abandon(int32_t) {}

void Transport::beginIteration(int64_t) {}

void Transport::spoilNext(int32_t) {}

SerialLink *Transport::imposedLink(int32_t, int32_t) { return nullptr; }

std::vector<int32_t> rondo::runtime::ranksOf(const CollectiveParams &parts) {
  std::vector<int32_t> ranks;
  for (const PartParams &part : parts)
    ranks.push_back(part.rank);
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

const PartParams &
rondo::runtime::firstContribution(const CollectiveParams &parts) {
  return *std::find_if(parts.begin(), parts.end(),
                       [](const PartParams &part) { return part.contributes; });
}

void rondo::runtime::addElements(float *sum, const float *values,
                                 int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    sum[i] += values[i];
}

void rondo::runtime::checkStaging(StagingParams staging, int64_t needed,
                                  int32_t collective, int32_t rank,
                                  const char *what) {
  if (staging.bytes < needed)
    throw Error(std::string(what) + " " + std::to_string(collective) +
                " stages " + std::to_string(needed) + " bytes on rank " +
                std::to_string(rank) + ", which has " +
                std::to_string(staging.bytes) + " bytes for that");
}

EdgeNames rondo::runtime::edgeNamesOf(const Executable &executable) {
  EdgeNames names;
  for (int32_t e = 0; e < executable.numEdges; ++e) {
    const EdgeDesc &edge = executable.edges[e];
    names.push_back({edge.message, executable.replicas[edge.from].stage,
                     executable.replicas[edge.to].stage});
  }
  return names;
}

std::string rondo::runtime::nameOf(Message kind, int32_t stage,
                                   int32_t microbatch) {
  return std::to_string(stage) + traitsOf(traitsOf(kind).producer).letter +
         std::to_string(microbatch);
}

/// Null if it has no name: another process may send anything.
static const EdgeName *findEdge(MessageName name, const EdgeNames &edges) {
  return name.edge >= 0 && name.edge < static_cast<int32_t>(edges.size())
             ? &edges[name.edge]
             : nullptr;
}

std::string rondo::runtime::nameOf(MessageName name, const EdgeNames &edges) {
  if (const EdgeName *edge = findEdge(name, edges))
    return nameOf(edge->kind, edge->from, name.microbatch);
  return "micro-batch " + std::to_string(name.microbatch) + " of edge " +
         std::to_string(name.edge);
}

/// Names no more than what distinguishes the two.
void rondo::runtime::failOnMismatch(MessageName sent, MessageName expected,
                                    int32_t from, int32_t to,
                                    const EdgeNames &edges) {
  std::string ours = nameOf(expected, edges), theirs = nameOf(sent, edges);
  const EdgeName *ourEdge = findEdge(expected, edges),
                 *theirEdge = findEdge(sent, edges);
  if (ours == theirs && expected.edge != sent.edge && ourEdge && theirEdge) {
    ours += " for stage " + std::to_string(ourEdge->to);
    theirs += " for stage " + std::to_string(theirEdge->to);
  } else if (ours == theirs) {
    auto replicas = [](MessageName name) {
      return " of replica " + std::to_string(name.fromReplica) +
             " for replica " + std::to_string(name.toReplica);
    };
    ours += replicas(expected);
    theirs += replicas(sent);
  }
  throw Error("rank " + std::to_string(to) + " expects " + ours +
              " from rank " + std::to_string(from) + ", which sends " + theirs);
}

void rondo::runtime::checkMatch(const Posting &sent, const Posting &posted,
                                int32_t from, int32_t to,
                                const EdgeNames &edges) {
  if (!(sent.name == posted.name))
    failOnMismatch(sent.name, posted.name, from, to, edges);
  if (sent.bytes != posted.bytes)
    throw Error("message " + nameOf(sent.name, edges) + " of rank " +
                std::to_string(from) + " has " + std::to_string(sent.bytes) +
                " bytes, rank " + std::to_string(to) + " expects " +
                std::to_string(posted.bytes));
}

void rondo::runtime::checkContent(const std::string &what, int32_t from,
                                  int32_t to, const void *data, int64_t bytes,
                                  uint32_t sent) {
  const uint32_t found = crc32c(data, static_cast<size_t>(bytes));
  if (found == sent)
    return;
  char sums[64];
  std::snprintf(sums, sizeof sums, "%08x, not %08x", found, sent);
  throw Error(what + " from rank " + std::to_string(from) + " to rank " +
                  std::to_string(to) +
                  " has changed on its way: its checksum is " + sums +
                  "; memory, a NIC or a cable of one of their machines "
                  "may be faulty",
              Exit::RunFailure);
}

void rondo::runtime::failOnTooMany(bool isSender, MessageName name,
                                   int32_t from, int32_t to,
                                   const EdgeNames &edges) {
  throw Error("rank " + std::to_string(isSender ? from : to) +
              (isSender ? " sends " : " receives ") + nameOf(name, edges) +
              " although the channel from rank " + std::to_string(from) +
              " to rank " + std::to_string(to) +
              " has had all messages of the iteration");
}
