//===- Timer.cpp - Runs orders as early as possible -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/Timer.h"

#include <algorithm>

using namespace rondo;

Timer::Timer(const FlatProblem &flat) : flat(flat), network(flat.linkTable) {
  arrival.resize(flat.messages.size() * flat.microbatches);
  start.resize(flat.ranks);
  for (int32_t rank = 0; rank < flat.ranks; ++rank)
    start[rank].resize(numCodes(int32_t(flat.stagesOf[rank].size())) *
                       flat.microbatches);
  work.resize(flat.ranks);
  for (int32_t s = 0; s < flat.stages; ++s)
    work[flat.rankOf[s]] += flat.workOf(s) * flat.microbatches;
  carried.resize(flat.links);
  carriedOf.resize(flat.messages.size());
  clock.resize(flat.ranks);
  held.resize(flat.ranks);
  position.resize(flat.ranks);
  done.resize(numCodes(flat.stages));
}

/// Sends a message over its link, or requests the NICs that it crosses.
void Timer::carry(int32_t edge, int32_t k, int64_t end) {
  const int32_t link = flat.messages[edge].link;
  if (link >= 0 && network.crossesNics(link))
    network.ask(link, end, flat.messageAt(edge, k));
  else
    transfer(edge, k, end);
}

/// Sends the first message that has requested NICs; false if there is none.
bool Timer::carryNext() {
  if (!network.hasRequests())
    return false;
  const Network::Request request = network.next();
  transfer(int32_t(request.what / flat.microbatches),
           int32_t(request.what % flat.microbatches), request.readyNs);
  return true;
}

/// Sends a message as soon as its link is free; wakes its receiver.
void Timer::transfer(int32_t edge, int32_t k, int64_t readyNs) {
  const FlatProblem::Message &message = flat.messages[edge];
  int64_t sent = readyNs;
  if (message.link >= 0)
    sent = network.carry(message.link, readyNs, message.occupancyNs);
  arrival[flat.messageAt(edge, k)] = sent + message.latencyNs;
  const int32_t receiver = flat.rankOf[message.to];
  if (receiver != flat.rankOf[message.from] &&
      position[receiver] < int64_t(running->ranks[receiver].size()) &&
      running->ranks[receiver][position[receiver]] ==
          codeOf(message.task, message.to) &&
      done[codeOf(message.task, message.to)] == k)
    ready.push_back(receiver);
}

void Timer::carryBurst(int32_t edge, int32_t k, int64_t end) {
  for (; edge >= 0; edge = flat.messages[edge].nextInBurst)
    carry(edge, k, end);
}

/// The first edge of the burst that a task sends over a link; -1: none.
int32_t Timer::burstOf(int32_t link, Code producer) const {
  for (int32_t e : flat.outputs(taskOf(producer), stageOf(producer)))
    if (flat.messages[e].link == link)
      return e;
  return -1;
}

/// Sends a burst, or holds it until its turn on the link. `edge` must begin a
/// burst.
void Timer::send(int32_t edge, int32_t k, int64_t end) {
  const int32_t link = flat.messages[edge].link;
  if (link < 0 || running->links.empty() || running->links[link].empty()) {
    carryBurst(edge, k, end);
    return;
  }
  arrival[flat.messageAt(edge, k)] = -2 - end;
  const Sequence &order = running->links[link];
  for (int64_t &next = carried[link]; next < int64_t(order.size()); ++next) {
    const int32_t first = burstOf(link, order[next]);
    int32_t &index = carriedOf[first];
    const int64_t held = arrival[flat.messageAt(first, index)];
    if (held == -1)
      return;
    carryBurst(first, index++, -2 - held);
  }
}

/// Arrival of the last message for a task in ns; negative if one has not been
/// sent.
int64_t Timer::readyFor(Task task, int32_t stage, int32_t k) const {
  int64_t last = 0;
  for (int32_t e : flat.inputs(task, stage)) {
    const int64_t arrived = arrival[flat.messageAt(e, k)];
    if (arrived < 0)
      return arrived;
    last = std::max(last, arrived);
  }
  return last;
}

void Timer::reset() {
  std::fill(carried.begin(), carried.end(), 0);
  std::fill(carriedOf.begin(), carriedOf.end(), 0);
  left = work;
  std::fill(arrival.begin(), arrival.end(), -1);
  std::fill(clock.begin(), clock.end(), 0);
  std::fill(held.begin(), held.end(), 0);
  std::fill(position.begin(), position.end(), 0);
  std::fill(done.begin(), done.end(), 0);
  network.reset();
  ready.clear();
  for (int32_t rank = flat.ranks; rank-- > 0;)
    ready.push_back(rank);
}

int64_t Timer::run(const Orders &orders, int64_t ceiling) {
  running = &orders;
  reset();
  int64_t ran = 0;
  while (!ready.empty() || carryNext()) {
    if (ready.empty())
      continue;
    const int32_t rank = ready.back();
    ready.pop_back();
    const Sequence &order = orders.ranks[rank];
    for (int64_t &at = position[rank]; at < int64_t(order.size()); ++at) {
      const Code code = order[at];
      const Task task = taskOf(code);
      const int32_t stage = stageOf(code), k = done[code];
      int64_t begin = clock[rank];
      if (task != Task::F && k >= done[codeOf(taskBefore(task), stage)])
        break;
      if (task != Task::W) {
        const int64_t arrived = readyFor(task, stage, k);
        if (arrived < 0)
          break;
        begin = std::max(begin, arrived);
      }
      if (task == Task::F) {
        held[rank] += flat.takes[stage];
        if (held[rank] > flat.caps[rank])
          return never;
      } else {
        held[rank] -= flat.freedBy(task, stage);
      }
      const int64_t end = begin + flat.ns[task][stage];
      left[rank] -= flat.ns[task][stage];
      if (end + left[rank] + flat.endOffset[rank] > ceiling)
        return never;
      start[rank][at] = begin;
      clock[rank] = end;
      ++done[code];
      ++ran;
      if (task == Task::W)
        continue;
      for (int32_t e : flat.outputs(task, stage))
        if (flat.messages[e].beginsBurst())
          send(e, k, end);
    }
  }
  if (ran != flat.tasks())
    return never;
  int64_t objective = -never;
  for (int32_t rank = 0; rank < flat.ranks; ++rank)
    if (!orders.ranks[rank].empty())
      objective = std::max(objective, clock[rank] + flat.endOffset[rank]);
  return objective;
}
