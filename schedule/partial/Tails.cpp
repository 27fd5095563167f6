//===- Tails.cpp - Least time from each task to the end -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/partial/Tails.h"

#include <algorithm>

using namespace rondo;

namespace {

/// Fills a Tails from the last micro-batch back.
class TailsBuilder {
public:
  TailsBuilder(Tails &tails, const FlatProblem &flat,
               const std::vector<CapOrder> &capOrders)
      : tails(tails), flat(flat), capOrders(capOrders), place(flat.stages) {
    for (const auto &stages : flat.stagesOf)
      for (size_t i = 0; i < stages.size(); ++i)
        place[stages[i]] = int32_t(i);
  }

  void run() {
    for (int32_t k = flat.microbatches; k-- > 0;) {
      for (int32_t s = 0; s < flat.stages; ++s)
        setBackward(s, k);
      for (int32_t s = flat.stages; s-- > 0;)
        setForward(s, k);
    }
  }

private:
  int64_t &of(Task task, int32_t s, int32_t k) {
    return tails.ns[task][flat.at(s, k)];
  }
  int64_t &ofMessage(int32_t edge, int32_t k) {
    return tails.message[flat.messageAt(edge, k)];
  }
  int64_t cost(Task task, int32_t s) const { return flat.ns[task][s]; }
  /// Tail through the same task of the next micro-batch.
  int64_t throughNext(Task task, int32_t s, int32_t k) {
    return k == flat.microbatches - 1 ? -never
                                      : cost(task, s) + of(task, s, k + 1);
  }

  void setForward(int32_t s, int32_t k) {
    of(Task::F, s, k) = std::max(
        {throughRank(Task::F, s, k), cost(Task::I, s) + of(Task::I, s, k),
         throughNext(Task::F, s, k), throughMessages(Task::F, s, k)});
  }
  void setBackward(int32_t s, int32_t k) {
    of(Task::W, s, k) =
        std::max(throughRank(Task::W, s, k), throughNext(Task::W, s, k));
    of(Task::I, s, k) = std::max(
        {throughRank(Task::I, s, k), cost(Task::W, s) + of(Task::W, s, k),
         throughNext(Task::I, s, k), throughMessages(Task::I, s, k)});
  }

  int64_t throughMessage(int32_t edge, int32_t k);
  int64_t behindOnLink(int32_t edge, int32_t k);
  /// Goes from the last message of a burst to the first, since the tail of a
  /// message depends on the next one.
  int64_t throughMessages(Task task, int32_t s, int32_t k) {
    int64_t tail = -never;
    const EdgeRange edges = flat.outputs(task, s);
    for (const int32_t *e = edges.end(); e != edges.begin();)
      tail = std::max(tail, throughMessage(*--e, k));
    return tail;
  }
  int64_t throughRank(Task task, int32_t s, int32_t k);
  int64_t backwardWork(Task task, int32_t s, int32_t k, int32_t first) const;

  Tails &tails;
  const FlatProblem &flat;
  const std::vector<CapOrder> &capOrders;
  /// [stage]: its index in the list of its rank's stages.
  std::vector<int32_t> place;
};

} // namespace

/// Tail of the producer's task k through its message over `edge`. After a
/// message, its link still carries later messages of the same edge, and those
/// of edges that must follow it.
int64_t TailsBuilder::throughMessage(int32_t edge, int32_t k) {
  const FlatProblem::Message &hop = flat.messages[edge];
  const int64_t direct =
      hop.latencyNs + cost(hop.task, hop.to) + of(hop.task, hop.to, k);
  if (hop.link < 0 || hop.occupancyNs == 0)
    return hop.transferNs() - hop.latencyNs + direct;
  int64_t &tail = ofMessage(edge, k) = direct;
  if (k + 1 < flat.microbatches)
    tail = std::max(tail, hop.occupancyNs + ofMessage(edge, k + 1));
  if (const int32_t next = hop.nextInBurst;
      next >= 0 && flat.messages[next].occupancyNs > 0)
    tail = std::max(tail, flat.messages[next].occupancyNs + ofMessage(next, k));
  if (hop.isContended)
    tail = std::max(tail, behindOnLink(edge, k));
  return hop.occupancyNs + tail;
}

/// Tail of a message through all messages that its link must carry after it.
int64_t TailsBuilder::behindOnLink(int32_t edge, int32_t k) {
  const FlatProblem::Message &hop = flat.messages[edge];
  const int32_t last = flat.microbatches;
  const auto &edges = flat.edgesOf[hop.link];
  int64_t behind = (last - 1 - k) * hop.occupancyNs;
  int64_t least = ofMessage(edge, last - 1);
  for (size_t i = edges.size(); i-- > 0 && edges[i] != edge;) {
    if (!flat.goesBefore(edge, edges[i]))
      continue;
    const int64_t ns = flat.messages[edges[i]].occupancyNs;
    behind += (last - k) * ns;
    if (ns > 0)
      least = std::min(least, ofMessage(edges[i], last - 1));
  }
  return behind + least;
}

/// Tail of a task through its own rank. It is the larger of the work that the
/// rank must run after the task, because of edges or the cap, and of the
/// longest path from an F that the cap puts after the task.
int64_t TailsBuilder::throughRank(Task task, int32_t s, int32_t k) {
  const int32_t rank = flat.rankOf[s], last = flat.microbatches;
  const auto &stages = flat.stagesOf[rank];
  int64_t work = 0, tail = -never;
  int32_t first = last;
  for (int32_t i = 0; i < int32_t(stages.size()); ++i) {
    const int32_t k2 = capOrders.empty()
                           ? last
                           : capOrders[rank].firstBehind(task, place[s], k, i);
    if (k2 < last)
      tail =
          std::max(tail, cost(Task::F, stages[i]) + of(Task::F, stages[i], k2));
    first = std::min(first, k2);
    int32_t forward = first;
    if (task == Task::F && i == place[s])
      forward = k + 1;
    else if (task == Task::F && flat.leadsTo(Task::F, s, Task::F, stages[i]))
      forward = k;
    work += (last - std::min(first, forward)) * cost(Task::F, stages[i]);
  }
  return std::max(tail, work + backwardWork(task, s, k, first) +
                            flat.endOffset[rank]);
}

/// Work in ns of I and W on the task's rank that must run after the task
/// because of edges, or after F of micro-batch `first`.
int64_t TailsBuilder::backwardWork(Task task, int32_t s, int32_t k,
                                   int32_t first) const {
  int64_t work = 0;
  for (int32_t other : flat.stagesOf[flat.rankOf[s]]) {
    int32_t inputGrad = first, weightGrad = first;
    if (task == Task::F
            ? flat.leadsTo(Task::F, s, Task::I, other)
            : task == Task::I && flat.leadsTo(Task::I, s, Task::I, other)) {
      inputGrad = weightGrad = k;
    } else if (other == s && task == Task::I) {
      inputGrad = k + 1;
      weightGrad = k;
    } else if (other == s) {
      weightGrad = k + 1;
    }
    work += (flat.microbatches - std::min(first, inputGrad)) *
                cost(Task::I, other) +
            (flat.microbatches - std::min(first, weightGrad)) *
                cost(Task::W, other);
  }
  return work;
}

Tails::Tails(const FlatProblem &flat, const std::vector<CapOrder> &capOrders) {
  for (auto &column : ns)
    column.assign(size_t(flat.stages) * flat.microbatches, 0);
  message.assign(flat.messages.size() * flat.microbatches, 0);
  TailsBuilder(*this, flat, capOrders).run();
}
