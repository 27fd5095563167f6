//===- Slack.h - Slack of tasks ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_TIMELINE_SLACK_H
#define RONDO_SCHEDULE_TIMELINE_SLACK_H

#include "schedule/timeline/Timeline.h"

#include <cstdint>
#include <vector>

namespace rondo {

/// [position of a task]: by how much the task can take longer before the
/// makespan grows, if all other durations and the order of messages on each
/// link stay the same. 0 on the critical path. Empty if ranks share NICs or
/// sharded state. O(tasks * log tasks).
std::vector<int64_t> slackOf(const Problem &problem, const Timeline &timeline);

} // namespace rondo

#endif // RONDO_SCHEDULE_TIMELINE_SLACK_H
