//===- adaptive_simulate.cpp - Programs under changing links, simulated ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// adaptive_simulate RANKS ROOM EFFORT ITERATIONS TRACE...
//
// A model of timed stages, whose schedules are chosen as `rondo compile
// --adaptive` chooses them, under link traces that go by iterations. Prints a
// JSON object for each trace: by policy the time of all iterations and the
// arena of the fullest rank. bench/adaptive_simulate.py makes tables of them.
//
// An iteration has 16 samples a rank, in micro-batches of b. A forward of b
// samples takes (0.4 + 0.6 b) / 2.8 ms, so 1 ms for b = 4, and so do I and W; a
// fused backward takes as long as both. A sample holds 250,000 bytes until its
// W ends, and its messages have 25,000. As written: 1F1B with b = 4. Each rank
// has ROOM times the memory that this needs.
//
// All times are those of the core's simulator. kFkB is timed by its order
// alone, so its receives are always posted early enough, as no single program
// has them in all states of the network; a program of Rondo's by its messages
// and slots. An estimate comes from the iterations since the last decision, and
// is used two iterations later, at the latest moment that a run would.
//
//===----------------------------------------------------------------------===//

#include "planning/adaptive/CandidateTable.h"
#include "planning/adaptive/MemoryLimit.h"
#include "runtime/adaptive/tuner.h"
#include "runtime/trainer/link_emulation.h"
#include "runtime/trainer/link_trace_reader.h"
#include "schedule/families/Family.h"
#include "schedule/program/ProgramSimulator.h"
#include "schedule/simulate/Simulator.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

using namespace rondo;

