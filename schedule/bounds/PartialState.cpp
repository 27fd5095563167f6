//===- PartialState.cpp - A prefix of every rank's order ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/Propagation.h"

#include <algorithm>

using namespace rondo;

PartialState::PartialState(const Chain &chain, bool holdsMessages)
    : ranks(chain.ranks), stages(chain.stages),
      microbatches(chain.microbatches), holdsMessages(holdsMessages) {
  linkBegin = 2 * int64_t(ranks);
  doneBegin = linkBegin + chain.links;
  sentBegin = doneBegin + 3 * int64_t(stages);
  bannedBegin = sentBegin + 2 * int64_t(stages);
  arrivalBegin = bannedBegin + stages;
  data.assign(size_t(arrivalBegin + 2 * int64_t(stages) * microbatches), 0);
}

int64_t PartialState::earliest(const Chain &chain, int letter,
                               int32_t stage) const {
  const int64_t k = done(letter, stage);
  if (k == microbatches)
    return never;
  const int64_t free = clock(chain.rankOf[stage]);
  if (letter == 2)
    return k < done(1, stage) ? free : never;
  const int32_t from = letter == 0 ? stage - 1 : stage + 1;
  if (letter == 1 && k >= done(0, stage))
    return never;
  if (from < 0 || from == stages)
    return free;
  return k < sent(letter, from) ? std::max(free, arrival(letter, stage, k))
                                : never;
}

/// After F of `stage`, for every stage s of the rank with micro-batch k next:
/// once all before k are finished, only the stages before s hold anything (from
/// k on), and F of (s, k) must fit beside that. This is all that finishing the
/// micro-batches one by one needs, so no rank can reach a state from which the
/// caps allow no way on.
bool PartialState::fits(const Chain &chain, int32_t stage, int letter) const {
  const int32_t rank = chain.rankOf[stage];
  const int64_t cap = chain.caps[rank];
  if (held(rank) > cap - chain.takes[stage])
    return false;
  const auto &all = chain.stagesOf[rank];
  if (all.size() == 1)
    return true;
  for (int32_t s : all) {
    const int64_t k = done(letter, s) + (s == stage);
    if (s <= stage || k == microbatches)
      continue;
    int64_t bytes = chain.takes[s];
    for (int32_t before : all) {
      if (before >= s)
        break;
      int64_t count = done(letter, before) + (before == stage);
      bytes += (std::max(count, k + 1) - k) * chain.takes[before];
    }
    if (bytes > cap)
      return false;
  }
  return true;
}

int64_t PartialState::run(const Chain &chain, int letter, int32_t stage,
                          int64_t start) {
  const int32_t rank = chain.rankOf[stage];
  const int64_t k = done(letter, stage)++;
  const int64_t end = start + chain.ns[letter][stage];
  clock(rank) = end;
  if (letter == 0) {
    held(rank) += chain.takes[stage];
    for (int32_t other : chain.stagesOf[rank])
      banned(other) = 0;
  } else {
    held(rank) -= letter == 1 ? chain.inputGradFrees[stage]
                              : chain.weightGradFrees[stage];
  }
  if (letter == 2)
    return end;
  arrival(letter, stage, k) = 0;
  const int32_t to = letter == 0 ? stage + 1 : stage - 1;
  if (to < 0 || to == stages)
    return end;
  arrival(letter, to, k) = end;
  if (!holdsMessages || !chain.messages[letter][stage].isContended)
    send(chain, letter, stage);
  return end;
}

int64_t PartialState::earliestSend(const Chain &chain, int letter,
                                   int32_t stage) const {
  const int64_t k = sent(letter, stage);
  if (k >= done(letter, stage))
    return never;
  return std::max(arrival(letter, letter == 0 ? stage + 1 : stage - 1, k),
                  linkFree(chain.messages[letter][stage].link));
}

void PartialState::send(const Chain &chain, int letter, int32_t stage) {
  const Chain::Message &message = chain.messages[letter][stage];
  int64_t &time = arrival(letter, letter == 0 ? stage + 1 : stage - 1,
                          sent(letter, stage)++);
  if (message.link >= 0) {
    time = std::max(time, linkFree(message.link)) + message.occupancyNs;
    linkFree(message.link) = time;
  }
  time += message.latencyNs;
}

uint64_t PartialState::key() const {
  uint64_t hash = 1469598103934665603u;
  for (int64_t i = doneBegin; i < bannedBegin; ++i)
    hash = (hash ^ uint64_t(data[i])) * 1099511628211u;
  return hash;
}

bool PartialState::dominates(const PartialState &other) const {
  for (int64_t i = doneBegin; i < bannedBegin; ++i)
    if (data[i] != other.data[i])
      return false;
  for (int64_t i = bannedBegin; i < arrivalBegin; ++i)
    if (data[i] > other.data[i])
      return false;
  for (int32_t r = 0; r < ranks; ++r)
    if (clock(r) > other.clock(r))
      return false;
  for (int64_t i = linkBegin; i < doneBegin; ++i)
    if (data[i] > other.data[i])
      return false;
  for (int letter : {0, 1})
    for (int32_t s = 0; s < stages; ++s) {
      const int32_t from = letter == 0 ? s - 1 : s + 1;
      if (from < 0 || from == stages)
        continue;
      for (int64_t k = done(letter, s); k < done(letter, from); ++k)
        if (arrival(letter, s, k) > other.arrival(letter, s, k))
          return false;
    }
  return true;
}
