//===- TraceReader.cpp - Times of stages in PyTorch's traces --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/TraceReader.h"

#include "formats/json/Fields.h"
#include "kinds/Counts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using llvm::StringRef;

namespace rondo::json {

namespace {

constexpr int64_t maxStages = int64_t(1) << 15;
/// 2^62 ns, in microseconds, is more than readCosts() takes.
constexpr double maxUs = 0x1p51;

/// The words of PyTorch's actions that are no computation of one stage.
constexpr StringRef otherActions[] = {"UNSHARD", "RESHARD", "REDUCE_GRAD",
                                      "SEND_F",  "RECV_F",  "SEND_B",
                                      "RECV_B"};

bool isForwardOrBackward(StringRef name) {
  for (StringRef word : {"Forward ", "Backward "})
    if (name.consume_front(word))
      return !name.empty() && llvm::all_of(name, llvm::isDigit);
  return false;
}

/// An identifier, which is a number or a string.
std::string keyOf(std::optional<Value> value) {
  return value ? value->excerpt() : std::string();
}

} // namespace

std::optional<TextFault> StageTraces::addRange(Value event, Action action,
                                               StringRef text, int64_t trace) {
  const std::optional<Value> duration = findMember(event, "dur");
  const std::optional<double> us = duration ? duration->number() : std::nullopt;
  if (!us || !(*us >= 0 && *us <= maxUs))
    return TextFault((duration ? *duration : event).placeIn(text) + ": " +
                     (duration ? "dur is " + duration->excerpt() +
                                     ", not microseconds of 0 or more"
                               : "the range has no \"dur\""));
  const std::optional<Value> category = findMember(event, "cat");
  const bool isOnStream =
      category && category->string() == "gpu_user_annotation";
  Ranges &ranges = isOnStream ? onStreams : onHost;
  const Source source(std::to_string(trace) + " " +
                          keyOf(findMember(event, "pid")),
                      keyOf(findMember(event, "tid")));
  ranges[action][source].push_back(std::llround(*us * 1000));
  ++numAdded;
  return {};
}

std::optional<TextFault> StageTraces::addEvent(Value event, StringRef text,
                                               int64_t trace) {
  const std::optional<Value> name = findMember(event, "name");
  const std::optional<std::string> written =
      name ? name->string() : std::nullopt;
  if (!written)
    return {};
  StringRef rest = *written;
  if (!rest.consume_front("PP:")) {
    numUnstaged += isForwardOrBackward(rest);
    return {};
  }
  // The other phases, such as flows, repeat the name.
  const std::optional<Value> phase = findMember(event, "ph");
  if (!phase || phase->string() != "X")
    return {};
  if (rest.starts_with("(") && rest.contains(")OVERLAP")) {
    ++numOverlapped;
    return {};
  }
  int64_t stage = 0, microbatch = 0;
  const bool isKnown =
      !rest.consumeInteger(10, stage) && stage >= 0 && stage < maxStages;
  if (isKnown && llvm::any_of(otherActions, [&](StringRef word) {
        StringRef number = rest;
        return number.consume_front(word) &&
               llvm::all_of(number, llvm::isDigit);
      }))
    return {};
  if (!isKnown || rest.empty() || !StringRef("FIWB").contains(rest.front()) ||
      rest.drop_front().getAsInteger(10, microbatch) || microbatch < 0)
    return name->placeIn(text) + ": " + name->excerpt() +
           " is no action of torch.distributed.pipelining, such as \"PP:0F3\" "
           "or \"PP:1SEND_F2\"";
  return addRange(event, {stage, rest.front()}, text, trace);
}

std::optional<Fault> StageTraces::add(StringRef text) {
  auto fault = [](const llvm::Twine &message) { return TextFault(message); };
  if (std::optional<TextFault> wrong = checkSyntax(text))
    return fault(describe(*wrong));
  const int64_t trace = numTraces++;
  Value whole(text);
  std::optional<Value> events =
      whole.isArray() ? std::optional(whole) : findMember(whole, "traceEvents");
  if (!events || !events->isArray())
    return fault("the file has no list \"traceEvents\"; expected a trace of "
                 "PyTorch's profiler");
  Elements walk(*events);
  while (std::optional<Value> event = walk.next())
    if (std::optional<TextFault> wrong = addEvent(*event, text, trace))
      return fault(describe(*wrong));
  return std::nullopt;
}

std::vector<int64_t> StageTraces::rangesOf(Action action) const {
  for (const Ranges *ranges : {&onStreams, &onHost}) {
    const auto found = ranges->find(action);
    if (found == ranges->end())
      continue;
    const std::vector<int64_t> *longest = nullptr;
    double most = -1;
    for (const auto &[source, times] : found->second)
      if (const double sum = std::accumulate(times.begin(), times.end(), 0.);
          sum > most) {
        most = sum;
        longest = &times;
      }
    return *longest;
  }
  return {};
}

std::vector<int64_t> StageTraces::timesOf(Action action) const {
  std::vector<int64_t> times = rangesOf(action);
  // The first stage has no input whose gradient anyone needs.
  if (action != Action(0, 'I'))
    llvm::erase(times, 0);
  return times;
}

int64_t StageTraces::numStages() const {
  int64_t count = 0;
  for (const Ranges *ranges : {&onStreams, &onHost})
    if (!ranges->empty())
      count = std::max(count, ranges->rbegin()->first.first + 1);
  return count;
}

/// The median; for an even number of times, the mean of the two in the middle.
static int64_t medianOf(std::vector<int64_t> times) {
  llvm::sort(times);
  const size_t half = times.size() / 2;
  return times.size() % 2 == 1
             ? times[half]
             : times[half - 1] + (times[half] - times[half - 1]) / 2;
}

bool StageTraces::hasOnlyWhole(int64_t stage) const {
  return rangesOf({stage, 'I'}).empty() || rangesOf({stage, 'W'}).empty();
}

StringRef StageTraces::figuresOf(int64_t stage) const {
  return hasOnlyWhole(stage) ? "FB" : "FIW";
}

Result<Costs> StageTraces::medians() const {
  auto fault = [](const llvm::Twine &message) { return TextFault(message); };
  const int64_t stages = numStages();
  if (stages == 0)
    return fault(
        "no range has a name such as \"PP:0F3\"" +
        llvm::Twine(numUnstaged > 0
                        ? "; ranges such as \"Forward 0\", which PyTorch's "
                          "schedules of one stage a rank have, name no stage: "
                          "run the order by _PipelineScheduleRuntime"
                        : ", which torch.distributed.pipelining writes"));
  Costs costs;
  for (int64_t s = 0; s < stages; ++s) {
    StageTimes &stage = costs.stages.emplace_back();
    stage.name = "s" + std::to_string(s);
    const bool hasForward = !rangesOf({s, 'F'}).empty();
    const bool isWhole = hasOnlyWhole(s);
    if (!hasForward || (isWhole && rangesOf({s, 'B'}).empty()))
      return fault("stage " + std::to_string(s) + " has no range of " +
                   (hasForward ? "B, or of both I and W" : "F") +
                   (stages == 1 ? ", but there is 1 stage"
                                : ", but there are " + std::to_string(stages) +
                                      " stages") +
                   ": give the traces of all ranks, of training");
    for (char kind : figuresOf(s))
      if (timesOf({s, kind}).empty())
        return fault("of stage " + llvm::Twine(s) + ", " +
                     countOf(rangesOf({s, kind}).size(), "range") + " of " +
                     llvm::Twine(kind) +
                     " measured 0 us and no other was found: trace more "
                     "iterations, or larger micro-batches");
    stage.forwardNs = medianOf(timesOf({s, 'F'}));
    if (isWhole) {
      const int64_t ns = medianOf(timesOf({s, 'B'}));
      stage.weightGradNs = ns / 2;
      stage.inputGradNs = ns - stage.weightGradNs;
    } else {
      stage.inputGradNs = medianOf(timesOf({s, 'I'}));
      stage.weightGradNs = medianOf(timesOf({s, 'W'}));
    }
  }
  costs.samples = samples();
  return costs;
}

int64_t StageTraces::samples() const {
  size_t fewest = std::numeric_limits<int64_t>::max();
  for (int64_t s = 0; s < numStages(); ++s)
    for (char kind : figuresOf(s))
      fewest = std::min(fewest, timesOf({s, kind}).size());
  return static_cast<int64_t>(fewest);
}

int64_t StageTraces::numEmpty() const {
  int64_t count = 0;
  for (int64_t s = 0; s < numStages(); ++s)
    for (char kind : figuresOf(s))
      count += static_cast<int64_t>(rangesOf({s, kind}).size() -
                                    timesOf({s, kind}).size());
  return count;
}

int64_t StageTraces::numOnHost() const {
  int64_t count = 0;
  for (int64_t s = 0; s < numStages(); ++s)
    count += llvm::none_of(StringRef("FIWB"), [&](char kind) {
      return onStreams.count({s, kind}) > 0;
    });
  return count;
}

std::vector<int64_t> StageTraces::halved() const {
  std::vector<int64_t> result;
  for (int64_t s = 0; s < numStages(); ++s)
    if (hasOnlyWhole(s))
      result.push_back(s);
  return result;
}

} // namespace rondo::json
