//===- Slack.h - How much later tasks may end -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_TIMELINE_SLACK_H
#define RONDO_SCHEDULE_TIMELINE_SLACK_H

#include "schedule/timeline/Timeline.h"

#include <cstdint>
#include <vector>

namespace rondo {

/// By position of a task: how much longer it may take before the makespan
/// grows, if all else takes its time and links carry their messages in the same
/// order. 0 on the critical path. Empty where ranks share more than links:
/// NICs, or the state of stages. O(tasks * log tasks).
std::vector<int64_t> slackOf(const Problem &problem, const Timeline &timeline);

} // namespace rondo

#endif // RONDO_SCHEDULE_TIMELINE_SLACK_H
