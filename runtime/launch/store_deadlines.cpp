//===- store_deadlines.cpp - Which processes keep others waiting too long -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/store_server.h"

#include <algorithm>
#include <cstdio>

using namespace rondo::runtime;

double rondo::runtime::aliveSeconds(double timeoutSeconds) {
  return timeoutSeconds > 0 ? std::clamp(timeoutSeconds / 4, 0.1, 1.0) : 1;
}

/// All have arrived. Until now the limit for joining applied; from now on, the
/// limit on keeping others waiting.
void StoreServer::startClock() {
  for (auto &[name, meeting] : meetings)
    for (Request &from : meeting.requests)
      from.deadline.renew();
  for (int32_t p = 0; p < params.processes; ++p) {
    reported[p].renew();
    alive[p].renew();
  }
}

void StoreServer::sayAlive() {
  if (!nextAlive.hasExpired())
    return;
  nextAlive.renew();
  for (int fd : connectionOf)
    if (fd >= 0 && !clients[fd].isGone)
      put(clients[fd], StoreFrame::Alive, 0, {});
}

bool StoreServer::hasConnections() const {
  return std::any_of(clients.begin(), clients.end(), [&](const auto &entry) {
    const int32_t process = entry.second.process;
    return process < 0 || alive[process].elapsedSeconds() < 2;
  });
}

void StoreServer::checkDeadlines() {
  if (hasFailed || isStopping)
    return;
  if (joined < params.processes) {
    if (!joining.hasExpired())
      return;
    std::vector<int32_t> missing;
    for (int32_t p = 0; p < params.processes; ++p)
      if (connectionOf[p] == notYet)
        missing.push_back(p);
    return declareFailure(static_cast<int>(Exit::RunFailure),
                          ranksText(missing) + " did not arrive within " +
                              secondsText(params.joinSeconds));
  }
  if (checkMeetings() || checkSilence())
    return;
  auto check = [&](const std::string &key, const Request &from,
                   const char *what) {
    if (!hasFailed && from.deadline.hasExpired())
      declareFailure(static_cast<int>(Exit::RunFailure),
                     "rank " + std::to_string(from.process) + " waits for " +
                         what + " '" + key + "', which did not arrive within " +
                         secondsText(params.timeoutSeconds));
  };
  for (const auto &[key, from] : gets)
    check(key, from, "the value");
  for (const auto &[key, from] : takes)
    check(key, from, "the data");
  for (const auto &[key, handover] : handovers)
    check(key, handover.giver, "the receiver of");
}

/// Whether the run has failed since processes did not come to an exchange.
bool StoreServer::checkMeetings() {
  for (const auto &[name, meeting] : meetings) {
    const bool isWatched = meeting.patience == Store::Patience::WhileReported;
    bool isLate = false;
    std::vector<int32_t> missing;
    for (int32_t p = 0; p < params.processes; ++p) {
      if (meeting.requests[p].process >= 0) {
        isLate |= meeting.requests[p].deadline.hasExpired();
        continue;
      }
      if (!isWatched || reported[p].hasExpired())
        missing.push_back(p);
      isLate |= isWatched && reported[p].hasExpired();
    }
    if (!isLate)
      continue;
    declareFailure(static_cast<int>(Exit::RunFailure),
                   ranksText(missing) + " did not reach '" + name +
                       "' within " + secondsText(params.timeoutSeconds));
    return true;
  }
  return false;
}

/// Whether the run has failed since a process does not answer.
bool StoreServer::checkSilence() {
  for (int32_t p = 0; p < params.processes; ++p) {
    if (connectionOf[p] < 0 || !alive[p].hasExpired())
      continue;
    declareFailure(static_cast<int>(Exit::RunFailure), silentOnes(),
                   /*namesSilent=*/false);
    return true;
  }
  return false;
}

std::string StoreServer::silentOnes() const {
  if (joined < params.processes)
    return {};
  // A process that answers does so within aliveSeconds().
  const double most =
      params.timeoutSeconds > 0
          ? std::clamp(params.timeoutSeconds / 2, 0.5, silenceSeconds)
          : silenceSeconds;
  std::string text;
  for (int32_t p = 0; p < params.processes; ++p)
    if (connectionOf[p] >= 0 && alive[p].elapsedSeconds() > most)
      text += (text.empty() ? "" : "; ") + silenceOf(p);
  return text;
}

/// `rank 1 has not answered for 5.1 s, last seen in 'meet'`.
std::string StoreServer::silenceOf(int32_t process) const {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f s",
                alive[process].elapsedSeconds());
  return "rank " + std::to_string(process) + " has not answered for " +
         seconds +
         (lastSeen[process].empty()
              ? ""
              : ", last seen in '" + lastSeen[process] + "'");
}
