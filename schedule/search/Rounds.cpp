//===- Rounds.cpp - Concurrent parts of the search ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/Rounds.h"

#include <algorithm>
#include <numeric>

using namespace rondo;

/// Copies the incumbent and its bound to a runner. A runner whose own orders
/// are as good keeps them.
void Rounds::learn(Runner &runner) const {
  runner.best.bound = best.bound;
  if (best.objective >= runner.best.objective)
    return;
  runner.best.orders = best.orders;
  runner.best.objective = best.objective;
  runner.best.origin = best.origin;
}

std::vector<int64_t> Rounds::sharesOf(const std::vector<Turn> &turns,
                                      int64_t left, int64_t least) {
  std::vector<int64_t> shares;
  int64_t asked = 0;
  for (const Turn &turn : turns) {
    shares.push_back(turn.tasks);
    asked += turn.tasks;
  }
  auto share = [&](int64_t tasks) {
    return asked <= left
               ? tasks
               : int64_t(double(left) / double(asked) * double(tasks));
  };
  size_t numServed = shares.size();
  while (numServed > 1 && share(shares[numServed - 1]) <
                              std::min(least, shares[numServed - 1])) {
    asked -= shares[--numServed];
    shares[numServed] = 0;
  }
  for (int64_t &tasks : shares)
    tasks = share(tasks);
  return shares;
}

/// Indices of the turns by descending expected time. A free runner comes first.
/// A runner without a known pace counts as four times slower than the average.
std::vector<int64_t> Rounds::longestFirst(const std::vector<Turn> &turns,
                                          const std::vector<int64_t> &shares) {
  double sum = 0;
  int64_t known = 0;
  for (const Turn &turn : turns) {
    sum += turn.runner->secondsPerTask;
    known += turn.runner->secondsPerTask > 0;
  }
  auto secondsOf = [&](int64_t i) {
    const Runner &runner = *turns[i].runner;
    if (runner.isFree)
      return double(never);
    const double unknown = known > 0 ? 4 * sum / double(known) : 1;
    return double(shares[i]) *
           (runner.secondsPerTask > 0 ? runner.secondsPerTask : unknown);
  };
  std::vector<int64_t> order(turns.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return secondsOf(a) > secondsOf(b);
  });
  return order;
}

/// The tasks left by effort and, unless the result must not depend on time, by
/// time: otherwise the first turns of a large problem would take all the time.
int64_t Rounds::tasksLeft() const {
  const int64_t left = budget.tasksLeft();
  if (budget.isByEffort())
    return left;
  const int64_t ofOne = budget.tasksInTime(), threads = workers.available();
  return ofOne < left / threads ? ofOne * threads : left;
}

void Rounds::run(const std::vector<Turn> &turns) {
  const auto count = int64_t(turns.size());
  const std::vector<int64_t> shares = sharesOf(
      turns, std::max<int64_t>(0, tasksLeft()), shortestTurn * flat.tasks());
  // Index of the first turn whose runner has an optimum.
  std::atomic<int64_t> first{count};
  for (int64_t i = 0; i < count; ++i) {
    Runner &runner = *turns[i].runner;
    learn(runner);
    runner.budget = budget.part(shares[i]);
    runner.budget.cutWhen([&first, i] { return first.load() < i; });
  }
  // The clock is only read if several threads share the turns.
  const bool isShared = workers.count() > 1 && count > 1;
  auto now = [&](const Budget &of) { return isShared ? of.seconds() : 0; };
  std::vector<int64_t> sequence(turns.size());
  std::iota(sequence.begin(), sequence.end(), 0);
  if (isShared)
    sequence = longestFirst(turns, shares);
  std::atomic<bool> isTimeUp{false};
  std::vector<double> seconds(turns.size());
  const double begin = now(budget);
  workers.forEach(count, [&](int32_t, int64_t n) {
    const int64_t i = sequence[n];
    if (first < i)
      return;
    Runner &runner = *turns[i].runner;
    const double start = now(runner.budget);
    // Some parts need 4 * tasks for a first step. A first schedule is made in
    // any case.
    if (runner.isFree || runner.best.objective >= never ||
        (!isTimeUp && !runner.budget.isSpent(4 * flat.tasks())))
      runner.part->run(shares[i]);
    seconds[i] = now(runner.budget) - start;
    if (shares[i] > 0)
      runner.secondsPerTask = seconds[i] / double(shares[i]);
    if (runner.budget.stop() != SearchStop::Exhausted)
      isTimeUp = true;
    if (!runner.best.isOptimal())
      return;
    for (int64_t known = first; i < known;)
      if (first.compare_exchange_weak(known, i))
        return;
  });
  double together = 0;
  for (int64_t i = 0; i < count; ++i) {
    Runner &runner = *turns[i].runner;
    runner.budget.cutWhen(nullptr);
    together += seconds[i];
    if (i > first)
      continue;
    budget.join(runner.budget);
    best.offer(runner.best.orders, runner.best.objective,
               runner.best.origin.c_str());
  }
  budget.addSeconds(std::max(0.0, together - (now(budget) - begin)));
}
