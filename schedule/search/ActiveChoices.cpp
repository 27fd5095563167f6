//===- ActiveChoices.cpp - Candidate next tasks of a schedule -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Active schedules (Giffler and Thompson, 1960) of ranks and contended links:
// of all tasks and messages that could be next, the one that would end first
// determines a rank or link. The successors are those of its tasks or messages
// that could start before that end.
//
// These choices are dominant. Consider a schedule that continues differently.
// The task or message that would end first fits before what comes next there,
// and nothing gets later: I and W only release memory, and F only moves before
// I and W, unless another stage's F of its rank comes first. For that case,
// further successors ban this F until another stage's F has run on the rank. So
// the choices reach an optimal schedule if the objective never gains from a
// later end.
//
//===----------------------------------------------------------------------===//

#include "schedule/search/ActiveChoices.h"

#include <algorithm>

using namespace rondo;

std::vector<bool> rondo::ranksThatMayWait(const FlatProblem &flat) {
  std::vector<bool> result;
  for (int32_t rank = 0; rank < flat.ranks; ++rank) {
    int64_t all = 0;
    for (int32_t s : flat.stagesOf[rank])
      all += flat.takes[s] * flat.microbatches;
    result.push_back(flat.stagesOf[rank].size() > 1 && all > flat.caps[rank]);
  }
  return result;
}

ActiveChoices::ActiveChoices(const FlatProblem &flat)
    : flat(flat), mayWait(ranksThatMayWait(flat)) {
  for (const std::vector<int32_t> &stages : flat.stagesOf)
    hasEqualWeightGrads.push_back(
        std::all_of(stages.begin(), stages.end(), [&](int32_t s) {
          return flat.ns[Task::W][s] == flat.ns[Task::W][stages.front()] &&
                 flat.weightGradFrees[s] ==
                     flat.weightGradFrees[stages.front()];
        }));
}

void ActiveChoices::list(const PartialState &state, Scratch &choices) const {
  choices.clear();
  for (int32_t r = 0; r < flat.ranks; ++r) {
    bool hasWeightGrad = false;
    const PartialState::InFlight inFlight = state.inFlight(flat, r, Task::F);
    for (int32_t s : flat.stagesOf[r])
      for (Task task : allTasks) {
        const int64_t start = state.earliest(flat, task, s);
        if (start >= never ||
            (task == Task::F &&
             (state.banned(s) || !state.fits(flat, inFlight, s, Task::F))))
          continue;
        // W of stages with equal times and bytes are interchangeable.
        if (task == Task::W) {
          if (hasWeightGrad && hasEqualWeightGrads[r])
            continue;
          hasWeightGrad = true;
        }
        choices.push_back({{r}, task, s, -1, start, start + flat.ns[task][s]});
      }
  }
  if (!flat.hasContendedLinks)
    return;
  for (size_t e = 0; e < flat.messages.size(); ++e) {
    const FlatProblem::Message &message = flat.messages[e];
    if (!message.isContended || !message.beginsBurst())
      continue;
    const int64_t start = state.earliestSend(flat, int32_t(e));
    if (start < never)
      choices.push_back({{message.link, true},
                         message.task,
                         message.from,
                         int32_t(e),
                         start,
                         start + message.occupancyNs});
  }
}

void ActiveChoices::expand(const PartialState &state, Scratch &choices,
                           Successors &successors) const {
  list(state, choices);
  if (choices.empty())
    return;
  const Choice first = forEachActive(
      choices, [&](const Choice &choice) { make(state, choice, successors); });
  if (first.machine.isLink || first.task != Task::F ||
      !mayWait[first.machine.number] || !canWait(state, first.stage))
    return;
  PartialState held = state;
  held.banned(first.stage) = 1;
  expand(held, choices, successors);
}

/// Whether another stage of the rank still has an F that is not banned.
bool ActiveChoices::canWait(const PartialState &state, int32_t stage) const {
  for (int32_t s : flat.stagesOf[flat.rankOf[stage]])
    if (s != stage && !state.banned(s) &&
        state.done(Task::F, s) < flat.microbatches)
      return true;
  return false;
}

void ActiveChoices::make(const PartialState &state, const Choice &choice,
                         Successors &successors) const {
  if (successors.count == successors.children.size())
    successors.children.emplace_back();
  Child &child = successors.children[successors.count++];
  child.state = state;
  if (choice.machine.isLink)
    child.state.send(flat, choice.edge);
  else
    child.state.run(flat, choice.task, choice.stage, choice.start);
  child.choice = choice;
  child.isKept = child.isBeaten = child.isEstimated = false;
}
