//===- NamedSchedules.cpp - The schedules that --schedule names -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/NamedSchedules.h"

#include "dialect/Nearest.h"
#include "tools/driver/Report.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rondo::driver {

/// A name of --schedule, as in the file or without its @.
static StringRef nameIn(StringRef word) {
  word = word.trim();
  word.consume_front("@");
  return word;
}

bool hasEmptyName(StringRef wanted) {
  SmallVector<StringRef> words;
  wanted.split(words, ',');
  return any_of(words, [](StringRef word) { return nameIn(word).empty(); });
}

SmallVector<pipe::ScheduleOp, 0>
findSchedules(mlir::ModuleOp module, StringRef wanted, StringRef input) {
  SmallVector<pipe::ScheduleOp, 0> chosen;
  SmallVector<StringRef> words;
  wanted.split(words, ',');
  for (StringRef word : words) {
    word = nameIn(word);
    if (auto schedule = module.lookupSymbol<pipe::ScheduleOp>(word)) {
      if (!is_contained(chosen, schedule))
        chosen.push_back(schedule);
      continue;
    }
    if (auto executable = module.lookupSymbol<pipe::ExecutableOp>(word);
        executable && words.size() == 1)
      return executable.lookupSchedules();
    std::string names;
    std::vector<std::string> known;
    for (pipe::ScheduleOp schedule : module.getOps<pipe::ScheduleOp>()) {
      names += " @" + schedule.getSymName().str();
      known.push_back(schedule.getSymName().str());
    }
    const std::string nearest = nearestWord(word.str(), known);
    reportError(input + ": contains no pipe.schedule @" + word +
                (nearest.empty() ? "" : "; did you mean @" + nearest + "?"));
    reportNote("it contains" + names);
    return {};
  }
  return chosen;
}

} // namespace rondo::driver
