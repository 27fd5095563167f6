//===- adaptation.cpp - A run that changes its schedule -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/adaptation.h"

#include "runtime/adaptive/found_program.h"
#include "runtime/launch/store.h"

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <utility>

using namespace rondo;
using namespace rondo::runtime;

/// Iterations of each size at the start, from which its costs are taken; the
/// first ones are slower.
static constexpr int64_t iterationsOfTour = 2;

/// Set in a proposal besides the place: all processes need the program first.
static constexpr int32_t isNewBit = 1 << 30;

static bool haveSameSize(const ProgramDesc &a, const ProgramDesc &b) {
  return a.microbatches == b.microbatches && a.samples == b.samples;
}

Adaptation::Adaptation(Trainer &trainer, const TunerOptions &options,
                       const std::vector<const ProgramDesc *> &programs,
                       bool searches, Progress &progress)
    : trainer(trainer), options(options), programs(programs),
      numCompiled(programs.size()), progress(progress), tuner(options),
      workNs(static_cast<size_t>(trainer.executable().numReplicas) *
             numCostColumns) {
  // The last one returns to the first.
  for (size_t p = 1; p < programs.size(); ++p)
    if (std::none_of(programs.begin(),
                     programs.begin() + static_cast<ptrdiff_t>(p),
                     [&](const ProgramDesc *other) {
                       return haveSameSize(*other, *programs[p]);
                     }))
      tour.insert(tour.begin(), p);
  if (!tour.empty())
    tour.insert(tour.begin(), 0);
  if (!trainer.world().isFirst())
    return;
  SearchPlan plan;
  plan.executable = &trainer.executable();
  plan.search = searches ? trainer.executable().search : nullptr;
  plan.leastChange = std::max(0.005, options.leastGain);
  background = std::make_unique<BackgroundEstimator>(
      Estimator(trainer.executable(), programs), plan);
}

int32_t Adaptation::proposal() {
  if (!background)
    return -1;
  wanted = current;
  if (!tour.empty())
    return static_cast<int32_t>(current);
  std::optional<Estimates> fresh = background->takeResult();
  if (!fresh)
    fresh = std::move(held);
  held.reset();
  if (!fresh)
    return static_cast<int32_t>(wanted);
  estimates = std::move(*fresh);
  if (!estimates.why.empty() && estimates.why != lastWhy)
    progress.note("note: the search finds no schedule: " + estimates.why);
  lastWhy = estimates.why;
  std::vector<const ProgramDesc *> known(
      programs.begin(), programs.begin() + static_cast<ptrdiff_t>(numCompiled));
  for (const std::shared_ptr<const FoundProgram> &each : estimates.found)
    known.push_back(&each->desc());
  wanted = tuner.choose(estimates.ns, current, since, lastIteration);
  progress.estimates(lastIteration, known, estimates.ns, current);
  if (wanted < numCompiled)
    return static_cast<int32_t>(wanted);
  // Also where the background has put another program at the place that runs.
  const size_t place = wanted - numCompiled;
  const bool isNew =
      place >= found.size() || found[place].program != estimates.found[place];
  return static_cast<int32_t>(wanted) | (isNew ? isNewBit : 0);
}

void Adaptation::prepare(ProgramRun &run) {
  for (int32_t r : run.heldRanks()) {
    run.rank(r).workTimes.clear();
    run.rank(r).keepTimes = trainer.state().device(r).enqueueNs() < 0;
  }
}

/// Takes what the transport has kept. Between two calls all messages arrive, so
/// the first of one comes after the last of the other.
void Adaptation::keepTransfers() {
  std::vector<std::vector<Transfer>> fresh =
      trainer.connections()->transport().takeTransfers();
  transfers.resize(fresh.size());
  for (size_t c = 0; c < fresh.size(); ++c) {
    if (fresh[c].empty())
      continue;
    std::vector<Transfer> &all = transfers[c];
    const int64_t shift =
        all.empty() ? 0 : all.back().endNs - fresh[c].front().beginNs;
    for (const Transfer &transfer : fresh[c])
      all.push_back(
          {transfer.bytes, transfer.beginNs + shift, transfer.endNs + shift});
  }
}

void Adaptation::keep(ProgramRun &run) {
  // Between processes a reading costs messages; between threads nothing, and
  // they keep a single iteration.
  if (trainer.world().isAlone())
    keepTransfers();

  for (int32_t r : run.heldRanks())
    for (const WorkTime &work : run.rank(r).workTimes)
      workNs[static_cast<size_t>(work.replica) * numCostColumns +
             static_cast<size_t>(costColumn(work.kind))]
          .push_back(work.ns);
}

