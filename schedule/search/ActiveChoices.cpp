//===- ActiveChoices.cpp - What may come next in a schedule ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Active schedules (Giffler and Thompson, 1960) of ranks and contended links:
// of all tasks and messages that could be next, the one that would end first
// determines a rank or link, which takes any of its own that could start before
// that end. Consider a schedule that continues differently. The one that would
// end first fits before what comes next there, and nothing gets later: I and W
// only give memory back, and F only moves before tasks of these letters, unless
// another stage's F of its rank comes first. For that case F is also banned
// until one has run there. So these choices reach the best schedule if the
// objective never gains from a later end.
//
//===----------------------------------------------------------------------===//

#include "schedule/search/ActiveChoices.h"

#include <algorithm>

using namespace rondo;

ActiveChoices::ActiveChoices(const FlatProblem &flat) : flat(flat) {
  for (int32_t rank = 0; rank < flat.ranks; ++rank) {
    const auto &stages = flat.stagesOf[rank];
    int64_t all = 0;
    bool areEqual = true;
    for (int32_t s : stages) {
      all += flat.takes[s] * flat.microbatches;
      areEqual &=
          flat.ns[2][s] == flat.ns[2][stages.front()] &&
          flat.weightGradFrees[s] == flat.weightGradFrees[stages.front()];
    }
    mayBan.push_back(stages.size() > 1 && all > flat.caps[rank]);
    hasEqualWeightGrads.push_back(areEqual);
  }
}

void ActiveChoices::list(const PartialState &state, Scratch &choices) const {
  choices.clear();
  for (int32_t r = 0; r < flat.ranks; ++r) {
    bool hasWeightGrad = false;
    const PartialState::InFlight inFlight = state.inFlight(flat, r, 0);
    for (int32_t s : flat.stagesOf[r])
      for (int letter : {0, 1, 2}) {
        const int64_t start = state.earliest(flat, letter, s);
        if (start >= never ||
            (letter == 0 &&
             (state.banned(s) || !state.fits(flat, inFlight, s, 0))))
          continue;
        // W of stages with equal times and bytes are interchangeable.
        if (letter == 2) {
          if (hasWeightGrad && hasEqualWeightGrads[r])
            continue;
          hasWeightGrad = true;
        }
        choices.push_back(
            {{r}, letter, s, -1, start, start + flat.ns[letter][s]});
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
                         message.letter,
                         message.from,
                         int32_t(e),
                         start,
                         start + message.occupancyNs});
  }
}

void ActiveChoices::expand(const PartialState &state, Scratch &choices,
                           Brood &brood) const {
  list(state, choices);
  if (choices.empty())
    return;
  const Choice first = *std::min_element(
      choices.begin(), choices.end(),
      [](const Choice &a, const Choice &b) { return a.end < b.end; });
  for (const Choice &choice : choices)
    if (choice.machine == first.machine &&
        (choice.start < first.end || choice.end == first.end))
      make(state, choice, brood);
  if (first.machine.isLink || first.letter != 0 ||
      !mayBan[first.machine.number] || !canWait(state, first.stage))
    return;
  PartialState held = state;
  held.banned(first.stage) = 1;
  expand(held, choices, brood);
}

/// Another stage of this rank still has an F that is not banned.
bool ActiveChoices::canWait(const PartialState &state, int32_t stage) const {
  for (int32_t s : flat.stagesOf[flat.rankOf[stage]])
    if (s != stage && !state.banned(s) && state.done(0, s) < flat.microbatches)
      return true;
  return false;
}

void ActiveChoices::make(const PartialState &state, const Choice &choice,
                         Brood &brood) const {
  if (brood.count == brood.children.size())
    brood.children.emplace_back();
  Child &child = brood.children[brood.count++];
  child.state = state;
  if (choice.machine.isLink)
    child.state.send(flat, choice.edge);
  else
    child.state.run(flat, choice.letter, choice.stage, choice.start);
  child.choice = choice;
  child.isKept = child.isBeaten = child.isEstimated = false;
}
