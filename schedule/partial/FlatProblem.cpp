//===- FlatProblem.cpp - A problem flattened for bounds and search --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/partial/FlatProblem.h"

#include <algorithm>

using namespace rondo;

bool rondo::isSingleEnded(const Problem &problem) {
  // F edges lead to later stages, so from each stage a path leads to one that
  // feeds no other. The same holds for I in the opposite direction.
  const int32_t stages = problem.numReplicas();
  std::vector<bool> feeds(stages), isFed(stages);
  for (const Edge &edge : problem.edges)
    if (edge.producer == ActionKind::Forward)
      feeds[edge.from] = true;
    else if (edge.producer == ActionKind::InputGrad)
      isFed[edge.to] = true;
  int32_t ends = 0;
  for (int32_t s = 0; s < stages; ++s) {
    if (feeds[s] != isFed[s])
      return false;
    ends += !feeds[s];
  }
  return ends == 1;
}

/// Whether F gives nothing back and W takes nothing.
static bool hasMemoryInOrder(const Problem &problem) {
  for (int32_t s = 0; s < problem.numReplicas(); ++s)
    if (problem.cost(s, ActionKind::WeightGrad).acquireBytes ||
        problem.cost(s, ActionKind::Forward).releaseBytes)
      return false;
  return true;
}

void FlatProblem::setBackward(const Problem &problem, int32_t stage,
                              BackwardCosts costs) {
  const Cost &i = problem.cost(stage, ActionKind::InputGrad);
  const Cost &w = problem.cost(stage, ActionKind::WeightGrad);
  const Cost &b = problem.cost(stage, ActionKind::Backward);
  int64_t inputGrad = i.ns, weightGrad = w.ns;
  // Bytes that the task frees, minus the bytes that it takes itself.
  int64_t inputFrees = i.releaseBytes - i.acquireBytes,
          weightFrees = w.releaseBytes;
  int64_t fusedFrees = b.releaseBytes - b.acquireBytes;
  takesLater |= i.acquireBytes > 0 || b.acquireBytes > 0;
  if (costs == BackwardCosts::Least) {
    inputGrad = std::min(i.ns, b.ns);
    weightGrad = std::max<int64_t>(0, std::min(i.ns + w.ns, b.ns) - inputGrad);
    const int64_t all = std::max(inputFrees + weightFrees, fusedFrees);
    inputFrees = std::max<int64_t>(0, inputFrees);
    weightFrees = all - inputFrees;
  } else {
    const Cost &first = costs == BackwardCosts::Fused ? b : i;
    if (costs == BackwardCosts::Fused) {
      inputGrad = b.ns;
      weightGrad = 0;
      inputFrees = fusedFrees;
      weightFrees = 0;
    }
    // If more is held after I than before, F takes the difference. While I
    // runs, the rest of the bytes that it takes is added to the counted bytes.
    const int64_t more = std::max<int64_t>(0, -inputFrees);
    takes.back() += more;
    inputFrees += more;
    int64_t &beside = besideBackward[rankOf[stage]];
    beside = std::max(beside, first.acquireBytes - more);
  }
  ns[Task::I].push_back(inputGrad);
  ns[Task::W].push_back(weightGrad);
  inputGradFrees.push_back(inputFrees);
  weightGradFrees.push_back(weightFrees);
}

void FlatProblem::addRecomputation(const Problem &problem,
                                   BackwardCosts costs) {
  for (int32_t s = 0; s < stages; ++s) {
    if (!problem.recomputes(s))
      continue;
    hasRecomputation = recomputes[s] = true;
    const Cost &again = problem.cost(s, ActionKind::Recompute);
    const int64_t kept = takes[s],
                  after = kept + again.acquireBytes - again.releaseBytes;
    if (costs == BackwardCosts::Least) {
      // The fewest bytes held at any time until I ends, and the part of them
      // that is held until W ends.
      takes[s] = std::min(kept, after);
      weightGradFrees[s] = std::min(
          takes[s], problem.cost(s, ActionKind::WeightGrad).releaseBytes);
      inputGradFrees[s] = takes[s] - weightGradFrees[s];
      continue;
    }
    ns[Task::I][s] += again.ns;
    if (costs == BackwardCosts::Split) {
      takes[s] += again.acquireBytes;
      inputGradFrees[s] += again.releaseBytes;
      continue;
    }
    // R directly precedes B, so its bytes are subtracted from the rank's cap.
    inputGradFrees[s] = kept;
    int64_t &beside = besideBackward[rankOf[s]];
    beside = std::max({beside, again.acquireBytes,
                       again.acquireBytes - again.releaseBytes +
                           problem.cost(s, ActionKind::Backward).acquireBytes});
  }
}