/// Measurements of this process since the last call.
Measurements Adaptation::measure(const ProgramDesc &program) {
  Measurements measured;
  measured.microbatches = program.microbatches;
  measured.samples = program.samples;
  for (std::vector<int64_t> &times : workNs) {
    measured.workNs.push_back(median(times));
    times.clear();
  }
  keepTransfers();
  const std::vector<std::vector<Transfer>> channels =
      std::exchange(transfers, {});
  const Executable &exe = trainer.executable();
  const std::vector<ChannelParams> &ends = trainer.connections()->channels();
  for (size_t c = 0; c < channels.size(); ++c) {
    if (channels[c].empty())
      continue;
    int64_t latencyNs = 0;
    for (int32_t l = 0; l < exe.numLinks; ++l)
      if (exe.links[l].from == ends[c].from && exe.links[l].to == ends[c].to)
        latencyNs = exe.links[l].latencyNs;
    LinkEstimate link = estimateLink(channels[c], latencyNs);
    link.from = ends[c].from;
    link.to = ends[c].to;
    if (link.messages > 0)
      measured.links.push_back(link);
  }
  return measured;
}

/// Brings together what the processes know, in process 0.
void Adaptation::exchange(Measurements &measured, int64_t iteration) {
  const World &world = trainer.world();
  if (world.isAlone())
    return;
  std::ostringstream own;
  for (int64_t ns : measured.workNs)
    own << ns << ' ';
  own << measured.links.size();
  for (const LinkEstimate &link : measured.links)
    own << ' ' << link.from << ' ' << link.to << ' ' << link.messages << ' '
        << link.bytes << ' ' << link.medianNs << ' ' << link.spreadNs << ' '
        << link.latencyNs << ' ' << link.bytesPerUs;
  const std::vector<std::string> all =
      world.store->exchange("measurements " + std::to_string(iteration),
                            own.str(), Store::Patience::WhileReported);
  measured.links.clear();
  for (const std::string &text : all) {
    std::istringstream in(text);
    for (int64_t &ns : measured.workNs) {
      int64_t theirs = 0;
      in >> theirs;
      ns = std::max(ns, theirs);
    }
    size_t links = 0;
    for (in >> links; links > 0 && in; --links) {
      LinkEstimate link;
      in >> link.from >> link.to >> link.messages >> link.bytes >>
          link.medianNs >> link.spreadNs >> link.latencyNs >> link.bytesPerUs;
      measured.links.push_back(link);
    }
  }
}

/// Takes a found program from process 0.
void Adaptation::receive(size_t place, int64_t iteration) {
  const size_t own = place - numCompiled;
  if (found.size() <= own)
    found.resize(own + 1);
  programs.resize(std::max(programs.size(), place + 1), nullptr);
  const World &world = trainer.world();
  Found &here = found[own];
  here.run.reset();
  if (background)
    here.program = estimates.found[own];
  if (!world.isAlone()) {
    const std::string text =
        world.store
            ->exchange("schedule " + std::to_string(iteration),
                       background ? encode(*here.program) : "",
                       Store::Patience::WhileReported)
            .front();
    if (!background)
      here.program = decode(text, trainer.executable());
  }
  programs[place] = &here.program->desc();
  here.run = trainer.makeRun(here.program->desc());
}

void Adaptation::switchTo(size_t next, int64_t iteration) {
  if (next == current)
    return;
  enter(trainer.world(), Phase::Switch);
  const bool isTour = !tour.empty();
  auto place = [](const std::vector<int64_t> &ns, size_t of) {
    return of < ns.size() ? ns[of] : 0;
  };
  if (!isTour)
    progress.switched(iteration, *programs[current], *programs[next],
                      place(estimates.ns, current), place(estimates.ns, next));
  current = next;
  since = iteration + 1;
}

void Adaptation::finish(ProgramRun &run, int64_t iteration,
                        const IterationResult &result) {
  keep(run);
  // New measurements would discard it.
  if (background)
    if (std::optional<Estimates> known = background->takeResult())
      held = std::move(known);
  lastIteration = iteration;
  ++measuredIterations;
  const bool isTour = !tour.empty();
  const bool isDue =
      measuredIterations >= (isTour ? iterationsOfTour : options.every);
  const auto next = static_cast<size_t>(result.proposal & ~isNewBit);
  if (isDue || (!isTour && next != current)) {
    Measurements measured = measure(run.program());
    exchange(measured, iteration);
    measuredIterations = 0;
    if (background) {
      if (measured.links.empty() && trainer.executable().numLinks > 0 &&
          !saysUnmeasured)
        progress.note("note: single messages are not measured here, so links "
                      "are taken to be as planned");
      saysUnmeasured |= measured.links.empty();
      progress.measured(iteration, trainer.executable(), measured);
      background->begin(std::move(measured), isTour ? current : next);
    }
  }
  if (!isTour && (result.proposal & isNewBit))
    receive(next, iteration);
  if (!isTour)
    return switchTo(next, iteration);
  if (!isDue)
    return;
  // On with the tour; its last stop is the first schedule again.
  switchTo(tour.size() > 1 ? tour.back() : 0, iteration);
  tour.pop_back();
}
