//===- store_deadlines.cpp - Which processes keep others waiting too long -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/store_server.h"

#include <cstdio>

using namespace rondo::runtime;

static std::string seconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", value);
  return text;
}

/// `rank 3`, or `ranks 1, 2, 4 and 5 more`.
static std::string listOf(const std::vector<int32_t> &ranks) {
  constexpr size_t most = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size() && i < most; ++i)
    text += (i ? ", " : "") + std::to_string(ranks[i]);
  if (ranks.size() > most)
    text += " and " + std::to_string(ranks.size() - most) + " more";
  return text;
}

void StoreServer::checkDeadlines() {
  if (hasFailed || isStopping)
    return;
  auto fail = [&](const std::string &text) {
    declareFailure(static_cast<int>(Exit::RunFailure), text);
  };
  if (joined < params.processes) {
    if (static_cast<double>(now) * 1e-9 < params.joinSeconds)
      return;
    std::vector<int32_t> missing;
    for (int32_t p = 0; p < params.processes; ++p)
      if (connectionOf[p] == notYet)
        missing.push_back(p);
    return fail(listOf(missing) + " did not arrive within " +
                seconds(params.joinSeconds));
  }
  const int64_t timeoutNs =
      params.timeoutSeconds > 0
          ? static_cast<int64_t>(params.timeoutSeconds * 1e9)
          : INT64_MAX;
  const std::string within = " within " + seconds(params.timeoutSeconds);
  for (const auto &[name, meeting] : meetings) {
    bool isLate = false;
    std::vector<int32_t> missing;
    for (int32_t p = 0; p < params.processes; ++p) {
      if (meeting.requests[p].process >= 0) {
        isLate |= now > meeting.requests[p].deadlineNs;
        continue;
      }
      const bool isWatched = meeting.patience == Store::Patience::WhileReported;
      if (!isWatched || now - lastHeardNs[p] > timeoutNs)
        missing.push_back(p);
      isLate |= isWatched && now - lastHeardNs[p] > timeoutNs;
    }
    if (isLate)
      return fail(listOf(missing) + " did not reach '" + name + "'" + within);
  }
  auto check = [&](const std::string &key, const Request &from,
                   const char *what) {
    if (now > from.deadlineNs && !hasFailed)
      fail("rank " + std::to_string(from.process) + " waits for " + what +
           " '" + key + "', which did not arrive" + within);
  };
  for (const auto &[key, from] : gets)
    check(key, from, "the value");
  for (const auto &[key, from] : takes)
    check(key, from, "the data");
  for (const auto &[key, handover] : handovers)
    check(key, handover.giver, "the receiver of");
}
