//===- Fixture.h - Problems and programs for tests of lowering --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_LOWERING_FIXTURE_H
#define RONDO_TEST_UNIT_LOWERING_FIXTURE_H

#include "schedule/program/ProgramSimulator.h"
#include "schedule/rules/ProgramRules.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace rondo::test {

/// A chain with one stage per rank; F, I and W take 1000, 1100 and 800 ns, and
/// an activation is 100 bytes.
Problem linearProblem(int32_t ranks, int32_t microbatches, int64_t latencyNs,
                      int64_t outputBytes, int64_t bytesPerUs);

/// Places the stages on fewer ranks, one chunk after another; every second
/// chunk runs up the ranks if `isWave` is set.
void layInChunks(Problem &problem, int32_t ranks, bool isWave);

/// A few bytes of every kind, as the ends of the chain have them.
std::vector<ReplicaBuffers> replicaBuffers(const Problem &problem);

/// The order that a family such as `kfkb:k=2` writes.
Schedule familySchedule(const std::string &name, const Problem &problem);

/// Tasks whose needs are met, one by one at random over all ranks, so that
/// there is no wait cycle; with the steps of all stages if `hasSteps` is set.
Schedule randomOrders(const Problem &problem, std::mt19937 &random,
                      bool hasSteps);

/// A norm over all stages.
Collective norm(const Problem &problem);

/// Checks all rules of lowered programs; returns the first broken one, or
/// nothing.
std::string broken(const Problem &problem, const Schedule &schedule,
                   const Program &program, const std::vector<int64_t> &caps);

/// The program of a schedule, with a norm and with memory.
Program lower(const Problem &problem, const Schedule &schedule);
Program lower(const Problem &problem, const Schedule &schedule,
              const TrainingNeeds &needs);

} // namespace rondo::test

#endif // RONDO_TEST_UNIT_LOWERING_FIXTURE_H
