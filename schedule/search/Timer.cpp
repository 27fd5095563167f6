//===- Timer.cpp - Runs orders as early as possible -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/Orders.h"

#include <algorithm>

using namespace rondo;

Timer::Timer(const Chain &chain) : chain(chain) {
  const size_t size = size_t(chain.stages) * chain.microbatches;
  for (auto &column : arrival)
    column.resize(size);
  for (auto &column : positionOf)
    column.resize(size);
  start.resize(chain.ranks);
  index.resize(chain.ranks);
  for (int32_t rank = 0; rank < chain.ranks; ++rank) {
    size_t tasks = chain.stagesOf[rank].size() * 3 * chain.microbatches;
    start[rank].resize(tasks);
    index[rank].resize(tasks);
  }
  work.resize(chain.ranks);
  for (int32_t s = 0; s < chain.stages; ++s)
    work[chain.rankOf[s]] +=
        (chain.ns[0][s] + chain.ns[1][s] + chain.ns[2][s]) * chain.microbatches;
  linkFree.resize(chain.links);
  carried.resize(chain.links);
  messagesOf.resize(chain.links);
  messageStart.resize(chain.links);
  messageIndex.resize(chain.links);
  carriedOf.resize(size_t(3) * chain.stages);
  if (chain.hasContendedLinks)
    for (auto &column : messageAt)
      column.resize(size);
  clock.resize(chain.ranks);
  held.resize(chain.ranks);
  position.resize(chain.ranks);
  done.resize(size_t(3) * chain.stages);
}

/// Gives the link to a message, and wakes its receiver.
void Timer::carry(int letter, int32_t stage, int32_t k, int64_t end) {
  const Chain::Message &message = chain.messages[letter][stage];
  int64_t sent = end;
  if (message.link >= 0) {
    sent = std::max(end, linkFree[message.link]) + message.occupancyNs;
    linkFree[message.link] = sent;
    if (message.isContended) {
      messageAt[letter][chain.at(stage, k)] =
          int32_t(messagesOf[message.link].size());
      messagesOf[message.link].push_back(codeOf(letter, stage));
      messageStart[message.link].push_back(sent - message.occupancyNs);
      messageIndex[message.link].push_back(k);
    }
  }
  const int32_t to = letter == 0 ? stage + 1 : stage - 1;
  arrival[letter][chain.at(to, k)] = sent + message.latencyNs;
  const int32_t receiver = chain.rankOf[to];
  if (receiver != chain.rankOf[stage] &&
      position[receiver] < int64_t((*running)[receiver].size()) &&
      (*running)[receiver][position[receiver]] == codeOf(letter, to) &&
      done[codeOf(letter, to)] == k)
    ready.push_back(receiver);
}

void Timer::send(int letter, int32_t stage, int32_t k, int64_t end) {
  const int32_t link = chain.messages[letter][stage].link;
  const size_t string = size_t(chain.ranks) + size_t(std::max(link, 0));
  if (link < 0 || string >= running->size() || (*running)[string].empty()) {
    carry(letter, stage, k, end);
    return;
  }
  auto arrivalOf = [&](Code code, int32_t index) -> int64_t & {
    const int32_t from = stageOf(code);
    return arrival[kindOf(code)]
                  [chain.at(kindOf(code) == 0 ? from + 1 : from - 1, index)];
  };
  arrivalOf(codeOf(letter, stage), k) = -2 - end;
  const std::vector<Code> &order = (*running)[string];
  for (int64_t &next = carried[link]; next < int64_t(order.size()); ++next) {
    const Code code = order[next];
    int32_t &index = carriedOf[code];
    const int64_t held = arrivalOf(code, index);
    if (held == -1)
      return;
    carry(kindOf(code), stageOf(code), index++, -2 - held);
  }
}

