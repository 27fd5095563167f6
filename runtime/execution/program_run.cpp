//===- program_run.cpp - Runs a program -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/program_run.h"

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/launch/store.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <sstream>

using namespace rondo::runtime;

ProgramRun::ProgramRun(Connections &connections, const ProgramDesc &program)
    : state(connections.state()), desc(program), options(connections.options),
      transport(connections.transport()),
      wiring(connections.wiringFor(program)) {
  ranks.resize(program.numRanks);
  for (int32_t r = 0; r < program.numRanks; ++r)
    if (state.world().holds(r)) {
      ranks[r] = std::make_unique<RunningRank>(
          RankContext{state, program, wiring, transport, r}, options.optimizer,
          connections.ring(r), connections.faultOf(r), connections.hostLinks());
      held.push_back(r);
    }
}

char *ProgramRun::data(int32_t replica, int64_t microbatch) const {
  const PlaceDesc &place =
      desc.places[replica * numBuffers + static_cast<int>(Buffer::Data)];
  if (place.pool < 0)
    return nullptr;
  return state.address(desc.pools[place.pool], slotOf(place, microbatch));
}

/// As waits name it.
static const char *wordFor(CollectiveKind kind) {
  return rondo::movesState(kind) || rondo::readsSteps(kind)
             ? rondo::traitsOf(kind).keyword
             : "all_reduce";
}

RankWait ProgramRun::waitOf(int32_t rank) const {
  const Waiting waiting = transport.waiting(rank);
  RankWait wait{waiting.what, waiting.onRank, std::string()};
  if (waiting.what == Waiting::For::Collective) {
    const std::vector<int32_t> &numbers = wiring.collectiveNumbers;
    const int64_t collective = ranks[rank]->collectiveOf(
        std::find(numbers.begin(), numbers.end(), waiting.collective) -
        numbers.begin());
    wait.name = std::string(wordFor(desc.collectives[collective].kind)) + " " +
                std::to_string(collective);
  } else if (waiting.what != Waiting::For::Nothing) {
    wait.name = nameOf(waiting.message, edgeNamesOf(state.executable()));
  }
  return wait;
}

RankStatus ProgramRun::statusOf(int32_t rank) const {
  const RankWait waiting = waitOf(rank);
  RankStatus status;
  status.progress = progressOf(rank) + transport.progress();
  status.text = "rank " + std::to_string(rank);
  if (const CopyWait copy = ranks[rank]->copiesToHost().waitsFor();
      !copy.text.empty() &&
      (copy.onRank >= 0 || waiting.what == Waiting::For::Nothing)) {
    status.waitsFor = copy.onRank;
    status.text += " waits for " + copy.text;
    return status;
  }
  if (waiting.what == Waiting::For::Nothing && ranks[rank]->hasEnded()) {
    status.waitsFor = RankStatus::ended;
    status.text += " has ended its iteration";
    return status;
  }
  if (waiting.what == Waiting::For::Nothing) {
    status.text += ranks[rank]->actionsBegun() == 0
                       ? " has not begun"
                       : " runs " + ranks[rank]->currentAction();
    return status;
  }
  status.waitsFor = waiting.onRank;
  const std::string other = std::to_string(waiting.onRank);
  if (waiting.what == Waiting::For::Arrival)
    status.text += " waits for " + waiting.name + " of rank " + other;
  else if (waiting.what == Waiting::For::Release)
    status.text += " waits until rank " + other + " receives " + waiting.name;
  else
    status.text += " waits for rank " + other + " in " + waiting.name;
  return status;
}

std::string
rondo::runtime::describeChain(const std::vector<RankStatus> &ranks) {
  const int32_t count = static_cast<int32_t>(ranks.size());
  auto first = [&](auto fits) {
    return static_cast<int32_t>(std::find_if(ranks.begin(), ranks.end(), fits) -
                                ranks.begin());
  };
  int32_t r = first([](const RankStatus &at) { return at.waitsFor >= 0; });
  // Else at one that has something to do.
  if (r == count)
    r = first(
        [](const RankStatus &at) { return at.waitsFor != RankStatus::ended; });
  if (r == count)
    r = 0;
  std::string text;
  std::vector<bool> isNamed(count);
  while (r >= 0 && r < count && !isNamed[r]) {
    isNamed[r] = true;
    text += (text.empty() ? "" : " -> ") + ranks[r].text;
    r = ranks[r].waitsFor;
  }
  // A cycle of ranks that meet in a collective: a rank missing there is doing
  // something else.
  for (int32_t other = 0; r >= 0 && other < count; ++other)
    if (!isNamed[other] && ranks[other].waitsFor == -1 &&
        !ranks[other].text.empty())
      text += "; " + ranks[other].text;
  return text;
}

