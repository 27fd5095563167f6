//===- background.cpp - Estimates in a thread of their own ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/adaptive/background.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

using namespace rondo;
using namespace rondo::runtime;

BackgroundEstimator::BackgroundEstimator(Estimator own, const SearchPlan &plan)
    : estimator(std::move(own)), plan(plan),
      numCompiled(estimator.numCandidates()) {
  known.ns.assign(numCompiled, -1);
  thread.start([this] { work(); });
}

BackgroundEstimator::~BackgroundEstimator() { thread.stop(); }

void BackgroundEstimator::begin(Measurements measured, size_t running) {
  {
    std::lock_guard<std::mutex> lock(thread.mutex);
    fresh.push_back({std::move(measured), running});
    result.reset();
  }
  thread.changed.notify_one();
}

std::optional<Estimates> BackgroundEstimator::takeResult() {
  std::lock_guard<std::mutex> lock(thread.mutex);
  return std::exchange(result, std::nullopt);
}

bool BackgroundEstimator::hasChanged() const {
  if (searchedAt.empty())
    return true;
  for (size_t p = 0; p < numCompiled; ++p)
    if (std::fabs(static_cast<double>(known.ns[p] - searchedAt[p])) >
        plan.leastChange * static_cast<double>(searchedAt[p]))
      return true;
  return false;
}

/// A new place, or that of the slowest which is neither running nor the best.
size_t BackgroundEstimator::placeForFound(size_t running) const {
  if (known.found.size() < maxFound)
    return numCompiled + known.found.size();
  const auto best = static_cast<size_t>(
      std::min_element(known.ns.begin(), known.ns.end()) - known.ns.begin());
  size_t slowest = 0;
  for (size_t p = numCompiled; p < known.ns.size(); ++p)
    if (p != running && p != best &&
        (slowest == 0 || known.ns[p] > known.ns[slowest]))
      slowest = p;
  return slowest;
}

/// The candidates with the micro-batches of `like`.
std::vector<const Program *>
BackgroundEstimator::startsLike(size_t like) const {
  std::vector<const Program *> starts;
  for (size_t p = 0; p < estimator.numCandidates(); ++p)
    if (estimator.program(p).microbatches ==
            estimator.program(like).microbatches &&
        estimator.program(p).samples == estimator.program(like).samples)
      starts.push_back(&estimator.values(p).program);
  if (tooNear && tooNear->first == like)
    starts.push_back(&tooNear->second);
  return starts;
}

/// Whether there is a new program. A search that fails leaves the run as it is.
bool BackgroundEstimator::searchLike(const Round &round) {
  try {
    return findLike(round);
  } catch (const std::exception &error) {
    known.why = error.what();
    return false;
  }
}

bool BackgroundEstimator::findLike(const Round &round) {
  searchedAt.assign(known.ns.begin(),
                    known.ns.begin() + static_cast<ptrdiff_t>(numCompiled));
  const size_t like = estimator.like(round.measured);
  SearchOutcome outcome = plan.search->find(
      {*plan.executable, estimator.program(like), estimator.values(like),
       plan.timeLimitMs << std::min(turnsHad++, 2), &thread.isStopping,
       static_cast<uint64_t>(numSearches++), startsLike(like)});
  known.why = std::move(outcome.why);
  if (!outcome.found)
    return false;
  if (outcome.found->isOptimal)
    turnsLeft = 0;
  const int64_t best = *std::min_element(known.ns.begin(), known.ns.end());
  if (best > 0 && static_cast<double>(outcome.found->ns) >
                      (1 - plan.leastChange) * static_cast<double>(best)) {
    tooNear = {like, std::move(outcome.found->program)};
    return false;
  }
  tooNear.reset();
  const size_t place = placeForFound(round.running);
  const auto program = std::make_shared<const FoundProgram>(
      estimator.program(like), "found_" + std::to_string(++numFound),
      std::move(outcome.found->program), estimator.values(like).problem);
  known.found.resize(std::max(known.found.size(), place - numCompiled + 1));
  known.found[place - numCompiled] = program;
  estimator.put(place, like, program);
  known.ns = estimator.estimate();
  return true;
}

/// If it fails, the estimates stay as they are.
void BackgroundEstimator::takeAll(std::vector<Round> taken) {
  known.why.clear();
  try {
    for (const Round &round : taken)
      estimator.take(round.measured);
    known.ns = estimator.estimate();
    last = std::move(taken.back());
    if (plan.search && hasChanged()) {
      if (turnsLeft == 0)
        turnsHad = 0;
      turnsLeft = plan.turns;
    }
  } catch (const std::exception &error) {
    known.why = error.what();
  }
}

bool BackgroundEstimator::workOnce() {
  std::unique_lock<std::mutex> lock(thread.mutex);
  thread.changed.wait(lock, [this] {
    return thread.isStopping || !fresh.empty() || turnsLeft > 0;
  });
  if (thread.isStopping)
    return false;
  if (!fresh.empty()) {
    std::vector<Round> taken = std::exchange(fresh, {});
    lock.unlock();
    takeAll(std::move(taken));
    lock.lock();
    if (fresh.empty())
      result = known;
  }
  if (turnsLeft == 0 || thread.isStopping)
    return true;
  --turnsLeft;
  lock.unlock();
  const bool isNew = searchLike(*last);
  lock.lock();
  // If there are newer measurements, the next round reports its estimates.
  if (fresh.empty() && (isNew || !known.why.empty()))
    result = known;
  known.why.clear();
  return true;
}

void BackgroundEstimator::work() {
  for (;;) {
    try {
      if (!workOnce())
        return;
    } catch (const std::exception &) {
      // Memory is not enough to report. The run keeps its schedule, and the
      // next measurements are estimated again. An exception that left the
      // thread would end the process.
      turnsLeft = 0;
    }
  }
}
