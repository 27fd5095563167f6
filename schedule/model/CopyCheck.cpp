//===- CopyCheck.cpp - Validation of copies of problems -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/model/CopyCheck.h"

#include "schedule/model/Problem.h"

#include <algorithm>

using namespace rondo;

/// A fault of a figure `found` that is beyond its limit `allowed`.
template <FaultKind kind, typename... Parts>
static Fault makeFigureFault(int64_t found, int64_t allowed,
                             const Parts &...parts) {
  return makeFault<kind>(parts...).withFigures(found, allowed);
}

std::optional<Fault> rondo::checkHostMemory(const Problem &problem) {
  const HostMemory &host = problem.hostMemory;
  const auto ranks = static_cast<size_t>(problem.numRanks());
  for (const size_t size :
       {host.caps.size(), host.links.size(), host.sharedOf.size()})
    if (size != 0 && size != ranks)
      return makeFigureFault<FaultKind::HostMemoryOfRanks>(
          static_cast<int64_t>(size), problem.numRanks());
  if (!host.loads.empty() && host.loads.size() != size_t(problem.numReplicas()))
    return makeFigureFault<FaultKind::CopiesOfReplicas>(
        static_cast<int64_t>(host.loads.size()), problem.numReplicas());
  for (const SharedHostLink &shared : host.shared)
    if (shared.bytesPerUs < 0)
      return makeFigureFault<FaultKind::SharedHostBandwidth>(
          shared.bytesPerUs, 0, &shared - host.shared.data());
  const auto lastShared = static_cast<int32_t>(host.shared.size()) - 1;
  for (int32_t r = 0; r < problem.numRanks(); ++r) {
    if (host.cap(r) < 0)
      return makeFigureFault<FaultKind::HostMemoryBelowZero>(host.cap(r), 0)
          .withRank(r);
    if (const int32_t shared = host.sharedLink(r);
        shared < -1 || shared > lastShared)
      return makeFigureFault<FaultKind::RankOnNoHostLink>(shared, lastShared,
                                                          host.shared.size())
          .withRank(r);
    const HostLink *link = host.link(r);
    if (link && std::min(link->latencyNs, link->bytesPerUs) < 0)
      return makeFigureFault<FaultKind::HostLinkBelowZero>(
                 std::min(link->latencyNs, link->bytesPerUs), 0)
          .withRank(r);
  }
  return std::nullopt;
}

/// Checks the copies of one micro-batch.
static std::optional<Fault> checkCopiesOf(const Problem &problem, int64_t i) {
  for (int32_t h = 0; h < problem.numReplicas(); ++h) {
    const Cost &save = problem.cost(h, ActionKind::Save, i),
               &load = problem.cost(h, ActionKind::Load, i);
    const int32_t stage = problem.replicas[h].stage;
    if (!problem.hostMemory.mayCopy(h)) {
      if ((save.ns | save.acquireBytes | save.releaseBytes | load.ns |
           load.acquireBytes | load.releaseBytes) != 0)
        return makeFault<FaultKind::CostOfNoCopy>(stage);
      continue;
    }
    if (problem.iterations > 1)
      return makeFault<FaultKind::CopiesOfIterations>(stage,
                                                      problem.iterations);
    const LoadBefore before = *problem.hostMemory.loads[h];
    if (before == LoadBefore::Recompute && !problem.recomputes(h))
      return makeFault<FaultKind::LoadBeforeNoRecompute>(stage);
    if (save.acquireBytes != 0 || load.releaseBytes != 0 ||
        save.releaseBytes != load.acquireBytes)
      return makeFault<FaultKind::CopiesDiffer>(
          stage, save.releaseBytes, load.acquireBytes,
          problem.unevenCosts.empty() ? "a micro-batch"
                                      : "micro-batch " + std::to_string(i));
    const int64_t most = problem.copyableBytes(h, before, i);
    if (save.releaseBytes > most)
      return makeFigureFault<FaultKind::CopiesTooMuch>(save.releaseBytes, most)
          .withAction(Action(ActionKind::Save, h, i));
  }
  return std::nullopt;
}

std::optional<Fault> rondo::checkCopies(const Problem &problem) {
  const int64_t count = problem.unevenCosts.empty() ? 1 : problem.microbatches;
  for (int64_t i = 0; i < count; ++i)
    if (std::optional<Fault> fault = checkCopiesOf(problem, i))
      return fault;
  return std::nullopt;
}