/// A status as text for the store.
static std::string encode(const RankStatus &status) {
  return std::to_string(status.progress) + " " +
         std::to_string(status.waitsFor) + " " + status.text;
}

static RankStatus decode(int32_t rank, const Store::Report &report,
                         double silence) {
  RankStatus status;
  std::istringstream words(report.text);
  if (words >> status.progress >> status.waitsFor)
    std::getline(words >> std::ws, status.text);
  else
    status.text =
        "rank " + std::to_string(rank) + " does not report what it is doing";
  if (report.silentSeconds > silence) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.1f", report.silentSeconds);
    status.waitsFor = -1;
    status.text +=
        ", and its process has not answered for " + std::string(seconds) + " s";
  }
  return status;
}

/// Interval of a process's reports on its rank, so that a time-out means the
/// same for any number of processes.
static double reportSeconds(double timeoutSeconds) {
  return timeoutSeconds > 0 ? std::clamp(timeoutSeconds / 10, 0.1, 1.0) : 1.0;
}

std::vector<RankStatus> ProgramRun::allStatuses() const {
  const World &world = state.world();
  std::vector<RankStatus> all(desc.numRanks);
  if (!world.isAlone()) {
    // A silent process is reported as such, whatever its rank did last.
    const double silence =
        std::max(0.8, 5 * reportSeconds(options.transport.timeoutSeconds));
    std::vector<Store::Report> reports = world.store->reports();
    for (int32_t r = 0; r < desc.numRanks; ++r)
      all[r] = decode(r, reports[r], silence);
  }
  for (int32_t r : held)
    all[r] = statusOf(r);
  return all;
}

std::string ProgramRun::describeWaits() const {
  try {
    return describeChain(allStatuses());
  } catch (const Error &error) {
    // Process 0, which knows what the others do, is gone.
    return statusOf(state.world().process).text + "; " + error.what();
  }
}

uint64_t ProgramRun::heldProgress() const {
  uint64_t sum = transport.progress();
  for (int32_t r : held)
    sum += progressOf(r);
  return sum;
}

/// Checks the ranks while they run. Process 0 watches all of them by the
/// reports of their processes; the others fail only if process 0 does not.
class ProgramRun::Watchdog {
public:
  explicit Watchdog(ProgramRun &run)
      : run(run), world(run.state.world()),
        clock(run.options.clock ? run.options.clock
                                : std::make_shared<AwakeClock>()),
        progress(limitOf(run), clock),
        report(reportSeconds(run.options.transport.timeoutSeconds), clock) {}

  void look() {
    if (world.isAlone())
      return check(run.heldProgress());
    world.store->check();
    if (hasReported && !report.hasExpired())
      return;
    hasReported = true;
    report.renew();
    const RankStatus own = run.statusOf(world.process);
    world.store->report(encode(own));
    if (!world.isFirst())
      return check(own.progress);
    uint64_t sum = 0;
    for (const RankStatus &status : run.allStatuses())
      sum += status.progress;
    check(sum);
  }

private:
  /// Process 0 gets progress by reports and must fail first, since it has the
  /// waits of all ranks.
  static double limitOf(const ProgramRun &run) {
    const double limit = run.options.transport.timeoutSeconds;
    constexpr double othersLaterSeconds = 3;
    return limit > 0 && !run.state.world().isFirst()
               ? limit + othersLaterSeconds
               : limit;
  }

  void check(uint64_t sum) {
    if (sum != lastSum) {
      lastSum = sum;
      progress.renew();
      return;
    }
    if (progress.hasExpired())
      throw Error("no progress for " + secondsText(progress.limitSeconds()) +
                      ": " + run.describeWaits(),
                  Exit::RunFailure);
  }

