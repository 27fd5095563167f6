//===- plan_run.cpp - A plan that can be run ------------------------------===//

#include "runtime/plan_run.h"

#include "runtime/clock.h"
#include "runtime/error.h"

#include <cstdio>

using namespace rondo::runtime;

PlanRun::PlanRun(State &state, const PlanDesc &plan, const PlanOptions &options)
    : state(state), desc(plan), options(options) {
  Wiring wiring = wire(state, plan, options.link);
  std::vector<Device *> devices;
  for (int32_t r = 0; r < plan.numRanks; ++r)
    devices.push_back(state.world().holds(r) ? &state.device(r) : nullptr);
  transport = backendOf(state.executable())
                  .makeTransport(wiring.params, devices, options.transport,
                                 state.world());
  ranks.resize(plan.numRanks);
  for (int32_t r = 0; r < plan.numRanks; ++r)
    if (state.world().holds(r)) {
      ranks[r] = std::make_unique<Rank>(state, plan, wiring, *transport, r,
                                        options.optimizer);
      held.push_back(r);
    }
}

char *PlanRun::data(int32_t stage, int64_t microbatch) const {
  const PlacementDesc &placement =
      desc.placements[stage * numBuffers + static_cast<int>(Buffer::Data)];
  if (placement.pool < 0)
    return nullptr;
  return state.address(desc.pools[placement.pool],
                       placement.slotOf[microbatch % placement.period]);
}

std::string PlanRun::describeWait(int32_t rank, const Waiting &waiting) const {
  std::string other = std::to_string(waiting.onRank);
  std::string text = "rank " + std::to_string(rank);
  switch (waiting.what) {
  case Waiting::For::Nothing:
    return text + (ranks[rank]->actionsBegun() == 0
                       ? " has not begun"
                       : " runs " + ranks[rank]->currentAction());
  case Waiting::For::Arrival:
    return text + " waits for " + nameOf(waiting.message) + " of rank " + other;
  case Waiting::For::Release:
    return text + " waits until rank " + other + " receives " +
           nameOf(waiting.message);
  case Waiting::For::Collective:
    return text + " waits for rank " + other + " in all_reduce " +
           std::to_string(waiting.collective);
  }
  return text;
}

std::string PlanRun::describeWaits() const {
  // From the first rank that waits, until a rank that stands there already or
  // one that does not wait.
  int32_t r = 0;
  while (r < desc.numRanks &&
         transport->waiting(r).what == Waiting::For::Nothing)
    ++r;
  if (r == desc.numRanks)
    r = 0;
  std::string text;
  std::vector<bool> isNamed(desc.numRanks);
  while (r >= 0 && !isNamed[r]) {
    isNamed[r] = true;
    Waiting waiting = transport->waiting(r);
    text += (text.empty() ? "" : " -> ") + describeWait(r, waiting);
    r = waiting.what == Waiting::For::Nothing ? -1 : waiting.onRank;
  }
  return text;
}

void PlanRun::iterate(Team &team) {
  uint64_t lastBegun = 0;
  int64_t lastChangeNs = nowNs();
  Team::Watch watch;
  watch.stopAll = [&] { transport->abort(); };
  watch.look = [&] {
    uint64_t begun = transport->progress();
    for (int32_t r : held)
      begun += ranks[r]->actionsBegun();
    if (begun != lastBegun) {
      lastBegun = begun;
      lastChangeNs = nowNs();
      return;
    }
    double seconds = static_cast<double>(nowNs() - lastChangeNs) * 1e-9;
    const double timeoutSeconds = options.transport.timeoutSeconds;
    if (timeoutSeconds <= 0 || seconds < timeoutSeconds)
      return;
    char limit[32];
    std::snprintf(limit, sizeof limit, "%g", timeoutSeconds);
    throw Error("no progress for " + std::string(limit) +
                    " s: " + describeWaits(),
                Exit::RunFailure);
  };
  try {
    team.run(
        static_cast<int32_t>(held.size()),
        [&](int32_t i) { ranks[held[i]]->runIteration(); }, watch);
  } catch (const Error &error) {
    throw Error(error.what(), Exit::RunFailure);
  } catch (const std::exception &error) {
    throw Error("a rank failed: " + std::string(error.what()),
                Exit::RunFailure);
  }
}

const PlanDesc &rondo::runtime::findPlan(const Executable &executable,
                                         PlanKind kind) {
  for (int32_t p = 0; p < executable.numPlans; ++p)
    if (executable.plans[p].kind == kind)
      return executable.plans[p];
  static const char *const names[] = {"sequential", "pipeline", "evaluation"};
  throw Error("'" + std::string(executable.name) + "' has no " +
              names[static_cast<int>(kind)] + " plan");
}
