//===- PartialState.cpp - A prefix of every rank's order ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/partial/Propagation.h"

#include <algorithm>

using namespace rondo;

PartialState::PartialState(const FlatProblem &flat, bool holdsMessages)
    : ranks(flat.ranks), stages(flat.stages), microbatches(flat.microbatches),
      holdsMessages(holdsMessages) {
  linkBegin = 2 * int64_t(ranks);
  doneBegin = linkBegin + flat.links;
  sentBegin = doneBegin + int64_t(numCodes(stages));
  bannedBegin = sentBegin + int64_t(flat.messages.size());
  arrivalBegin = bannedBegin + stages;
  data.assign(
      size_t(arrivalBegin + int64_t(flat.messages.size()) * microbatches), 0);
}

int64_t PartialState::earliest(const FlatProblem &flat, Task task,
                               int32_t stage) const {
  if (done(task, stage) == microbatches)
    return never;
  const int64_t time = ready(flat, task, stage);
  return time < never ? std::max(time, clock(flat.rankOf[stage])) : never;
}

PartialState::InFlight PartialState::inFlight(const FlatProblem &flat,
                                              int32_t rank, Task task) const {
  const auto &all = flat.stagesOf[rank];
  if (all.size() == 1 || !flat.isSingleEnded)
    return {};
  InFlight result{microbatches, 0};
  for (int32_t s : all)
    result.oldest = std::min(result.oldest, done(task, s));
  for (int32_t s : all)
    result.bytes +=
        std::max<int64_t>(1, done(task, s) - result.oldest) * flat.takes[s];
  return result;
}

int64_t PartialState::run(const FlatProblem &flat, Task task, int32_t stage,
                          int64_t start) {
  const int32_t rank = flat.rankOf[stage];
  const int64_t k = done(task, stage)++;
  const int64_t end = start + flat.ns[task][stage];
  clock(rank) = end;
  if (task == Task::F) {
    held(rank) += flat.takes[stage];
    for (int32_t other : flat.stagesOf[rank])
      banned(other) = 0;
  } else {
    held(rank) -= flat.freedBy(task, stage);
  }
  if (task == Task::W)
    return end;
  for (int32_t e : flat.inputs(task, stage))
    arrival(e, k) = 0;
  for (int32_t e : flat.outputs(task, stage)) {
    arrival(e, k) = end;
    if (!holdsMessages || !flat.messages[e].isContended)
      sendOne(flat, e);
  }
  return end;
}

int64_t PartialState::earliestSend(const FlatProblem &flat,
                                   int32_t edge) const {
  const FlatProblem::Message &message = flat.messages[edge];
  const int64_t k = sent(edge);
  if (k >= done(message.task, message.from))
    return never;
  return std::max(arrival(edge, k), linkFree(message.link));
}

void PartialState::send(const FlatProblem &flat, int32_t edge) {
  for (; edge >= 0; edge = flat.messages[edge].nextInBurst)
    sendOne(flat, edge);
}

void PartialState::sendOne(const FlatProblem &flat, int32_t edge) {
  const FlatProblem::Message &message = flat.messages[edge];
  int64_t &time = arrival(edge, sent(edge)++);
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

// Compares the values that differ most often first, and the counts, which
// rarely differ, last.
bool PartialState::dominates(const FlatProblem &flat,
                             const PartialState &other) const {
  for (int32_t r = 0; r < ranks; ++r)
    if (clock(r) > other.clock(r))
      return false;
  for (int64_t i = linkBegin; i < doneBegin; ++i)
    if (data[i] > other.data[i])
      return false;
  for (int64_t i = bannedBegin; i < arrivalBegin; ++i)
    if (data[i] > other.data[i])
      return false;
  for (size_t e = 0; e < flat.messages.size(); ++e) {
    const FlatProblem::Message &message = flat.messages[e];
    const int64_t made = done(message.task, message.from);
    for (int64_t k = done(message.task, message.to); k < made; ++k)
      if (arrival(int32_t(e), k) > other.arrival(int32_t(e), k))
        return false;
  }
  return std::equal(data.begin() + doneBegin, data.begin() + bannedBegin,
                    other.data.begin() + doneBegin);
}