void FlatProblem::setMessages(const Problem &problem) {
  linkTable = LinkTable(problem);
  links = linkTable.count();
  nics = problem.nics.count();
  for (const Edge &edge : problem.edges) {
    Message message;
    message.from = edge.from;
    message.to = edge.to;
    message.task = taskOf(edge.producer);
    message.link = linkTable.ofEdge(messages.size());
    if (message.link >= 0) {
      const Link &link = linkTable[message.link].link;
      message.occupancyNs = link.occupancyNs(edge.bytes);
      message.latencyNs = link.latencyNs;
      hasSerialLinks |= message.occupancyNs > 0;
    }
    messages.push_back(message);
  }
}

void FlatProblem::listEdges() {
  auto fill = [&](Lists &lists, int32_t Message::*stage) {
    auto code = [&](const Message &message) {
      return codeOf(message.task, message.*stage);
    };
    lists.begin.assign(numCodes(stages) + 1, 0);
    for (const Message &message : messages)
      ++lists.begin[code(message) + 1];
    for (size_t i = 1; i < lists.begin.size(); ++i)
      lists.begin[i] += lists.begin[i - 1];
    lists.edges.resize(messages.size());
    std::vector<int32_t> next = lists.begin;
    for (size_t e = 0; e < messages.size(); ++e)
      lists.edges[next[code(messages[e])]++] = int32_t(e);
  };
  fill(in, &Message::to);
  fill(out, &Message::from);
}

void FlatProblem::orderLinks() {
  edgesOf.assign(links, {});
  std::vector<int32_t> bursts(links);
  for (Task task : {Task::F, Task::I})
    for (int32_t i = 0; i < stages; ++i)
      for (int32_t e : outputs(task, task == Task::F ? i : stages - 1 - i)) {
        Message &message = messages[e];
        if (message.link < 0)
          continue;
        std::vector<int32_t> &edges = edgesOf[message.link];
        if (!edges.empty() && messages[edges.back()].task == task &&
            messages[edges.back()].from == message.from) {
          message.previousInBurst = edges.back();
          messages[edges.back()].nextInBurst = e;
        } else {
          ++bursts[message.link];
        }
        edges.push_back(e);
      }
  for (int32_t link = 0; link < links; ++link) {
    bool isSerial = false;
    for (int32_t e : edgesOf[link])
      isSerial |= messages[e].occupancyNs > 0;
    if (!isSerial || bursts[link] == 1)
      continue;
    hasContendedLinks = true;
    hasLongBursts |= size_t(bursts[link]) < edgesOf[link].size();
    for (int32_t e : edgesOf[link])
      messages[e].isContended = true;
  }
}

/// Computes `reached`: which tasks of a micro-batch can be reached from each.
void FlatProblem::relate() {
  reached.clear();
  if (isChain || stages > maxRelated)
    return;
  const size_t codes = numCodes(stages);
  reached.assign(codes * codes, false);
  std::vector<Code> waiting;
  for (Code first = 0; first < codes; ++first) {
    if (taskOf(first) == Task::W)
      continue;
    waiting.assign(1, first);
    auto reach = [&](Code code) {
      if (reached[first * codes + code])
        return;
      reached[first * codes + code] = true;
      waiting.push_back(code);
    };
    while (!waiting.empty()) {
      const Task task = taskOf(waiting.back());
      const int32_t s = stageOf(waiting.back());
      waiting.pop_back();
      for (int32_t e : outputs(task, s))
        reach(codeOf(task, messages[e].to));
      if (task == Task::F)
        reach(codeOf(Task::I, s));
    }
  }
}

bool FlatProblem::goesBefore(int32_t edge, int32_t other) const {
  const Message &first = messages[edge], &second = messages[other];
  return isChain ||
         (first.task == second.task &&
          (first.from == second.from || first.to == second.from)) ||
         leadsTo(first.task, first.to, second.task, second.from);
}

