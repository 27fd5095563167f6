//===- Task.h - The tasks of a stage and micro-batch ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A flat problem, its search and its bounds distinguish three tasks of a stage
// and micro-batch. They run in the order of the enumerators. B is I followed by
// W. R is part of I.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_MODEL_TASK_H
#define RONDO_SCHEDULE_MODEL_TASK_H

#include "kinds/Actions.h"

#include <cstddef>
#include <cstdint>

namespace rondo {

enum class Task : uint8_t { F, I, W };

inline constexpr int tasksPerMicrobatch = 3;
inline constexpr Task allTasks[tasksPerMicrobatch] = {Task::F, Task::I,
                                                      Task::W};

constexpr int indexOf(Task task) { return static_cast<int>(task); }
/// Precondition: not F.
constexpr Task taskBefore(Task task) {
  return static_cast<Task>(indexOf(task) - 1);
}
/// Precondition: not W.
constexpr Task taskAfter(Task task) {
  return static_cast<Task>(indexOf(task) + 1);
}
/// The task in its place if time runs backwards: F and I exchange, W stays.
constexpr Task mirrored(Task task) {
  return task == Task::F ? Task::I : task == Task::I ? Task::F : Task::W;
}

constexpr ActionKind kindOf(Task task) {
  constexpr ActionKind kinds[] = {ActionKind::Forward, ActionKind::InputGrad,
                                  ActionKind::WeightGrad};
  return kinds[indexOf(task)];
}
/// The task that an action runs: I for B, which runs W as well, and for R.
/// Precondition: the kind is a task.
constexpr Task taskOf(ActionKind kind) {
  return kind == ActionKind::Forward      ? Task::F
         : kind == ActionKind::WeightGrad ? Task::W
                                          : Task::I;
}

/// A value for each task.
template <typename T> struct PerTask {
  T values[tasksPerMicrobatch];

  constexpr T &operator[](Task task) { return values[indexOf(task)]; }
  constexpr const T &operator[](Task task) const {
    return values[indexOf(task)];
  }
  constexpr T *begin() { return values; }
  constexpr T *end() { return values + tasksPerMicrobatch; }
  constexpr const T *begin() const { return values; }
  constexpr const T *end() const { return values + tasksPerMicrobatch; }
};

/// A task of a stage without its micro-batch: the index in tables that have an
/// entry for each task of each stage.
using Code = uint32_t;
constexpr Code codeOf(Task task, int32_t stage) {
  return static_cast<Code>(tasksPerMicrobatch * stage + indexOf(task));
}
constexpr Task taskOf(Code code) {
  return static_cast<Task>(code % tasksPerMicrobatch);
}
constexpr int32_t stageOf(Code code) {
  return static_cast<int32_t>(code / tasksPerMicrobatch);
}
/// Number of codes.
constexpr size_t numCodes(int32_t stages) {
  return static_cast<size_t>(tasksPerMicrobatch) * static_cast<size_t>(stages);
}

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_TASK_H
