//===- TorchTrace.cpp - Iterations in PyTorch's traces --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/TorchTrace.h"

#include "formats/json/Fields.h"
#include "schedule/model/Action.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

using llvm::StringRef;

namespace rondo::json {

namespace {

/// Three days: no range is longer, and none begins later after the first.
constexpr double maxUs = 0x1p38;
/// The value for a rank without a task.
constexpr int64_t never = std::numeric_limits<int64_t>::max();

/// The ranges of one thread or stream.
struct Source {
  std::vector<MeasuredTask> tasks;
  double sumUs = 0;
};

/// The task that a range's name says, if it is one of a single stage.
std::optional<MeasuredTask> parseName(StringRef name) {
  int64_t stage = 0, microbatch = 0;
  if (!name.consume_front("PP:") || name.consumeInteger(10, stage) ||
      stage < 0 || stage >= maxStages || name.empty())
    return std::nullopt;
  const ActionTraits *traits =
      llvm::find_if(actionTable.rows, [&](const ActionTraits &row) {
        return row.isTask() && row.letter == name.front();
      });
  if (traits == std::end(actionTable.rows) ||
      name.drop_front().getAsInteger(10, microbatch) || microbatch < 0 ||
      microbatch >= maxMicrobatches)
    return std::nullopt;
  MeasuredTask task;
  task.stage = static_cast<int32_t>(stage);
  task.kind = traits->kind;
  task.microbatch = microbatch;
  return task;
}

std::optional<double> numberOf(Value event, StringRef key) {
  const std::optional<Value> value = findMember(event, key);
  return value ? value->number() : std::nullopt;
}

std::string textOf(Value event, StringRef key) {
  const std::optional<Value> value = findMember(event, key);
  return value ? value->string().value_or(value->excerpt()) : std::string();
}

/// `zeroUs` is when the first range of all ranks began, once there is one.
std::optional<TextFault> readRank(StringRef text, std::optional<double> &zeroUs,
                                  std::vector<MeasuredTask> &tasks) {
  if (std::optional<TextFault> wrong = checkSyntax(text))
    return wrong;
  const Value whole(text);
  const std::optional<Value> events =
      whole.isArray() ? std::optional(whole) : findMember(whole, "traceEvents");
  if (!events || !events->isArray())
    return TextFault("the file has no list \"traceEvents\"; expected a trace "
                     "of a program or of PyTorch's profiler");
  // Kernels on streams, and launches by the host.
  std::map<std::pair<std::string, std::string>, Source> sources[2];
  Elements walk(*events);
  while (std::optional<Value> event = walk.next()) {
    const std::string name = textOf(*event, "name");
    std::optional<MeasuredTask> task = parseName(name);
    if (!task || textOf(*event, "ph") != "X")
      continue;
    const std::optional<double> us = numberOf(*event, "ts"),
                                length = numberOf(*event, "dur");
    if (us && !zeroUs)
      zeroUs = us;
    if (!us || !length || !(std::abs(*us - *zeroUs) <= maxUs) ||
        !(*length >= 0 && *length <= maxUs))
      return TextFault(event->placeIn(text) + ": the range " + quoted(name) +
                       " needs \"ts\" and \"dur\", microseconds, at most three "
                       "days from the first range");
    task->startNs = std::llround((*us - *zeroUs) * 1000);
    task->endNs = task->startNs + std::llround(*length * 1000);
    const bool isOnStream = textOf(*event, "cat") == "gpu_user_annotation";
    Source &source = sources[isOnStream ? 0 : 1]
                            [{textOf(*event, "pid"), textOf(*event, "tid")}];
    source.tasks.push_back(*task);
    source.sumUs += *length;
  }
  const auto &used = sources[sources[0].empty() ? 1 : 0];
  if (used.empty())
    return TextFault("no range has a name such as \"PP:0F3\", which "
                     "torch.distributed.pipelining writes, and the format is "
                     "not rondo-trace, which --trace of a program writes");
  const auto longest = std::max_element(
      used.begin(), used.end(), [](const auto &a, const auto &b) {
        return a.second.sumUs < b.second.sumUs;
      });
  tasks = longest->second.tasks;
  llvm::stable_sort(tasks, [](const MeasuredTask &a, const MeasuredTask &b) {
    return a.startNs < b.startNs;
  });
  return std::nullopt;
}

/// Assigns the tasks of a rank to iterations.
void addRank(int32_t rank, int32_t ranks, std::vector<MeasuredTask> tasks,
             std::vector<MeasuredIteration> &iterations) {
  std::map<std::tuple<int32_t, ActionKind, int64_t>, size_t> seen;
  for (MeasuredTask &task : tasks) {
    const size_t number = seen[{task.stage, task.kind, task.microbatch}]++;
    if (number >= iterations.size())
      iterations.resize(number + 1);
    MeasuredIteration &iteration = iterations[number];
    iteration.ranks.resize(ranks, {never, 0, 0, 0});
    MeasuredRank &mine = iteration.ranks[rank];
    mine.endNs =
        mine.startNs == never ? task.endNs : std::max(mine.endNs, task.endNs);
    mine.startNs = std::min(mine.startNs, task.startNs);
    task.rank = rank;
    iteration.tasks.push_back(task);
  }
}

/// Counts its times from its own start.
void settle(MeasuredIteration &iteration) {
  int64_t startNs = never, endNs = std::numeric_limits<int64_t>::min();
  for (const MeasuredRank &rank : iteration.ranks) {
    startNs = std::min(startNs, rank.startNs);
    endNs = std::max(endNs, rank.endNs);
  }
  iteration.durationNs = endNs - startNs;
  auto shift = [&](auto &items) {
    for (auto &item : items) {
      item.startNs -= startNs;
      item.endNs -= startNs;
    }
  };
  shift(iteration.ranks);
  shift(iteration.tasks);
}

} // namespace

Result<MeasuredRun> readTorchTraces(llvm::ArrayRef<std::string> names,
                                    llvm::ArrayRef<StringRef> texts) {
  MeasuredRun run;
  std::optional<double> zeroUs;
  for (auto [number, text] : llvm::enumerate(texts)) {
    std::vector<MeasuredTask> tasks;
    if (std::optional<TextFault> fault = readRank(text, zeroUs, tasks))
      return TextFault(names[number] + ": " + describe(*fault));
    for (const MeasuredTask &task : tasks)
      run.numStages = std::max(run.numStages, task.stage + 1);
    addRank(static_cast<int32_t>(number), static_cast<int32_t>(texts.size()),
            std::move(tasks), run.iterations);
  }
  // A profile may end in the middle of an iteration.
  while (run.iterations.back().tasks.size() <
         run.iterations.front().tasks.size())
    run.iterations.pop_back();
  for (auto [number, iteration] : llvm::enumerate(run.iterations)) {
    iteration.number = static_cast<int64_t>(number) + 1;
    for (auto [rank, of] : llvm::enumerate(iteration.ranks))
      if (of.startNs == never)
        return TextFault(names[rank] + ": has no iteration " +
                         std::to_string(iteration.number) +
                         ", which the trace of another rank has");
    settle(iteration);
  }
  return run;
}

} // namespace rondo::json
