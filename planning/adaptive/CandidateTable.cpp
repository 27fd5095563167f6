//===- CandidateTable.cpp - Finds candidates and keeps the useful ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/adaptive/CandidateTable.h"

#include "planning/FittingSearch.h"
#include "planning/adaptive/MemoryLimit.h"
#include "planning/gathers/FittingGathers.h"
#include "schedule/bounds/Bounds.h"
#include "schedule/families/Family.h"
#include "schedule/program/ProgramSimulator.h"
#include "schedule/rules/Legality.h"

#include <algorithm>
#include <map>

using namespace rondo;

int64_t Candidate::fullestBytes() const {
  return arenaBytes.empty()
             ? 0
             : *std::max_element(arenaBytes.begin(), arenaBytes.end());
}

namespace {

/// The fraction by which a candidate must be faster than the kept ones in some
/// state.
constexpr double leastGain = 0.01;

bool haveSameOrder(const Schedule &a, const Schedule &b) {
  if (a.numRanks() != b.numRanks() || a.linkOrders != b.linkOrders)
    return false;
  for (int32_t r = 0; r < a.numRanks(); ++r)
    if (!std::equal(a.rank(r).begin(), a.rank(r).end(), b.rank(r).begin(),
                    b.rank(r).end()))
      return false;
  return true;
}

/// All group sizes up to 8, then powers of two, and `microbatches`.
std::vector<int64_t> groupsUpTo(int64_t microbatches) {
  std::vector<int64_t> groups;
  for (int64_t k = 1; k <= microbatches; k = k < 8 ? k + 1 : 2 * k)
    groups.push_back(k);
  if (groups.back() != microbatches)
    groups.push_back(microbatches);
  return groups;
}

class Finder {
public:
  Finder(const SizedPlans &plans, const CandidateOptions &options)
      : sizes(plans), options(options) {}

  Result<CandidateTable> run(const WrittenSchedule &written);

private:
  /// The plan with this number of micro-batches; null without one.
  const SizedPlan *plan(int64_t microbatches);
  std::optional<Fault> placeMoves(Candidate &candidate);
  std::optional<Fault> lowerFor(size_t state, Candidate &candidate);
  bool isThere(Candidate &candidate) const;
  /// Adds a candidate for each way to place the messages of its schedule; false
  /// if none runs.
  bool add(Candidate candidate);
  void addGroups();
  void addSearched();
  void searchFor(const NetworkState &state, int64_t microbatches,
                 const SearchOptions &share);
  void keep();
  void keepOne(size_t place);
  void keepBest(std::vector<size_t> among, int64_t most);
  double gainOf(const Candidate &candidate, double &most) const;
  bool isOver(double part) {
    if (!options.deadline.isOver(part) &&
        !(options.interrupt && *options.interrupt))
      return false;
    table.isCutShort = true;
    return true;
  }

