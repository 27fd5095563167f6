//===- RankPath.cpp - A micro-batch's way through a rank ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/RankPath.h"
#include "schedule/bounds/HeldBytes.h"

#include <algorithm>
#include <numeric>

using namespace rondo;

int64_t RankPath::work() const {
  int64_t sum = 0;
  for (const auto &list : {operations, leaves})
    for (const Operation &operation : list)
      sum += operation.ns;
  return sum;
}

double RankPath::area() const {
  double sum = 0;
  for (const auto &list : {operations, leaves})
    for (const Operation &operation : list)
      sum += double(operation.frees) * double(operation.head + operation.ns) -
             double(operation.takes) * double(operation.head);
  return sum;
}

int64_t RankPath::slack(int64_t objective) const {
  const Operation &last = operations.back();
  return objective - last.tail - last.ns - last.head;
}

/// Adds the copies of a rank's stages. A copy that its host has no memory for,
/// or that frees nothing, is left out.
static void addCopies(RankPath &path, const Problem &problem, int32_t rank,
                      const std::vector<int32_t> &stages) {
  const HostMemory &host = problem.hostMemory;
  const auto count = int32_t(stages.size());
  int64_t unit = 0;
  for (int32_t j = 0; j < count; ++j) {
    const int32_t s = stages[j];
    const Cost save = problem.cost(s, ActionKind::Save);
    if (!host.mayCopy(s) || save.releaseBytes == 0 ||
        save.releaseBytes > host.cap(rank))
      continue;
    const int64_t loadNs = problem.cost(s, ActionKind::Load).ns,
                  bytes = save.releaseBytes;
    const bool isLate = *host.loads[s] == LoadBefore::WeightGrad;
    const RankPath::Operation &forward = path.operations[j],
                              &reader =
                                  isLate ? path.leaves[count - 1 - j]
                                         : path.operations[2 * count - 1 - j];
    const int64_t tail = reader.ns + reader.tail;
    path.copies.push_back(
        {j,
         isLate,
         {save.ns, forward.head + forward.ns, loadNs + tail, 0, bytes,
          RankPath::CopyOut, bytes, 0},
         {loadNs, reader.head - loadNs, tail, bytes, 0,
          host.isHalf(rank) ? RankPath::CopyOut : RankPath::CopyIn, 0, bytes}});
    unit = std::gcd(unit, bytes);
  }
  if (path.copies.empty())
    return;
  path.capacities.insert(path.capacities.end(), {1, 1});
  if (host.cap(rank) < infinite)
    path.capacities.push_back(host.cap(rank) / unit * unit);
}

std::vector<RankPath> rondo::rankPathsOf(const FlatProblem &flat,
                                         const Problem *copying) {
  const int32_t stages = flat.stages;
  auto transfer = [&](Task task, int32_t s) {
    return flat.messages[*flat.outputs(task, s).begin()].transferNs();
  };
  // Earliest starts of F along the chain, and the time after each I.
  const std::vector<int64_t> forwardHead = flat.startsInChain();
  const std::vector<int64_t> inputHead(forwardHead.rbegin(),
                                       forwardHead.rend());
  std::vector<int64_t> tail(stages);
  for (int32_t s = 0; s < stages; ++s) {
    tail[s] = flat.ns[Task::W][s] + flat.endOffset[flat.rankOf[s]];
    if (s > 0)
      tail[s] = std::max(tail[s], transfer(Task::I, s) +
                                      flat.ns[Task::I][s - 1] + tail[s - 1]);
  }
  std::vector<RankPath> paths;
  for (int32_t rank = 0; rank < flat.ranks; ++rank) {
    const std::vector<int32_t> &own = flat.stagesOf[rank];
    RankPath path;
    path.capacities = {1, usableCap(flat, rank, copying)};
    path.endOffset = flat.endOffset[rank];
    if (own.empty() || path.cap() == 0)
      continue;
    for (int32_t s : own) {
      const int64_t rest = inputHead[s] + flat.ns[Task::I][s] + tail[s] -
                           forwardHead[s] - flat.ns[Task::F][s];
      path.operations.push_back(
          {flat.ns[Task::F][s], forwardHead[s], rest, flat.takes[s], 0});
    }
    for (size_t i = own.size(); i-- > 0;) {
      const int32_t s = own[i];
      path.operations.push_back({flat.ns[Task::I][s], inputHead[s], tail[s], 0,
                                 flat.inputGradFrees[s]});
      path.leaves.push_back({flat.ns[Task::W][s],
                             inputHead[s] + flat.ns[Task::I][s], path.endOffset,
                             0, flat.weightGradFrees[s]});
    }
    if (copying)
      addCopies(path, *copying, rank, own);
    paths.push_back(std::move(path));
  }
  return paths;
}