  ProgramRun &run;
  const World &world;
  const std::shared_ptr<Clock> clock;
  /// Since the ranks last did something, and since the last report.
  Deadline progress, report;
  bool hasReported = false;
  uint64_t lastSum = 0;
};

void ProgramRun::iterate(Team &team, const Span &span,
                         const std::function<void()> &look) {
  enter(state.world(), Phase::Iterate);
  bool isElsewhere = false;
  for (int32_t r : held)
    isElsewhere |= ranks[r]->begin(span);
  static std::atomic<int64_t> memories{0};
  if (isElsewhere)
    memoryNumber = ++memories;
  // What the addresses of a run's work depend on.
  constexpr int64_t mostIterations = int64_t(1) << 32;
  const uint64_t memory = memoryNumber * mostIterations + span.iterations;
  for (int32_t r : held)
    ranks[r]->setVariant(
        static_cast<int64_t>(static_cast<uint64_t>(desc.recording) + memory));
  Watchdog watchdog(*this);
  Team::Watch watch;
  watch.stopAll = [&](int32_t thread, const std::exception_ptr &why) {
    std::function<void()> then;
    try {
      if (options.failed)
        then = options.failed(*this, thread < 0 ? -1 : held[thread], why);
    } catch (...) {
      // The ranks must be stopped even if their actions cannot be written.
    }
    transport.abort();
    for (int32_t r : held)
      ranks[r]->copiesToHost().abort();
    if (then)
      then();
  };
  watch.look = [&] {
    for (int32_t r : held)
      ranks[r]->copiesToHost().check();
    watchdog.look();
    if (look)
      look();
  };
  watch.say = [&](Exit code, const std::string &why) {
    const World &world = state.world();
    if (world.isAlone() || !world.store->fail(code, why))
      std::fprintf(stderr, "error: %s\n", why.c_str());
  };
  try {
    team.run(
        static_cast<int32_t>(held.size()),
        [&](int32_t i) { ranks[held[i]]->run(); }, watch);
    for (int32_t r : held)
      ranks[r]->finish();
  } catch (const Error &) {
    throw;
  } catch (const std::bad_alloc &) {
    throw Error("a rank failed: out of memory");
  } catch (const std::exception &error) {
    throw Error("a rank failed: " + std::string(error.what()));
  }
}

template <typename Fits>
static const ProgramDesc &find(const Executable &executable, ProgramKind kind,
                               Fits fits) {
  for (int32_t p = 0; p < executable.numPrograms; ++p)
    if (executable.programs[p].kind == kind && fits(executable.programs[p]))
      return executable.programs[p];
  static const char *const names[] = {"sequential", "pipeline", "evaluation"};
  throw Error("'" + std::string(executable.name) + "' has no " +
              names[static_cast<int>(kind)] + " program");
}

const ProgramDesc &rondo::runtime::findProgram(const Executable &executable,
                                               ProgramKind kind) {
  return find(executable, kind, [](const ProgramDesc &) { return true; });
}

/// Whether two programs with equally many micro-batches add in one order.
static bool addInOneOrder(const ProgramDesc &one, const ProgramDesc &other) {
  if (!one.sumOrder || !other.sumOrder)
    return one.sumOrder == other.sumOrder;
  return std::equal(one.sumOrder, one.sumOrder + one.microbatches,
                    other.sumOrder);
}

/// Equal parts leave until W. The buffers that I reads depend on them.
static bool leaveAlike(const Executable &executable, const ProgramDesc &one,
                       const ProgramDesc &other) {
  return std::equal(one.layers, one.layers + executable.numLayers, other.layers,
                    [](const LayerDesc &a, const LayerDesc &b) {
                      return a.offloads == b.offloads;
                    });
}

const ProgramDesc &rondo::runtime::findProgram(const Executable &executable,
                                               ProgramKind kind,
                                               const ProgramDesc &like) {
  return find(executable, kind, [&](const ProgramDesc &program) {
    return program.microbatches == like.microbatches &&
           program.samples == like.samples &&
           (kind != ProgramKind::Sequential ||
            (addInOneOrder(program, like) &&
             leaveAlike(executable, program, like)));
  });
}