  const SizedPlans &sizes;
  const CandidateOptions &options;
  CandidateTable table;
  /// [place in `sizes.microbatches`]: the place in `table.plans`; -1: not
  /// requested yet, -2: no plan.
  std::vector<int64_t> made;
  /// [Candidate::plan], if stages are sharded: the reductions of the plan's
  /// first candidate and its name. All candidates of the plan share its
  /// reference.
  std::map<size_t, std::pair<Units, std::string>> reductions;
  /// [state]: the time of the fastest candidate kept so far.
  std::vector<int64_t> bestNs;
};

const SizedPlan *Finder::plan(int64_t microbatches) {
  const auto &all = sizes.microbatches;
  const auto place = std::find(all.begin(), all.end(), microbatches);
  int64_t &number = made[place - all.begin()];
  if (number == -1) {
    Result<SizedPlan> result = sizes.make(microbatches);
    if (result) {
      number = static_cast<int64_t>(table.plans.size());
      table.plans.push_back(std::move(*result));
    } else {
      number = -2;
    }
  }
  return number < 0 ? nullptr : &table.plans[number];
}

/// Gives the order of a candidate gathers, and the reductions of the others
/// with its micro-batches, if stages are sharded.
std::optional<Fault> Finder::placeMoves(Candidate &candidate) {
  const SizedPlan &plan = table.plans[candidate.plan];
  if (!plan.problem.replicas.areSharded())
    return std::nullopt;
  const PlanArenas arenas(plan.figures, plan.problem);
  const auto known = reductions.find(candidate.plan);
  if (known == reductions.end()) {
    candidate.schedule =
        withGathers(plan.problem, std::move(candidate.schedule), arenas);
    reductions[candidate.plan] = {unitsOf(plan.problem, candidate.schedule),
                                  candidate.name};
    return std::nullopt;
  }
  const auto &[units, name] = known->second;
  std::optional<Schedule> placed =
      withGathersLike(units, plan.problem, candidate.schedule, arenas);
  if (!placed)
    return makeFault<FaultKind::OtherReductions>(candidate.name, name);
  candidate.schedule = std::move(*placed);
  return std::nullopt;
}

/// Lowers, proves and times a schedule with its messages placed for `state`.
/// Returns what is wrong, if anything.
std::optional<Fault> Finder::lowerFor(size_t state, Candidate &candidate) {
  const SizedPlan &plan = table.plans[candidate.plan];
  Problem then = plan.problem;
  table.states[state].applyTo(then);
  ProvedPrograms proved = provePrograms(plan.figures, then, candidate.schedule);
  candidate.placedFor = state;
  candidate.arenaBytes = std::move(proved.arenaBytes);
  candidate.timeNs.clear();
  if (proved.fault)
    return proved.fault;
  for (const NetworkState &each : table.states) {
    each.applyTo(then);
    candidate.timeNs.push_back(
        simulateProgram(then, proved.pipeline).makespanNs);
  }
  // Memory is planned later, together with that of the other programs.
  candidate.program.order = std::move(proved.pipeline.order);
  candidate.program.collectives = std::move(proved.pipeline.collectives);
  return std::nullopt;
}

/// Whether the table has an equal candidate; then marks `candidate` as Same.
bool Finder::isThere(Candidate &candidate) const {
  for (size_t c = 0; c < table.candidates.size(); ++c) {
    const Candidate &other = table.candidates[c];
    if (other.plan != candidate.plan || other.timeNs != candidate.timeNs ||
        !haveSameOrder(other.schedule, candidate.schedule))
      continue;
    candidate.fate = Candidate::Fate::Same;
    candidate.instead = c;
    return true;
  }
  return false;
}

bool Finder::add(Candidate candidate) {
  const SizedPlan &plan = table.plans[candidate.plan];
  candidate.microbatches = plan.problem.microbatches;
  candidate.samples = sizes.samples / candidate.microbatches;
  candidate.fault = placeMoves(candidate);
  if (candidate.fault) {
    candidate.fate = Candidate::Fate::OtherReductions;
    table.candidates.push_back(std::move(candidate));
    return false;
  }
  std::optional<Fault> first;
  bool runs = false;
  for (size_t state = 0; state < table.states.size(); ++state) {
    Candidate placed = candidate;
    if (std::optional<Fault> fault = lowerFor(state, placed)) {
      if (!first) {
        first = std::move(fault);
        candidate.arenaBytes = std::move(placed.arenaBytes);
      }
      continue;
    }
    runs = true;
    // Report a duplicate only for the first state.
    if (isThere(placed) && state > 0)
      continue;
    table.candidates.push_back(std::move(placed));
  }
  if (runs)
    return true;
  candidate.fate = Candidate::Fate::NoMemory;
  candidate.fault = std::move(first);
  table.candidates.push_back(std::move(candidate));
  return false;
}

void Finder::addGroups() {
  std::vector<GroupPoint> fitting;
  for (int64_t k : groupsUpTo(sizes.microbatches.back()))
    for (int64_t microbatches : sizes.microbatches) {
      if (microbatches < k)
        continue;
      if (isOver(0.5))
        return;
      const SizedPlan *sized = plan(microbatches);
      if (!sized)
        continue;
      Candidate candidate;
      const FamilyChoice choice{findFamily("kfkb"), {{"k", k}}};
      FamilyResult made = generate(choice, sized->problem);
      if (!made)
        return; // kfkb does not apply to these stages
      candidate.name = "kfkb k=" + std::to_string(k);
      candidate.family = choice.text();
      candidate.group = k;
      candidate.plan = sized - table.plans.data();
      candidate.schedule = *std::move(made);
      if (add(std::move(candidate)))
        fitting.push_back({k, sizes.samples / microbatches});
    }
  const std::vector<GroupPoint> limit = onMemoryLimit(fitting);
  for (Candidate &candidate : table.candidates)
    candidate.isOnMemoryLimit =
        std::any_of(limit.begin(), limit.end(), [&](const GroupPoint &point) {
          return candidate.group == point.k &&
                 candidate.samples == point.samples;
        });
}

/// The best schedule whose programs fit the devices. Unlike searchPlan(),
/// limits arenas for timed layers too, which declare no weights: all candidates
/// share one arena.
static SearchResult searchWithin(const PlanFigures &plan,
                                 const Problem &problem,
                                 const SearchOptions &options) {
  if (problem.replicas.areSharded())
    return searchPlan(plan, problem, options, search);
  if (!mayBlock(plan, problem) && !mayOverflow(plan, problem))
    return search(problem, options);
  Problem tightened = problem;
  return searchFitting({plan, problem, roughBound(problem), tightened, search,
                        /*mayGiveUp=*/[] { return false; }},
                       options);
}

void Finder::searchFor(const NetworkState &state, int64_t microbatches,
                       const SearchOptions &share) {
  const SizedPlan &sized = *plan(microbatches);
  Problem then = sized.problem;
  state.applyTo(then);
  SearchResult result = searchWithin(sized.figures, then, share);
  if (!result.schedule)
    return;
  Candidate candidate;
  candidate.name = "search";
  candidate.plan = &sized - table.plans.data();
  candidate.schedule = *result.schedule;
  candidate.found = std::move(result);
  add(std::move(candidate));
}

void Finder::addSearched() {
  // (state, number of micro-batches): those of the state's fastest candidate,
  // and those of the plan as written.
  std::vector<std::pair<size_t, int64_t>> searches;
  for (size_t s = 0; s < table.states.size(); ++s) {
    const Candidate *best = nullptr;
    for (const Candidate &candidate : table.candidates)
      if (candidate.runs() && (!best || candidate.timeNs[s] < best->timeNs[s]))
        best = &candidate;
    searches.push_back({s, best->microbatches});
    const int64_t written = table.candidates.front().microbatches;
    if (best->microbatches != written)
      searches.push_back({s, written});
  }
  for (size_t n = 0; n < searches.size(); ++n) {
    if (isOver(1))
      return;
    SearchOptions share;
    share.seed = options.seed;
    share.interrupt = options.interrupt;
    share.inIndexOrder = true;
    const auto left = static_cast<int64_t>(searches.size() - n);
    share.effort = options.effort > 0
                       ? std::max<int64_t>(1, options.effort / searches.size())
                       : 0;
    share.timeLimitMs =
        options.deadline.exists()
            ? std::max<int64_t>(1, options.deadline.leftMs() / left)
            : 0;
    searchFor(table.states[searches[n].first], searches[n].second, share);
  }
}

/// The sum over states of the fraction by which a candidate is faster than the
/// fastest kept one. Sets `most` to the largest such fraction.
double Finder::gainOf(const Candidate &candidate, double &most) const {
  double sum = 0;
  most = 0;
  for (size_t s = 0; s < bestNs.size(); ++s) {
    const double gain =
        double(bestNs[s]) / double(std::max<int64_t>(1, candidate.timeNs[s])) -
        1;
    sum += std::max(0., gain);
    most = std::max(most, gain);
  }
  return sum;
}

void Finder::keepOne(size_t place) {
  const Candidate &candidate = table.candidates[place];
  table.kept.push_back(place);
  for (size_t s = 0; s < bestNs.size(); ++s)
    bestNs[s] = std::min(bestNs[s], candidate.timeNs[s]);
}

void Finder::keep() {
  std::vector<Candidate> &all = table.candidates;
  bestNs = all.front().timeNs;
  keepOne(0);
  std::vector<size_t> open;
  std::optional<size_t> single;
  for (size_t c = 1; c < all.size(); ++c) {
    if (all[c].fate != Candidate::Fate::Kept)
      continue;
    open.push_back(c);
    if (all[c].group == 1 &&
        (!single || all[c].timeNs.front() < all[*single].timeNs.front()))
      single = c;
  }
  const bool isWrittenSingle =
      std::any_of(all.begin(), all.end(), [](const Candidate &candidate) {
        return candidate.group == 1 &&
               candidate.fate == Candidate::Fate::Same &&
               candidate.instead == 0;
      });
  if (single && !isWrittenSingle) {
    keepOne(*single);
    open.erase(std::find(open.begin(), open.end(), *single));
  }
  // Costs of other sizes may be estimates, and only schedules of one size give
  // the same bits: half of the places go to candidates of the size as written,
  // if these are useful.
  std::vector<size_t> ofOneSize;
  std::copy_if(open.begin(), open.end(), std::back_inserter(ofOneSize),
               [&](size_t c) { return all[c].plan == all.front().plan; });
  keepBest(ofOneSize, options.most / 2);
  keepBest(open, options.most);
  for (size_t c : open) {
    const bool isKept =
        std::find(table.kept.begin(), table.kept.end(), c) != table.kept.end();
    double most = 0;
    gainOf(all[c], most);
    if (!isKept)
      all[c].fate = most >= leastGain ? Candidate::Fate::TooMany
                                      : Candidate::Fate::NotNeeded;
  }
}

/// Keeps the most useful candidate of `among` until `most` are kept or none is
/// useful.
void Finder::keepBest(std::vector<size_t> among, int64_t most) {
  while (static_cast<int64_t>(table.kept.size()) < most) {
    std::optional<size_t> best;
    double bestGain = 0;
    for (size_t c : among) {
      double greatest = 0;
      const double gain = gainOf(table.candidates[c], greatest);
      if (greatest >= leastGain && gain > bestGain) {
        bestGain = gain;
        best = c;
      }
    }
    if (!best)
      return;
    keepOne(*best);
  }
}

Result<CandidateTable> Finder::run(const WrittenSchedule &written) {
  made.assign(sizes.microbatches.size(), -1);
  // Keeps pointers to plans valid.
  table.plans.reserve(sizes.microbatches.size());
  Result<SizedPlan> first = sizes.make(/*microbatches=*/0);
  if (!first)
    return first.fault();
  table.plans.push_back(*std::move(first));
  const Problem &problem = table.plans.front().problem;
  made[std::find(sizes.microbatches.begin(), sizes.microbatches.end(),
                 problem.microbatches) -
       sizes.microbatches.begin()] = 0;
  table.states =
      options.states.empty() ? networkStates(problem) : options.states;
  Candidate asWritten;
  asWritten.name = written.name;
  asWritten.family = written.family;
  asWritten.schedule = written.schedule;
  if (!add(std::move(asWritten)))
    return *table.candidates.front().fault;
  addGroups();
  if (options.searches)
    addSearched();
  keep();
  for (size_t s = 0; s < table.states.size(); ++s)
    table.best.push_back(*std::min_element(
        table.kept.begin(), table.kept.end(), [&](size_t a, size_t b) {
          return table.candidates[a].timeNs[s] < table.candidates[b].timeNs[s];
        }));
  return std::move(table);
}

} // namespace

Result<CandidateTable> rondo::findCandidates(const SizedPlans &plans,
                                             const WrittenSchedule &written,
                                             const CandidateOptions &options) {
  return Finder(plans, options).run(written);
}