int64_t Timer::run(const Orders &orders, int64_t ceiling) {
  running = &orders;
  std::fill(carried.begin(), carried.end(), 0);
  std::fill(carriedOf.begin(), carriedOf.end(), 0);
  for (int32_t link = 0; link < chain.links; ++link) {
    messagesOf[link].clear();
    messageStart[link].clear();
    messageIndex[link].clear();
  }
  left = work;
  for (auto &column : arrival)
    std::fill(column.begin(), column.end(), -1);
  std::fill(linkFree.begin(), linkFree.end(), 0);
  std::fill(clock.begin(), clock.end(), 0);
  std::fill(held.begin(), held.end(), 0);
  std::fill(position.begin(), position.end(), 0);
  std::fill(done.begin(), done.end(), 0);
  ready.clear();
  for (int32_t rank = chain.ranks; rank-- > 0;)
    ready.push_back(rank);
  const int32_t lastStage = chain.stages - 1;
  int64_t ran = 0;
  while (!ready.empty()) {
    const int32_t rank = ready.back();
    ready.pop_back();
    const std::vector<Code> &order = orders[rank];
    for (int64_t &at = position[rank]; at < int64_t(order.size()); ++at) {
      const Code code = order[at];
      const int letter = kindOf(code);
      const int32_t stage = stageOf(code), k = done[code];
      int64_t begin = clock[rank];
      if (letter == 2 ? k >= done[code - 1]
                      : letter == 1 && k >= done[code - 1])
        break;
      if (letter != 2 && stage != (letter == 0 ? 0 : lastStage)) {
        const int64_t arrived = arrival[letter][chain.at(stage, k)];
        if (arrived < 0)
          break;
        begin = std::max(begin, arrived);
      }
      if (letter == 0) {
        held[rank] += chain.takes[stage];
        if (held[rank] > chain.caps[rank])
          return never;
      } else {
        held[rank] -= letter == 1 ? chain.inputGradFrees[stage]
                                  : chain.weightGradFrees[stage];
      }
      const int64_t end = begin + chain.ns[letter][stage];
      left[rank] -= chain.ns[letter][stage];
      if (end + left[rank] + chain.endOffset[rank] > ceiling)
        return never;
      start[rank][at] = begin;
      index[rank][at] = k;
      positionOf[letter][chain.at(stage, k)] = int32_t(at);
      clock[rank] = end;
      ++done[code];
      ++ran;
      if (letter == 2 || stage == (letter == 0 ? lastStage : 0))
        continue;
      send(letter, stage, k, end);
    }
  }
  if (ran != chain.tasks())
    return never;
  int64_t objective = -never;
  for (int32_t rank = 0; rank < chain.ranks; ++rank)
    if (!orders[rank].empty() &&
        clock[rank] + chain.endOffset[rank] > objective) {
      objective = clock[rank] + chain.endOffset[rank];
      last = rank;
    }
  return objective;
}

Timer::Place Timer::cause(const Orders &orders, Place place) const {
  if (place.rank >= chain.ranks) {
    const int32_t link = place.rank - chain.ranks;
    const Code code = messagesOf[link][place.position];
    const int32_t stage = stageOf(code);
    if (place.position > 0) {
      const Code before = messagesOf[link][place.position - 1];
      if (messageStart[link][place.position - 1] +
              chain.messages[kindOf(before)][stageOf(before)].occupancyNs ==
          messageStart[link][place.position])
        return {place.rank, place.position - 1};
    }
    return {chain.rankOf[stage],
            positionOf[kindOf(code)]
                      [chain.at(stage, messageIndex[link][place.position])]};
  }
  const Code code = orders[place.rank][place.position];
  const int letter = kindOf(code);
  const int32_t stage = stageOf(code), k = index[place.rank][place.position];
  const int64_t begin = start[place.rank][place.position];
  if (place.position > 0) {
    const Code before = orders[place.rank][place.position - 1];
    if (start[place.rank][place.position - 1] +
            chain.ns[kindOf(before)][stageOf(before)] ==
        begin)
      return {place.rank, place.position - 1};
  }
  const int32_t from = letter == 0 ? stage - 1 : stage + 1;
  if (letter == 2 || from < 0 || from == chain.stages)
    return {};
  const Chain::Message &message = chain.messages[letter][from];
  if (message.isContended)
    return {chain.ranks + message.link, messageAt[letter][chain.at(from, k)]};
  return {chain.rankOf[from], positionOf[letter][chain.at(from, k)]};
}
