//===- adaptation.cpp - A run that changes its schedule -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/adaptive/background.h"
#include "runtime/adaptive/found_program.h"
#include "runtime/adaptive/tuner.h"
#include "runtime/base/json.h"
#include "runtime/launch/store.h"
#include "runtime/trainer/extras.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

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

namespace {

/// With a search, process 0 searches for further schedules under the measured
/// costs. It sends one that is worth a switch to all processes, which run it
/// from a table.
///
/// If the schedules have micro-batches of several sizes, the run begins with
/// two iterations of each other size, so that its costs are measured.
class MeasuredAdaptation : public Adaptation {
public:
  MeasuredAdaptation(Trainer &trainer, const TunerOptions &options,
                     const std::vector<const ProgramDesc *> &programs,
                     bool searches, Progress &progress);

  const ProgramDesc &program() const override { return *programs[current]; }
  ProgramRun *foundRun() const override {
    return current < numCompiled ? nullptr
                                 : found[current - numCompiled].run.get();
  }
  int32_t proposal() override;
  void prepare(ProgramRun &run) override;
  void finish(ProgramRun &run, int64_t iteration,
              const IterationResult &result) override;

private:
  void keep(ProgramRun &run);
  void keepTransfers();
  Measurements measure(const ProgramDesc &program);
  void exchange(Measurements &measured, int64_t iteration);
  void switchTo(size_t next, int64_t iteration);
  void receive(size_t place, int64_t iteration);
  // Lines of the JSON log.
  void log(int64_t iteration, const Measurements &measured);
  void logEstimates(const std::vector<const ProgramDesc *> &known);

  Trainer &trainer;
  const TunerOptions options;
  /// The compiled programs, then those that the search found.
  std::vector<const ProgramDesc *> programs;
  const size_t numCompiled;
  struct Found {
    std::shared_ptr<const FoundProgram> program;
    std::unique_ptr<ProgramRun> run;
  };
  std::vector<Found> found;
  Progress &progress;
  const Tuner tuner;
  /// In process 0.
  std::unique_ptr<BackgroundEstimator> background;
  Estimates estimates;
  /// Estimates that arrived while an iteration ran.
  std::optional<Estimates> held;
  std::string lastWhy;
  /// The last program, and the iteration at which it began.
  size_t current = 0;
  int64_t since = 1, lastIteration = 0;
  /// Iterations of the program in a row, since the last measurement.
  int64_t measuredIterations = 0;
  /// Schedules with which the run begins, each for two iterations.
  std::vector<size_t> tour;
  /// [replica * numCostColumns + costColumn(kind)], of the iterations since the
  /// last measurement.
  std::vector<std::vector<int64_t>> workNs;
  /// Indexed by channel, one iteration after the other.
  std::vector<std::vector<Transfer>> transfers;
  size_t wanted = 0;
  /// Whether the user knows that links are not measured.
  bool saysUnmeasured = false;
};

} // namespace

MeasuredAdaptation::MeasuredAdaptation(
    Trainer &trainer, const TunerOptions &options,
    const std::vector<const ProgramDesc *> &programs, bool searches,
    Progress &progress)
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
  plan.search = searches ? trainer.executable().extras.search : nullptr;
  plan.leastChange = std::max(0.005, options.leastGain);
  background = std::make_unique<BackgroundEstimator>(
      Estimator(trainer.executable(), programs), plan);
}

int32_t MeasuredAdaptation::proposal() {
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
  logEstimates(known);
  if (wanted < numCompiled)
    return static_cast<int32_t>(wanted);
  // Also where the background has put another program at the place that runs.
  const size_t place = wanted - numCompiled;
  const bool isNew =
      place >= found.size() || found[place].program != estimates.found[place];
  return static_cast<int32_t>(wanted) | (isNew ? isNewBit : 0);
}

void MeasuredAdaptation::prepare(ProgramRun &run) {
  for (int32_t r : run.heldRanks()) {
    run.rank(r).workTimes.clear();
    run.rank(r).keepTimes = trainer.state().device(r).enqueueNs() < 0;
  }
}

/// Takes what the transport has kept. Between two calls all messages arrive, so
/// the first of one comes after the last of the other.
void MeasuredAdaptation::keepTransfers() {
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

void MeasuredAdaptation::keep(ProgramRun &run) {
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
Measurements MeasuredAdaptation::measure(const ProgramDesc &program) {
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
void MeasuredAdaptation::exchange(Measurements &measured, int64_t iteration) {
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
void MeasuredAdaptation::receive(size_t place, int64_t iteration) {
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

void MeasuredAdaptation::switchTo(size_t next, int64_t iteration) {
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

void MeasuredAdaptation::finish(ProgramRun &run, int64_t iteration,
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
      log(iteration, measured);
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

void MeasuredAdaptation::log(int64_t iteration, const Measurements &measured) {
  const Executable &executable = trainer.executable();
  JsonWriter json;
  json.object().member("iteration", iteration).key("links").array();
  for (const LinkEstimate &link : measured.links)
    json.object()
        .member("from", link.from)
        .member("to", link.to)
        .member("messages", link.messages)
        .member("bytes", link.bytes)
        .member("median_ns", link.medianNs)
        .member("spread_ns", link.spreadNs)
        .member("latency_ns", link.latencyNs)
        .member("bytes_per_us", link.bytesPerUs)
        .end();
  json.end().key("stages").array();
  for (int32_t h = 0; h < executable.numReplicas; ++h) {
    const ReplicaDesc &replica = executable.replicas[h];
    json.object().member("stage", executable.stages[replica.stage].name);
    json.member("rank", replica.rank);
    for (const ActionTraits &traits : actionTable.rows)
      if (traits.hasCost())
        if (const int64_t ns = measured.workNs[static_cast<size_t>(
                h * numCostColumns + costColumn(traits.kind))];
            ns > 0)
          json.member(std::string(traits.keyword) + "_ns", ns);
    json.end();
  }
  progress.writeLog(json.end().end().text());
}

void MeasuredAdaptation::logEstimates(
    const std::vector<const ProgramDesc *> &known) {
  JsonWriter json;
  json.object().member("iteration", lastIteration);
  json.member("runs", known[current]->name).key("estimates").object();
  for (size_t p = 0; p < known.size(); ++p)
    json.member(known[p]->name, estimates.ns[p]);
  progress.writeLog(json.end().end().text());
}

static std::unique_ptr<Adaptation>
adapt(Trainer &trainer, const TunerOptions &options,
      const std::vector<const ProgramDesc *> &programs, bool searches,
      Progress &progress) {
  return std::make_unique<MeasuredAdaptation>(trainer, options, programs,
                                              searches, progress);
}

const AdaptiveRuns rondo::runtime::adaptiveRuns = {adapt};
