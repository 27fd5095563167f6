//===- Explanation.h - Why a schedule takes its time ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_REPORTS_EXPLANATION_H
#define RONDO_REPORTS_EXPLANATION_H

#include "schedule/search/WhatIf.h"
#include "schedule/timeline/Timeline.h"

#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <string>
#include <vector>

namespace rondo {

/// The critical path of a schedule, the slack of its ranks, and what would make
/// it faster.
class Explanation {
public:
  /// `interrupt`, which may be null, ends the searches for changes.
  Explanation(const Problem &problem, const std::string &name,
              const Schedule &schedule, const Simulation &simulation,
              const std::atomic<bool> *interrupt);

  /// Leaves out the middle of a long path.
  void writeText(llvm::raw_ostream &os) const;
  /// A line of rondo-explanation/1.
  void writeJson(llvm::raw_ostream &os) const;

private:
  struct RankSlack {
    int64_t workNs = 0;
    /// Total duration of the rank's tasks without slack.
    int64_t criticalNs = 0;
    /// The least slack of the others, and the first task that has it; -1: there
    /// is none.
    int64_t slackNs = -1, task = -1;
  };
  std::string nameOf(const PathStep &step) const;
  std::string placeOf(const PathStep &step) const;
  std::string reasonOf(const PathStep &step) const;

  const Problem &problem;
  const std::string name;
  const Timeline timeline;
  const std::vector<PathStep> path;
  std::vector<RankSlack> ranks;
  bool hasSlack = false;
  const std::vector<WhatIf> changes;
};

} // namespace rondo

#endif // RONDO_REPORTS_EXPLANATION_H
