//===- TimelineTrace.cpp - Traces that rondo show has written -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/TimelineTrace.h"

#include "formats/json/TraceFields.h"
#include "schedule/model/Problem.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

using llvm::StringRef;

namespace rondo::json {

namespace {

constexpr StringRef format = "rondo-timeline/1";

class Reader : TraceFields {
public:
  using TraceFields::TraceFields;

  std::optional<TextFault> run(TimelineTrace &trace);

private:
  std::optional<TextFault> readSchedule(Value whole, TimelineTrace &trace);
  std::optional<TextFault> readEvent(Value event);

  int64_t ranks = 0, stages = 0;
  MeasuredIteration iteration;
  /// [rank]: the end of its last task so far.
  std::vector<int64_t> clocks;
};

std::optional<TextFault> Reader::readSchedule(Value whole,
                                              TimelineTrace &trace) {
  const std::optional<Value> list = findMember(whole, "schedules");
  if (!list || !list->isArray())
    return at(whole, "the trace has no list \"schedules\"");
  std::optional<Value> only;
  size_t count = 0;
  for (Elements walk(*list); std::optional<Value> each = walk.next(); ++count)
    only = each;
  if (count != 1 || !only->isObject())
    return at(*list, llvm::Twine("the trace has ") + llvm::Twine(count) +
                         " schedules, and one is compared; draw it alone");
  int64_t together = 0;
  for (auto [key, words] :
       {std::pair("title", &trace.title), std::pair("problem", &trace.problem)})
    if (auto fault = readText(*only, *only, key, *words))
      return fault;
  for (auto [key, end, number] :
       {std::tuple("ranks", maxRanks + 1, &ranks),
        std::tuple("stages", maxReplicas + 1, &stages),
        std::tuple("iterations", std::numeric_limits<int64_t>::max(),
                   &together)})
    if (auto fault = readNumber(*only, *only, key, end, *number))
      return fault;
  if (together != 1)
    return at(*only, llvm::Twine(together) +
                         " iterations of this schedule overlap, so that none "
                         "has times of its own");
  return std::nullopt;
}

std::optional<TextFault> Reader::readEvent(Value event) {
  if (!event.isObject())
    return at(event, "an event is " + event.excerpt() + ", not an object");
  // Messages are not read: tasks state the waits for them.
  const std::optional<Value> category = findMember(event, "cat");
  if (!category || category->string() != "computation")
    return std::nullopt;
  const std::optional<Value> args = findMember(event, "args");
  if (!args || !args->isObject())
    return at(event, "the event has no \"args\"");
  int64_t rank = 0, startNs = 0, lengthNs = 0, stage = 0, replicaIndex = 0,
          microbatch = 0, on = -1;
  std::string code;
  if (auto fault = readTime(event, "ts", startNs))
    return fault;
  if (auto fault = readTime(event, "dur", lengthNs))
    return fault;
  if (auto fault = readText(event, *args, "kind", code))
    return fault;
  for (auto [object, key, end, number] :
       {std::tuple(event, "pid", ranks, &rank),
        std::tuple(*args, "stage", stages, &stage),
        std::tuple(*args, "replica", maxReplicas, &replicaIndex)})
    if (auto fault = readNumber(event, object, key, end, *number))
      return fault;
  const ActionTraits *traits =
      llvm::find_if(actionTable.rows, [&](const ActionTraits &row) {
        return row.hasCost() && code == row.code;
      });
  if (traits == std::end(actionTable.rows))
    return at(event, "kind is '" + code + "', which no task has");
  if (traits->isTask())
    if (auto fault =
            readNumber(event, *args, "microbatch", maxMicrobatches, microbatch))
      return fault;
  if (findMember(*args, "microbatches"))
    return at(event, "the schedule has tasks that serve several micro-batches, "
                     "which a program runs one after another; give the .mlir "
                     "file of the schedule in place of this prediction");
  if (findMember(*args, "waited_for_rank"))
    if (auto fault = readNumber(event, *args, "waited_for_rank", ranks, on))
      return fault;
  const int64_t endNs = startNs + lengthNs;
  iteration.durationNs = std::max(iteration.durationNs, endNs);
  // Other lanes take no time of the rank.
  if (findMember(*args, "lane"))
    return std::nullopt;
  if (startNs < clocks[rank])
    return at(event, "rank " + std::to_string(rank) +
                         " runs two tasks at the same time, or later ones "
                         "are listed before earlier ones");
  // For a message, or for what another lane of its own does.
  if (startNs > clocks[rank])
    iteration.waits.push_back({static_cast<int32_t>(rank),
                               static_cast<int32_t>(on), on >= 0, clocks[rank],
                               startNs});
  clocks[rank] = endNs;
  if (traits->movesState())
    iteration.ranks[rank].collectivesNs += lengthNs;
  else
    iteration.tasks.push_back({static_cast<int32_t>(rank),
                               static_cast<int32_t>(stage),
                               static_cast<int32_t>(replicaIndex), traits->kind,
                               microbatch, startNs, endNs});
  return std::nullopt;
}

std::optional<TextFault> Reader::run(TimelineTrace &trace) {
  if (std::optional<TextFault> wrong = checkSyntax(text))
    return wrong;
  const Value whole(text);
  const std::optional<Value> version = findMember(whole, "format"),
                             events = findMember(whole, "traceEvents");
  if (!version || version->string() != format)
    return TextFault("format is " +
                     (version ? version->excerpt() : "not stated") +
                     "; this rondo reads \"" + format.str() + "\"");
  if (auto fault = readSchedule(whole, trace))
    return fault;
  if (!events || !events->isArray())
    return at(whole, "the trace has no list \"traceEvents\"");
  clocks.assign(ranks, 0);
  iteration.ranks.resize(ranks);
  Elements walk(*events);
  while (std::optional<Value> event = walk.next())
    if (auto fault = readEvent(*event))
      return fault;
  if (iteration.tasks.empty())
    return at(*events, "the trace has no task");
  for (int64_t rank = 0; rank < ranks; ++rank)
    iteration.ranks[rank].endNs = clocks[rank];
  auto byRank = [](const auto &a, const auto &b) { return a.rank < b.rank; };
  llvm::stable_sort(iteration.tasks, byRank);
  llvm::stable_sort(iteration.waits, byRank);
  iteration.number = 1;
  iteration.hasWaits = true;
  trace.run.numStages = static_cast<int32_t>(stages);
  trace.run.iterations.push_back(std::move(iteration));
  return std::nullopt;
}

} // namespace

bool isTimelineTrace(StringRef text) {
  // The format is the first key.
  return text.take_front(200).contains("\"rondo-timeline/");
}

Result<TimelineTrace> readTimelineTrace(StringRef text) {
  TimelineTrace trace;
  if (std::optional<TextFault> fault = Reader(text).run(trace))
    return *fault;
  return trace;
}

} // namespace rondo::json