namespace {

constexpr int64_t samplesOfRank = 16, writtenSamples = 4;
/// Sizes of one sample.
constexpr int64_t activationBytes = 250000, messageBytes = 25000;
constexpr int64_t maxSamples = 16;
/// Links as the model states them: fast.
constexpr Link statedLink = {/*latencyNs=*/10000, /*bytesPerUs=*/10000};

int64_t forwardNs(int64_t samples) {
  return (400000 + 600000 * samples) * 10 / 28;
}

SizedPlan makePlan(int32_t ranks, int64_t microbatches, int64_t memoryBytes) {
  if (microbatches == 0)
    microbatches = ranks * samplesOfRank / writtenSamples;
  const int64_t b = ranks * samplesOfRank / microbatches;
  SizedPlan plan;
  plan.id = static_cast<size_t>(microbatches);
  Problem &problem = plan.problem;
  problem.microbatches = static_cast<int32_t>(microbatches);
  problem.memoryCaps.assign(ranks, memoryBytes);
  problem.link = statedLink;
  for (int32_t s = 0; s < ranks; ++s)
    problem.replicas.addStage(s);
  for (int32_t s = 0; s < ranks; ++s)
    problem.setStageCost(s, forwardNs(b), forwardNs(b), forwardNs(b),
                         b * activationBytes, 0);
  std::vector<int64_t> messages(ranks, b * messageBytes);
  messages.back() = 0;
  problem.makeChain(messages);
  for (int32_t s = 0; s < ranks; ++s) {
    ReplicaBuffers buffers{};
    auto set = [&](BufferKind kind, int64_t bytes) {
      buffers[static_cast<int>(kind)] = bytes;
    };
    set(BufferKind::SavedForWeightGrad, b * activationBytes);
    for (BufferKind kind : {BufferKind::Input, BufferKind::InputGrad})
      set(kind, s > 0 ? b * messageBytes : 0);
    for (BufferKind kind : {BufferKind::Output, BufferKind::OutputGrad})
      set(kind, s + 1 < ranks ? b * messageBytes : 0);
    plan.figures.buffers.push_back(buffers);
  }
  plan.figures.devices.assign(ranks, memoryBytes);
  if (std::optional<Fault> fault = problem.check())
    throw std::runtime_error(describe(*fault, problem));
  return plan;
}

Schedule kfkb(const Problem &problem, int64_t k) {
  return *generate({findFamily("kfkb"), {{"k", k}}}, problem);
}

/// A schedule that can be run, by its time in each phase of a trace.
struct Choice {
  std::string name;
  int64_t microbatches = 0, bytes = 0;
  std::vector<int64_t> phaseNs;
};

/// The phase of each iteration, and the links of each phase.
struct Phases {
  std::vector<size_t> ofIteration;
  std::vector<std::map<std::pair<int32_t, int32_t>, Link>> links;
};

Phases phasesOf(const std::string &path, int32_t ranks, int64_t iterations) {
  runtime::ImposedNetwork network(
      {}, std::make_shared<const runtime::LinkTrace>(
              runtime::readLinkTrace(path, ranks, /*period=*/0)));
  Phases phases;
  for (int64_t i = 1; i <= iterations; ++i) {
    network.beginIteration(i, /*nowNs=*/i);
    std::map<std::pair<int32_t, int32_t>, Link> links;
    for (int32_t r = 0; r + 1 < ranks; ++r)
      for (auto [from, to] : {std::pair(r, r + 1), std::pair(r + 1, r)}) {
        const runtime::ImposedLink link = network.link(from, to).at(i);
        links[{from, to}] = {link.latencyNs, link.leftBytesPerUs()};
      }
    auto same = [&](const auto &other) {
      return std::equal(links.begin(), links.end(), other.begin(),
                        [](const auto &a, const auto &b) {
                          return a.second.latencyNs == b.second.latencyNs &&
                                 a.second.bytesPerUs == b.second.bytesPerUs;
                        });
    };
    const auto known =
        std::find_if(phases.links.begin(), phases.links.end(), same);
    phases.ofIteration.push_back(known - phases.links.begin());
    if (known == phases.links.end())
      phases.links.push_back(std::move(links));
  }
  return phases;
}

int64_t fixedNs(const Choice &choice, const Phases &phases) {
  int64_t sum = 0;
  for (size_t phase : phases.ofIteration)
    sum += choice.phaseNs[phase];
  return sum;
}

/// The phase that most iterations from `first` to `last` were in, the later of
/// equals: what a median of their messages shows.
size_t measuredPhase(const Phases &phases, int64_t first, int64_t last) {
  std::vector<int64_t> counts(phases.links.size(), 0);
  for (int64_t i = first; i <= last; ++i)
    ++counts[phases.ofIteration[i - 1]];
  size_t best = phases.ofIteration[last - 1];
  for (size_t p = 0; p < counts.size(); ++p)
    if (counts[p] > counts[best])
      best = p;
  return best;
}

struct Run {
  int64_t ns = 0, switches = 0;
};

/// A run that begins with the first choice and follows the tuner, as
/// runtime/trainer/adaptation.cpp does.
Run follow(const std::vector<Choice> &choices, const Phases &phases,
           bool tours) {
  const runtime::TunerOptions options;
  const runtime::Tuner tuner(options);
  Run run;
  const auto iterations = static_cast<int64_t>(phases.ofIteration.size());
  // Two iterations of each other size of micro-batches come first.
  std::vector<size_t> tour = {0};
  for (size_t c = 1; c < choices.size() && tours; ++c)
    if (std::none_of(tour.begin(), tour.end(), [&](size_t other) {
          return choices[other].microbatches == choices[c].microbatches;
        }))
      tour.push_back(c);
  const int64_t ofTour =
      tour.size() > 1 ? 2 * static_cast<int64_t>(tour.size()) : 0;
  auto take = [&](int64_t iteration, size_t choice) {
    if (iteration <= iterations)
      run.ns += choices[choice].phaseNs[phases.ofIteration[iteration - 1]];
  };
  for (int64_t i = 1; i <= ofTour; ++i)
    take(i, tour[(i - 1) / 2]);
  size_t current = 0;
  int64_t since = ofTour + 1, measuredFrom = ofTour + 1;
  // The estimates under way, and after which iteration they count.
  std::vector<int64_t> estimates;
  int64_t countsAfter = 0;
  for (int64_t i = ofTour + 1; i <= iterations; ++i) {
    take(i, current);
    size_t next = current;
    if (!estimates.empty() && i >= countsAfter) {
      next = tuner.choose(estimates, current, since, i - 1);
      estimates.clear();
    }
    if (i - measuredFrom + 1 >= options.every || next != current) {
      const size_t phase = measuredPhase(phases, measuredFrom, i);
      estimates.clear();
      for (const Choice &choice : choices)
        estimates.push_back(choice.phaseNs[phase]);
      countsAfter = i + 2;
      measuredFrom = i + 1;
    }
    if (next == current)
      continue;
    ++run.switches;
    current = next;
    since = i + 1;
  }
  return run;
}

class Bench {
public:
  Bench(int32_t ranks, double room, int64_t effort);
  void simulate(const std::string &path, int64_t iterations) const;

private:
  void timeIn(const Phases &phases, const Candidate &candidate,
              Choice &choice) const;

