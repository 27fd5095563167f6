//===- AdaptiveFixture.h - Schedules to choose among ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_RUNTIME_ADAPTIVEFIXTURE_H
#define RONDO_TEST_UNIT_RUNTIME_ADAPTIVEFIXTURE_H

#include "Fixture.h"

#include "runtime/adaptive/estimator.h"

namespace rondo::runtime::test {

/// Two schedules of three ranks, and measurements of them.
struct Candidates {
  Candidates() {
    Spec spec = timedOnRanks(3, 1000, 6);
    spec.others.push_back({"all_forward", 6, 0, forwardThenBackward});
    program.emplace(spec);
    work.assign(static_cast<size_t>(program->exe.numReplicas) * numCostColumns,
                0);
    for (int32_t h = 0; h < program->exe.numReplicas; ++h)
      for (ActionKind kind :
           {ActionKind::Forward, ActionKind::InputGrad, ActionKind::WeightGrad})
        work[static_cast<size_t>(h * numCostColumns + costColumn(kind))] = 1000;
    for (ProgramDesc &desc : program->programs) {
      desc.workNs = work.data();
      if (desc.kind == ProgramKind::Pipeline)
        pipelines.push_back(&desc);
    }
  }
  Measurements like(int64_t ns, int64_t messageNs) const {
    Measurements measured;
    measured.microbatches = 6;
    measured.samples = pipelines.front()->samples;
    for (int64_t each : work)
      measured.workNs.push_back(each > 0 ? ns : 0);
    const int64_t bytes = program->exe.edges[0].bytes;
    for (auto [from, to] : {std::pair(0, 1), {1, 2}, {2, 1}, {1, 0}})
      measured.links.push_back(
          {from, to, 6, bytes, messageNs, 0, 0,
           std::max<int64_t>(1, 1000 * bytes / messageNs)});
    return measured;
  }

  std::optional<rondo::runtime::test::Program> program;
  std::vector<int64_t> work;
  std::vector<const ProgramDesc *> pipelines;
};

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_RUNTIME_ADAPTIVEFIXTURE_H
