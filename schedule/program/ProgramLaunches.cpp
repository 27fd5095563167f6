//===- ProgramLaunches.cpp - Limited launches of programs -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If a rank may have at most K launches in flight, launch i begins after the
// end of launch i - K (kinds/Residency.h).
//
//===----------------------------------------------------------------------===//

#include "schedule/program/ProgramExecution.h"

#include <algorithm>
#include <map>
#include <utility>

using namespace rondo;
using namespace rondo::program_execution;

Launches::Launches(const Problem &problem, const Schedule &order,
                   int32_t resident)
    : most(limitResidency(problem, order, resident)) {
  if (most.empty())
    return;
  issued.resize(order.numRanks());
  before.assign(order.numActions(), notYet);
  after.assign(order.numActions(), notYet);
}

/// Adds the launch at `position`, which a rank issues.
void Launches::add(int32_t rank, int64_t position) {
  if (most[rank] == 0)
    return;
  std::vector<int64_t> &own = issued[rank];
  const auto maxOfRank = static_cast<size_t>(most[rank]);
  if (own.size() >= maxOfRank) {
    const int64_t earlier = own[own.size() - maxOfRank];
    before[position] = earlier;
    after[earlier] = position;
  }
  own.push_back(position);
}

bool Execution::mayMeet(int64_t send, int64_t receive, int64_t &readyNs) const {
  const int64_t sendNs = mayBeginNs(send), receiveNs = mayBeginNs(receive);
  if (sendNs == notYet || receiveNs == notYet)
    return false;
  readyNs = std::max({readyNs, sendNs, receiveNs});
  return true;
}

/// Records that the launch at `position` has ended.
void Execution::endLaunch(int32_t rank, int64_t position) {
  if (launches.after[position] != notYet)
    launches.freed.push_back({rank, launches.after[position]});
}

/// Retries the launches that may begin; false if there are none.
bool Execution::beginFreed() {
  if (launches.freed.empty())
    return false;
  while (!launches.freed.empty()) {
    const auto [rank, position] = launches.freed.back();
    launches.freed.pop_back();
    const Action action = actions[position];
    if (action.traits().subject == Subject::Edge)
      advance(channelOf(action));
    else
      runCollectives(rank);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Wait cycles.
//===----------------------------------------------------------------------===//

/// The launch of a channel's first unsent message at one end of the channel;
/// without a rank if it is not issued there yet.
Execution::Place Execution::headOf(const Channel &channel,
                                   bool isSender) const {
  const IssuedEnds &own = isSender ? channel.sends : channel.receives;
  const int32_t rank = isSender ? channel.from : channel.to;
  if (channel.carried < own.size())
    return placeOf(rank, own[channel.carried].position);
  return {};
}

Execution::Place Execution::waitOfHost(int32_t r) const {
  const RankState &rank = ranks[r];
  if (rank.position == rank.end)
    return {};
  switch (rank.waitFor) {
  case WaitFor::Nothing:
    return {};
  case WaitFor::OwnTask:
  case WaitFor::Copy:
    return {r, notYet, rank.needed};
  case WaitFor::Message:
    return headOf(channelOfMessage(rank.id), /*isSender=*/false);
  case WaitFor::SendEnd:
    return headOf(channelOfMessage(rank.id), /*isSender=*/true);
  case WaitFor::ReceiveSlot:
    return {r, notYet, nextConsumer(channels[rank.id])};
  case WaitFor::Collective:
    return placeOf(r, lanes[r].head().position);
  }
  return {};
}

Execution::Place Execution::waitOfMessage(const Place &place) const {
  const Action action = actions[place.launch];
  const bool isSender = action.kind() == ActionKind::Send;
  const Channel &channel = channelOf(action);
  const Place head = headOf(channel, isSender);
  if (head.launch != place.launch)
    return head;
  if (isOneQueue && queues[place.rank].head() != place.launch)
    return placeOf(place.rank, queues[place.rank].head());
  Place other = headOf(channel, !isSender);
  if (other.rank >= 0 && isOneQueue &&
      queues[other.rank].head() != other.launch)
    return placeOf(other.rank, queues[other.rank].head());
  if (other.rank < 0)
    other = {isSender ? channel.to : channel.from, notYet,
             Action(isSender ? ActionKind::Recv : ActionKind::Send,
                    action.subject, action.index)};
  return other;
}

Execution::Place Execution::waitOfCollective(const Place &place) const {
  const CollectiveLane &own = lanes[place.rank];
  if (own.head().position != place.launch)
    return placeOf(place.rank, own.head().position);
  const int32_t collective = own.head().collective;
  for (int32_t member : collectives[collective].ranks) {
    const CollectiveLane &lane = lanes[member];
    if (!isIssued(collective, member))
      return {member, notYet, issueOf(collective, member)};
    if (lane.head().collective != collective ||
        mayBeginNs(lane.head().position) == notYet)
      return placeOf(member, lane.head().position);
  }
  return {};
}

/// The party that `place` waits for; without a rank if unknown.
Execution::Place Execution::waitsFor(const Place &place) const {
  if (place.launch == notYet)
    return waitOfHost(place.rank);
  if (mayBeginNs(place.launch) == notYet)
    return placeOf(place.rank, launches.before[place.launch]);
  return actions[place.launch].traits().subject == Subject::Edge
             ? waitOfMessage(place)
             : waitOfCollective(place);
}

/// The host of the first rank that is blocked, or else a launch that has not
/// ended.
Execution::Place Execution::stuckPlace() const {
  const auto numRanks = static_cast<int32_t>(ranks.size());
  for (int32_t r = 0; r < numRanks; ++r)
    if (ranks[r].position < ranks[r].end)
      return {r, notYet, Action()};
  for (int32_t r = 0; r < numRanks; ++r)
    for (const int64_t position : launches.issued[r])
      if (result.endNs[position] == notYet)
        return placeOf(r, position);
  return {};
}

std::vector<Wait> Execution::findCycleOfLaunches() const {
  std::vector<Place> walk;
  std::map<std::pair<int32_t, int64_t>, size_t> known;
  size_t first = 0;
  for (Place place = stuckPlace(); place.rank >= 0; place = waitsFor(place)) {
    const auto [at, isNew] =
        known.insert({{place.rank, place.launch}, walk.size()});
    if (!isNew) {
      first = at->second;
      break;
    }
    walk.push_back(place);
  }
  std::vector<Wait> cycle;
  for (size_t p = first; p < walk.size(); ++p) {
    const Place &place = walk[p];
    const Place next = waitsFor(place);
    if (next.rank < 0)
      break;
    Wait wait;
    wait.rank = place.rank;
    wait.at = actions[place.launch == notYet ? ranks[place.rank].position
                                             : place.launch];
    wait.onRank = next.rank;
    wait.needs = next.needed;
    wait.isBehind =
        place.launch != notYet && mayBeginNs(place.launch) == notYet;
    wait.behind = wait.isBehind ? wait.needs : Action();
    cycle.push_back(wait);
  }
  return cycle;
}