  const int32_t ranks;
  int64_t memoryBytes = 0;
  CandidateTable table;
};

Bench::Bench(int32_t ranks, double room, int64_t effort) : ranks(ranks) {
  const SizedPlan unlimited = makePlan(ranks, 0, noMemoryCap);
  const std::optional<std::vector<int64_t>> arena =
      arenaOf(unlimited.figures, unlimited.problem, kfkb(unlimited.problem, 1));
  if (!arena)
    throw std::runtime_error("1F1B does not run");
  memoryBytes = static_cast<int64_t>(
      room * double(*std::max_element(arena->begin(), arena->end())));
  SizedPlans plans;
  plans.samples = samplesOfRank * ranks;
  for (int64_t b = maxSamples; b >= 1; b /= 2)
    plans.microbatches.push_back(plans.samples / b);
  plans.make = [&](int64_t microbatches) -> Result<SizedPlan> {
    return makePlan(ranks, microbatches, memoryBytes);
  };
  CandidateOptions options;
  options.effort = effort;
  const SizedPlan written = makePlan(ranks, 0, memoryBytes);
  const auto order = *generate({findFamily("1f1b"), {}}, written.problem);
  Result<CandidateTable> found =
      findCandidates(plans, {"1f1b", "1f1b", order}, options);
  if (!found)
    throw std::runtime_error(describe(found.fault(), written.problem));
  table = *std::move(found);
}

void Bench::timeIn(const Phases &phases, const Candidate &candidate,
                   Choice &choice) const {
  Problem problem = table.plans[candidate.plan].problem;
  for (const auto &links : phases.links) {
    problem.links = links;
    choice.phaseNs.push_back(
        candidate.group > 0
            ? rondo::simulate(problem, candidate.schedule).makespanNs
            : simulateProgram(problem, candidate.program).makespanNs);
  }
}

/// Time of the best schedule in hindsight: in each iteration's phase, the
/// fastest schedule of all policies.
int64_t hindsightNs(const std::vector<Choice> &choices, const Phases &phases) {
  int64_t sum = 0;
  for (size_t phase : phases.ofIteration) {
    int64_t best = INT64_MAX;
    for (const Choice &choice : choices)
      best = std::min(best, choice.phaseNs[phase]);
    sum += best;
  }
  return sum;
}

void Bench::simulate(const std::string &path, int64_t iterations) const {
  const Phases phases = phasesOf(path, ranks, iterations);
  std::vector<Choice> groups, limit, own, all;
  for (const Candidate &candidate : table.candidates) {
    if (candidate.group == 0 || !candidate.runs())
      continue;
    Choice choice;
    choice.name = candidate.name + " b=" + std::to_string(candidate.samples);
    // One order with several places of its messages.
    if (!groups.empty() && groups.back().name == choice.name) {
      groups.back().bytes =
          std::min(groups.back().bytes, candidate.fullestBytes());
      continue;
    }
    choice.microbatches = candidate.microbatches;
    choice.bytes = candidate.fullestBytes();
    timeIn(phases, candidate, choice);
    groups.push_back(choice);
    if (candidate.isOnMemoryLimit)
      limit.push_back(choice);
  }
  for (size_t place : table.kept) {
    const Candidate &candidate = table.candidates[place];
    Choice choice;
    choice.name = candidate.name;
    choice.microbatches = candidate.microbatches;
    choice.bytes = candidate.fullestBytes();
    Problem problem = table.plans[candidate.plan].problem;
    for (const auto &links : phases.links) {
      problem.links = links;
      choice.phaseNs.push_back(
          simulateProgram(problem, candidate.program).makespanNs);
    }
    own.push_back(std::move(choice));
  }
  all = groups;
  all.insert(all.end(), own.begin(), own.end());
  std::printf("{\"trace\":\"%s\",\"memory_bytes\":%" PRId64
              ",\"hindsight_ns\":%" PRId64 ",\"policies\":[",
              path.c_str(), memoryBytes, hindsightNs(all, phases));
  auto show = [](const char *kind, const std::string &name, int64_t ns,
                 int64_t bytes, int64_t switches, const char *end) {
    std::printf("{\"kind\":\"%s\",\"name\":\"%s\",\"ns\":%" PRId64
                ",\"bytes\":%" PRId64 ",\"switches\":%" PRId64 "}%s",
                kind, name.c_str(), ns, bytes, switches, end);
  };
  for (const Choice &choice : groups)
    show("group", choice.name, fixedNs(choice, phases), choice.bytes, 0, ",");
  for (const Choice &choice : own)
    show("own", choice.name, fixedNs(choice, phases), choice.bytes, 0, ",");
  // An arena is as large as the largest of its programs.
  auto fullest = [](const std::vector<Choice> &choices) {
    int64_t bytes = 0;
    for (const Choice &choice : choices)
      bytes = std::max(bytes, choice.bytes);
    return bytes;
  };
  const Run theirs = follow(limit, phases, /*tours=*/false),
            ours = follow(own, phases, /*tours=*/true);
  show("tuner", "ada-grouper", theirs.ns, fullest(limit), theirs.switches, ",");
  show("tuner", "rondo", ours.ns, fullest(own), ours.switches, "]}\n");
}

int64_t numberOf(const char *text) {
  char *rest = nullptr;
  const int64_t number = std::strtoll(text, &rest, 10);
  if (*rest || number < 1)
    throw std::runtime_error(std::string(text) + " is not a number from 1 on");
  return number;
}

} // namespace

int main(int argc, char **argv) {
  try {
    if (argc < 6)
      throw std::runtime_error(
          "usage: adaptive_simulate RANKS ROOM EFFORT ITERATIONS TRACE...");
    const Bench bench(static_cast<int32_t>(numberOf(argv[1])),
                      std::strtod(argv[2], nullptr), numberOf(argv[3]));
    for (int a = 5; a < argc; ++a)
      bench.simulate(argv[a], numberOf(argv[4]));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
