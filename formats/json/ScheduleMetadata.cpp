//===- ScheduleMetadata.cpp - What a schedule says of itself --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ScheduleMetadata.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

using llvm::StringRef;

namespace rondo::json {

static std::optional<TextFault> checkSearch(Value value, bool isVersion2) {
  Fields search;
  auto fault = search.read(value, "search", {},
                           {"seed", "effort", "seconds", "stopped"});
  if (fault || !isVersion2)
    return fault;
  for (StringRef key : {"seed", "effort"}) {
    int64_t number;
    if (const Value *found = search.find(key))
      if ((fault = readInteger(*found, "search." + key.str(), 0,
                               std::numeric_limits<int64_t>::max(), number)))
        return fault;
  }
  if (const Value *seconds = search.find("seconds")) {
    std::optional<double> number = seconds->number();
    if (!number || *number < 0)
      return "search.seconds is " + seconds->excerpt() +
             ", not a number of 0 or more";
  }
  if (const Value *stopped = search.find("stopped")) {
    const StringRef reasons[] = {"time", "optimal", "exhausted", "interrupted"};
    if (!llvm::is_contained(reasons, stopped->string().value_or("")))
      return "search.stopped is " + stopped->excerpt() +
             ", not \"time\", \"optimal\", \"exhausted\" or \"interrupted\"";
  }
  return {};
}

std::optional<TextFault> checkMetadata(const Fields &schedule,
                                       bool isVersion2) {
  if (const Value *search = schedule.find("search"))
    if (auto fault = checkSearch(*search, isVersion2))
      return fault;
  if (!isVersion2)
    return {};
  for (StringRef key : {"family", "bound", "infeasible"})
    if (const Value *text = schedule.find(key))
      if (!text->isString())
        return key.str() + " is " + text->excerpt() + ", not a string";
  if (const Value *clip = schedule.find("clip"))
    if (clip->string() != "stage" && clip->string() != "global")
      return "clip is " + clip->excerpt() + ", not \"stage\" or \"global\"";
  const Value *provenance = schedule.find("provenance");
  return provenance ? readAnyObject(*provenance, "provenance")
                    : std::optional<TextFault>();
}

} // namespace rondo::json
