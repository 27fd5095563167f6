//===- ProgramTrace.cpp - Traces that programs have written ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ProgramTrace.h"

#include "formats/json/TraceFields.h"
#include "schedule/model/Problem.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <map>

using llvm::StringRef;

namespace rondo::json {

namespace {

constexpr StringRef format = "rondo-trace/1";

class Reader : TraceFields {
public:
  using TraceFields::TraceFields;

  std::optional<TextFault> run(MeasuredRun &run);

private:
  std::optional<TextFault> readEvent(Value event);
  std::optional<TextFault> readTask(Value event, Value args, int64_t rank,
                                    int64_t startNs, int64_t endNs,
                                    MeasuredIteration &iteration);
  std::optional<TextFault> readWait(Value event, Value args, int64_t rank,
                                    int64_t startNs, int64_t endNs,
                                    MeasuredIteration &iteration);
  std::optional<TextFault> beginMessage(Value event, Value args,
                                        int64_t startNs);
  std::optional<TextFault> endMessage(Value event, int64_t endNs);
  std::optional<TextFault> finish(MeasuredRun &run, Value events);

  int64_t ranks = 0, stages = 0;
  std::map<int64_t, MeasuredIteration> iterations;
  /// [`id`]: the iteration of a message that has begun, and its place there.
  std::map<std::string, std::pair<int64_t, size_t>> open;
};

std::optional<TextFault> Reader::readTask(Value event, Value args, int64_t rank,
                                          int64_t startNs, int64_t endNs,
                                          MeasuredIteration &iteration) {
  int64_t stage = 0, replicaIndex = 0, microbatch = 0;
  std::string code;
  if (auto fault = readNumber(event, args, "stage", stages, stage))
    return fault;
  if (auto fault =
          readNumber(event, args, "replica", maxReplicas, replicaIndex))
    return fault;
  if (auto fault = readText(event, args, "kind", code))
    return fault;
  const ActionTraits *traits =
      llvm::find_if(actionTable.rows, [&](const ActionTraits &row) {
        return row.hasCost() && !row.movesState() && code == row.code;
      });
  if (traits == std::end(actionTable.rows))
    return at(event, "kind is '" + code + "', not F, I, W, B, R or STEP");
  if (traits->isTask())
    if (auto fault =
            readNumber(event, args, "microbatch", maxMicrobatches, microbatch))
      return fault;
  iteration.tasks.push_back({static_cast<int32_t>(rank),
                             static_cast<int32_t>(stage),
                             static_cast<int32_t>(replicaIndex), traits->kind,
                             microbatch, startNs, endNs});
  return std::nullopt;
}

std::optional<TextFault> Reader::readWait(Value event, Value args, int64_t rank,
                                          int64_t startNs, int64_t endNs,
                                          MeasuredIteration &iteration) {
  std::string what;
  if (auto fault = readText(event, args, "for", what))
    return fault;
  int64_t onRank = -1;
  const bool isArrival = what == "message";
  if (isArrival || what == "release")
    if (auto fault = readNumber(event, args, "rank", ranks, onRank))
      return fault;
  iteration.waits.push_back({static_cast<int32_t>(rank),
                             static_cast<int32_t>(onRank), isArrival, startNs,
                             endNs});
  return std::nullopt;
}

std::optional<TextFault> Reader::beginMessage(Value event, Value args,
                                              int64_t startNs) {
  int64_t number = 0, from = 0, to = 0, stage = 0, microbatch = 0, bytes = 0;
  std::string id, name;
  if (auto fault = readText(event, event, "id", id))
    return fault;
  if (auto fault = readText(event, event, "name", name))
    return fault;
  if (auto fault = readNumber(event, args, "iteration",
                              std::numeric_limits<int64_t>::max(), number))
    return fault;
  for (auto [key, end, value] :
       {std::tuple(StringRef("from"), ranks, &from),
        std::tuple(StringRef("to"), ranks, &to),
        std::tuple(StringRef("stage"), stages, &stage),
        std::tuple(StringRef("microbatch"), maxMicrobatches, &microbatch),
        std::tuple(StringRef("bytes"), maxMessageBytes, &bytes)})
    if (auto fault = readNumber(event, args, key, end, *value))
      return fault;
  MeasuredIteration &iteration = iterations[number];
  const StringRef kind =
      StringRef(name).drop_while([](char c) { return c >= '0' && c <= '9'; });
  iteration.messages.push_back(
      {static_cast<int32_t>(from), static_cast<int32_t>(to),
       static_cast<int32_t>(stage),
       kind.starts_with("F")   ? MessageKind::Activation
       : kind.starts_with("R") ? MessageKind::Recomputed
                               : MessageKind::Gradient,
       microbatch, bytes, startNs, startNs});
  if (!open.insert({id, {number, iteration.messages.size() - 1}}).second)
    return at(event, "message \"" + id + "\" begins twice");
  return std::nullopt;
}

std::optional<TextFault> Reader::endMessage(Value event, int64_t endNs) {
  std::string id;
  if (auto fault = readText(event, event, "id", id))
    return fault;
  const auto found = open.find(id);
  if (found == open.end())
    return at(event, "message \"" + id + "\" ends and has not begun");
  const auto [number, place] = found->second;
  MeasuredMessage &message = iterations[number].messages[place];
  if (endNs < message.leaveNs)
    return at(event, "message \"" + id + "\" ends before it begins");
  message.arriveNs = endNs;
  open.erase(found);
  return std::nullopt;
}

std::optional<TextFault> Reader::readEvent(Value event) {
  if (!event.isObject())
    return at(event, "an event is " + event.excerpt() + ", not an object");
  std::string phase, category;
  if (auto fault = readText(event, event, "ph", phase))
    return fault;
  if (phase != "X" && phase != "b" && phase != "e")
    return std::nullopt;
  int64_t startNs = 0, lengthNs = 0, rank = 0, number = 0;
  if (auto fault = readTime(event, "ts", startNs))
    return fault;
  if (phase == "e")
    return endMessage(event, startNs);
  const std::optional<Value> args = findMember(event, "args");
  if (!args || !args->isObject())
    return at(event, "the event has no \"args\"");
  if (phase == "b")
    return beginMessage(event, *args, startNs);
  if (auto fault = readTime(event, "dur", lengthNs))
    return fault;
  if (auto fault = readNumber(event, event, "pid", ranks, rank))
    return fault;
  if (auto fault = readNumber(event, *args, "iteration",
                              std::numeric_limits<int64_t>::max(), number))
    return fault;
  if (auto fault = readText(event, event, "cat", category))
    return fault;
  const int64_t endNs = startNs + lengthNs;
  MeasuredIteration &iteration = iterations[number];
  iteration.ranks.resize(ranks, {-1, -1, 0, 0});
  MeasuredRank &mine = iteration.ranks[rank];
  if (category == "task")
    return readTask(event, *args, rank, startNs, endNs, iteration);
  if (category == "wait")
    return readWait(event, *args, rank, startNs, endNs, iteration);
  // Copies run at the same time as tasks, and are compared with nothing.
  if (category == "copy")
    return std::nullopt;
  if (category == "message")
    mine.messagesNs += lengthNs;
  else if (category == "collective")
    mine.collectivesNs += lengthNs;
  else if (category == "run") {
    int64_t together = 0;
    if (auto fault = readText(event, *args, "schedule", iteration.schedule))
      return fault;
    if (auto fault = readNumber(event, *args, "iterations",
                                std::numeric_limits<int64_t>::max(), together))
      return fault;
    if (together != 1)
      return at(event, std::to_string(together) +
                           " iterations of this trace overlap, so that none "
                           "has times of its own; with --drain-every 1 a "
                           "program runs them one after another");
    mine.startNs = startNs;
    mine.endNs = endNs;
  } else {
    return at(event, "cat is '" + category +
                         "', not task, wait, message, collective, copy or "
                         "run");
  }
  return std::nullopt;
}

std::optional<TextFault> Reader::finish(MeasuredRun &run, Value events) {
  if (!open.empty())
    return at(events, "message \"" + open.begin()->first + "\" does not end");
  run.numStages = static_cast<int32_t>(stages);
  for (auto &[number, iteration] : iterations) {
    iteration.number = number;
    iteration.hasWaits = true;
    int64_t zeroNs = std::numeric_limits<int64_t>::max(), endNs = 0;
    // A schedule may have fewer ranks than its executable.
    while (!iteration.ranks.empty() && iteration.ranks.back().startNs < 0)
      iteration.ranks.pop_back();
    for (const MeasuredRank &rank : iteration.ranks) {
      if (rank.startNs < 0)
        return at(events, "iteration " + std::to_string(number) +
                              " has no run of rank " +
                              std::to_string(&rank - iteration.ranks.data()));
      zeroNs = std::min(zeroNs, rank.startNs);
      endNs = std::max(endNs, rank.endNs);
    }
    if (iteration.ranks.empty())
      return at(events, "iteration " + std::to_string(number) +
                            " has no event of cat 'run'");
    const auto numRanks = static_cast<int32_t>(iteration.ranks.size());
    const bool isOutside =
        llvm::any_of(
            iteration.tasks,
            [&](const MeasuredTask &task) { return task.rank >= numRanks; }) ||
        llvm::any_of(iteration.waits, [&](const MeasuredWait &wait) {
          return std::max(wait.rank, wait.onRank) >= numRanks;
        });
    if (isOutside)
      return at(events, "iteration " + std::to_string(number) +
                            " has no run of a rank with tasks or waits");
    iteration.durationNs = endNs - zeroNs;
    auto shift = [&](auto &items) {
      for (auto &item : items) {
        item.startNs -= zeroNs;
        item.endNs -= zeroNs;
      }
    };
    shift(iteration.ranks);
    shift(iteration.tasks);
    shift(iteration.waits);
    for (MeasuredMessage &message : iteration.messages) {
      message.leaveNs -= zeroNs;
      message.arriveNs -= zeroNs;
    }
    auto byStart = [](const auto &a, const auto &b) {
      return std::tie(a.rank, a.startNs) < std::tie(b.rank, b.startNs);
    };
    llvm::stable_sort(iteration.tasks, byStart);
    llvm::stable_sort(iteration.waits, byStart);
    run.iterations.push_back(std::move(iteration));
  }
  if (run.iterations.empty())
    return TextFault("the trace has no iteration");
  return std::nullopt;
}

std::optional<TextFault> Reader::run(MeasuredRun &run) {
  if (std::optional<TextFault> wrong = checkSyntax(text))
    return wrong;
  const Value whole(text);
  const std::optional<Value> version = findMember(whole, "format");
  if (!version || version->string() != format)
    return TextFault("format is " +
                     (version ? version->excerpt() : "not stated") +
                     "; this rondo reads \"" + format.str() + "\"");
  if (auto fault = readNumber(whole, whole, "ranks", maxRanks + 1, ranks))
    return fault;
  const std::optional<Value> names = findMember(whole, "stages"),
                             events = findMember(whole, "traceEvents");
  for (auto [list, key] :
       {std::pair(names, "stages"), std::pair(events, "traceEvents")})
    if (!list || !list->isArray())
      return at(whole, llvm::Twine("the trace has no list \"") + key + "\"");
  for (Elements walk(*names); walk.next();)
    ++stages;
  Elements walk(*events);
  while (std::optional<Value> event = walk.next())
    if (std::optional<TextFault> fault = readEvent(*event))
      return fault;
  return finish(run, *events);
}

} // namespace

bool isProgramTrace(StringRef text) {
  // The format is the first key.
  return text.take_front(200).contains("\"rondo-trace/");
}

Result<MeasuredRun> readProgramTrace(StringRef text) {
  MeasuredRun run;
  if (std::optional<TextFault> fault = Reader(text).run(run))
    return *fault;
  return run;
}

} // namespace rondo::json
