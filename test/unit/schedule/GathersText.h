//===- GathersText.h - Orders with gathers as text --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_SCHEDULE_GATHERSTEXT_H
#define RONDO_TEST_UNIT_SCHEDULE_GATHERSTEXT_H

#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <string>

namespace rondo::test {

/// A rank's order in words of one letter, stage and number, `U` for unshard,
/// `R` for reshard and `S` for reduce_grad: `U0 F0.0 R0`.
inline std::string gathersText(const Problem &problem, const Schedule &schedule,
                               int32_t rank) {
  std::string text;
  for (Action action : schedule.rank(rank)) {
    text += text.empty() ? "" : " ";
    const std::string stage =
        std::to_string(problem.replicas[action.subject].stage);
    switch (action.kind()) {
    case ActionKind::Unshard:
      text += "U" + stage;
      break;
    case ActionKind::Reshard:
      text += "R" + stage;
      break;
    case ActionKind::ReduceGrad:
      text += "S" + stage;
      break;
    default:
      text += std::string(1, action.traits().letter) + stage + "." +
              std::to_string(action.index);
    }
  }
  return text;
}

} // namespace rondo::test

#endif // RONDO_TEST_UNIT_SCHEDULE_GATHERSTEXT_H
