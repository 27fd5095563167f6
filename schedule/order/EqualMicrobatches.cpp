//===- EqualMicrobatches.cpp - Ranks with equal micro-batches -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/order/EqualMicrobatches.h"

#include <algorithm>

using namespace rondo;

ActionRange rondo::firstOfEqualMicrobatches(ActionRange actions,
                                            int32_t microbatches) {
  const ActionRange none;
  int64_t each = 0;
  while (each < actions.size() && actions[each].isTask() &&
         actions[each].index == 0)
    ++each;
  const int64_t all = each * microbatches;
  if (each == 0 || all > actions.size())
    return none;
  for (int64_t k = each; k < all; ++k) {
    Action before = actions[k - each];
    ++before.index;
    if (actions[k] != before)
      return none;
  }
  // Only steps and collectives follow.
  const bool hasOthers =
      std::any_of(actions.begin() + all, actions.end(), [](Action action) {
        return action.traits().index != IndexMeaning::Step;
      });
  return hasOthers ? none : ActionRange{actions.first, actions.first + each};
}