/// Computes `endOffset`. A rank's first start is the same in all schedules if
/// no task on the way to its first stage can wait, neither for another stage of
/// its rank nor, where branches join, for a branch that runs another
/// micro-batch first.
void FlatProblem::setOffsets() {
  // [stage]: earliest start of F.
  std::vector<int64_t> start(stages, 0);
  std::vector<bool> seen(ranks, false);
  bool allFirst = true;
  offsetsAreExact = nics == 0;
  for (int32_t s = 0; s < stages; ++s) {
    for (int32_t e : inputs(Task::F, s)) {
      const Message &message = messages[e];
      int64_t arrival = start[message.from] + ns[Task::F][message.from] +
                        message.transferNs();
      for (int32_t p = message.previousInBurst; p >= 0;
           p = messages[p].previousInBurst)
        arrival += messages[p].occupancyNs;
      start[s] = std::max(start[s], arrival);
    }
    const EdgeRange own = inputs(Task::F, s);
    allFirst &= microbatches == 1 || own.end() - own.begin() <= 1;
    const int32_t rank = rankOf[s];
    if (!seen[rank]) {
      endOffset[rank] = -start[s];
      offsetsAreExact &= allFirst;
    } else {
      allFirst = false;
      offsetsAreExact &= isChain;
      endOffset[rank] = std::max(endOffset[rank], -start[s]);
    }
    seen[rank] = true;
  }
}

bool FlatProblem::fitsOneMicrobatch() const {
  std::vector<int64_t> needed(ranks);
  for (int32_t s = 0; s < stages; ++s) {
    int64_t &bytes = needed[rankOf[s]];
    bytes = isSingleEnded ? bytes + takes[s] : std::max(bytes, takes[s]);
  }
  for (int32_t r = 0; r < ranks; ++r)
    if (needed[r] > caps[r])
      return false;
  return true;
}

std::optional<FlatProblem> FlatProblem::of(const Problem &problem,
                                           BackwardCosts costs) {
  // Its counts need micro-batches that are alike.
  if (problem.isUneven() || !hasMemoryInOrder(problem) ||
      problem.replicas.areRoundRobin() || problem.hasRecomputationAcross())
    return std::nullopt;
  FlatProblem flat;
  flat.ranks = problem.numRanks();
  flat.stages = problem.numReplicas();
  flat.microbatches = problem.microbatches;
  flat.isChain = problem.isChain();
  flat.isSingleEnded = rondo::isSingleEnded(problem);
  flat.stagesOf.resize(flat.ranks);
  flat.caps = problem.memoryCaps;
  flat.besideBackward.resize(flat.ranks);
  std::vector<int64_t> all(flat.ranks);
  for (int32_t s = 0; s < flat.stages; ++s) {
    const Cost &forward = problem.cost(s, ActionKind::Forward);
    flat.rankOf.push_back(problem.rankOf(s));
    flat.stagesOf[flat.rankOf[s]].push_back(s);
    flat.ns[Task::F].push_back(forward.ns);
    flat.takes.push_back(forward.acquireBytes);
    flat.setBackward(problem, s, costs);
  }
  flat.recomputes.resize(flat.stages);
  flat.addRecomputation(problem, costs);
  flat.isStricter = flat.hasRecomputation || flat.takesLater;
  for (int32_t r = 0; r < flat.ranks; ++r)
    if (flat.caps[r] != noMemoryCap)
      flat.caps[r] =
          std::max<int64_t>(0, flat.caps[r] - flat.besideBackward[r]);
  if (flat.isStricter && !flat.fitsOneMicrobatch())
    return std::nullopt;
  for (int32_t s = 0; s < flat.stages; ++s)
    all[flat.rankOf[s]] += flat.takes[s] * flat.microbatches;
  for (int32_t r = 0; r < flat.ranks; ++r)
    flat.hasTightMemory |= all[r] > flat.caps[r];
  flat.setMessages(problem);
  flat.listEdges();
  flat.orderLinks();
  flat.relate();
  flat.endOffset.assign(flat.ranks, 0);
  if (problem.objective == Objective::Span)
    flat.setOffsets();
  return flat;
}

std::vector<int64_t> FlatProblem::startsInChain() const {
  std::vector<int64_t> starts = {0};
  auto transferNs = [&](Task task, int32_t stage) {
    return messages[*outputs(task, stage).begin()].transferNs();
  };
  for (int32_t s = 0; s + 1 < stages; ++s)
    starts.push_back(starts.back() + ns[Task::F][s] + transferNs(Task::F, s));
  starts.push_back(starts.back() + ns[Task::F][stages - 1]);
  for (int32_t s = stages - 1; s > 0; --s)
    starts.push_back(starts.back() + ns[Task::I][s] + transferNs(Task::I, s));
  return starts;
}

void FlatProblem::reverse() {
  std::swap(ns[Task::F], ns[Task::I]);
  for (Message &message : messages) {
    std::swap(message.from, message.to);
    message.task = mirrored(message.task);
    message.previousInBurst = message.nextInBurst = -1;
    message.isContended = false;
  }
  linkTable.reverse();
  hasContendedLinks = hasLongBursts = false;
  listEdges();
  orderLinks();
  relate();
}
