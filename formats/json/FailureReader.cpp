//===- FailureReader.cpp - What a rank did when its run failed ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/FailureReader.h"

#include "formats/json/Fields.h"

using llvm::StringRef;

namespace rondo::json {

namespace {

constexpr int64_t maxNs = int64_t(1) << 62, maxRanks = 1 << 24,
                  maxIndex = int64_t(1) << 40;

class Reader {
public:
  explicit Reader(StringRef text) : text(text) {}

  std::optional<TextFault> read(Failure &failure);

private:
  TextFault at(Value value, const std::string &where, const char *wanted) {
    return value.placeIn(text) + ": " + where + " is " + value.excerpt() +
           ", not " + wanted;
  }
  std::optional<TextFault> string(const Fields &fields, StringRef key,
                                  std::string &to) {
    std::optional<std::string> value = fields.get(key).string();
    if (!value)
      return at(fields.get(key), key.str(), "a string");
    to = *value;
    return {};
  }
  std::optional<TextFault> integer(const Fields &fields, StringRef key,
                                   int64_t least, int64_t most, int64_t &to) {
    if (auto fault = readInteger(fields.get(key), key, least, most, to))
      return TextFault(fields.get(key).placeIn(text) + ": " + fault->message);
    return {};
  }
  std::optional<TextFault> wait(Value value, bool isOver,
                                std::optional<FailureWait> &to);
  std::optional<TextFault> action(Value value, FailureAction &to);

  StringRef text;
  int64_t ranks = 1;
};

std::optional<TextFault> Reader::wait(Value value, bool isOver,
                                      std::optional<FailureWait> &to) {
  Fields fields;
  FailureWait wait;
  const StringRef where = isOver ? "waited_for" : "waits_for";
  auto fault = isOver ? fields.read(value, where, {"rank", "name"}, {"ns"})
                      : fields.read(value, where, {"rank", "what", "name"});
  if (fault)
    return TextFault(value.placeIn(text) + ": " + fault->message);
  if (auto fault = integer(fields, "rank", 0, ranks - 1, wait.rank))
    return fault;
  if (auto fault = string(fields, "name", wait.name))
    return fault;
  if (fields.find("ns"))
    if (auto fault = integer(fields, "ns", 0, maxNs, wait.ns))
      return fault;
  if (!isOver) {
    if (auto fault = string(fields, "what", wait.what))
      return fault;
    if (wait.what != "arrival" && wait.what != "release" &&
        wait.what != "collective")
      return at(fields.get("what"), "what",
                "\"arrival\", \"release\" or \"collective\"");
  }
  to = wait;
  return {};
}

std::optional<TextFault> Reader::action(Value value, FailureAction &to) {
  Fields fields;
  if (auto fault = fields.read(
          value, "an action", {"action", "kind", "start_ns"},
          {"stage", "collective", "microbatch", "unit", "iteration", "program",
           "end_ns", "unfinished", "waited_for", "waits_for"}))
    return TextFault(value.placeIn(text) + ": " + fault->message);
  if (auto fault = string(fields, "action", to.name))
    return fault;
  if (auto fault = string(fields, "kind", to.kind))
    return fault;
  if (auto fault = integer(fields, "start_ns", -maxNs, maxNs, to.startNs))
    return fault;
  for (StringRef key : {"stage", "collective", "microbatch", "unit"}) {
    int64_t number = 0;
    if (fields.find(key))
      if (auto fault = integer(fields, key, 0, maxIndex, number))
        return fault;
  }
  if (fields.find("iteration"))
    if (auto fault = integer(fields, "iteration", 1, maxIndex, to.iteration))
      return fault;
  if (const Value *end = fields.find("end_ns")) {
    if (fields.find("unfinished"))
      return TextFault(end->placeIn(text) + ": " + to.name +
                       " has an end and is unfinished");
    if (auto fault = integer(fields, "end_ns", to.startNs, maxNs, to.endNs))
      return fault;
    // Before the run's first moment there is no action.
    if (to.endNs < 0)
      to.endNs = 0;
  } else if (!fields.find("unfinished") ||
             fields.get("unfinished").boolean() != true) {
    return TextFault(value.placeIn(text) + ": " + to.name +
                     " has neither an end nor \"unfinished\": true");
  }
  if (const Value *over = fields.find("waited_for"))
    if (auto fault = wait(*over, true, to.wait))
      return fault;
  if (const Value *waits = fields.find("waits_for"))
    if (auto fault = wait(*waits, false, to.wait))
      return fault;
  return {};
}

std::optional<TextFault> Reader::read(Failure &failure) {
  if (auto fault = checkSyntax(text))
    return fault;
  Fields fields;
  const Value file(text);
  if (std::optional<Value> format = findMember(file, "format");
      format && format->string() != "rondo-failure/1")
    return at(*format, "format", "\"rondo-failure/1\"");
  if (auto fault = fields.read(file, "the file",
                               {"format", "run", "program", "schedule", "rank",
                                "ranks", "ended", "error", "ended_ns",
                                "actions_begun", "actions"}))
    return TextFault(file.placeIn(text) + ": " + fault->message);
  for (auto [key, to] :
       {std::pair("run", &failure.run), std::pair("program", &failure.program),
        std::pair("schedule", &failure.schedule),
        std::pair("error", &failure.error)})
    if (auto fault = string(fields, key, *to))
      return fault;
  if (auto fault = integer(fields, "ranks", 1, maxRanks, failure.ranks))
    return fault;
  ranks = failure.ranks;
  if (auto fault = integer(fields, "rank", 0, ranks - 1, failure.rank))
    return fault;
  if (auto fault = integer(fields, "ended_ns", -maxNs, maxNs, failure.endedNs))
    return fault;
  int64_t begun = 0;
  if (auto fault = integer(fields, "actions_begun", 0, INT64_MAX, begun))
    return fault;
  const std::optional<std::string> ended = fields.get("ended").string();
  if (ended == "timeout")
    failure.ended = Failure::Ending::Timeout;
  else if (ended == "stopped")
    failure.ended = Failure::Ending::Stopped;
  else if (ended != "error")
    return at(fields.get("ended"), "ended",
              "\"error\", \"timeout\" or \"stopped\"");
  const Value list = fields.get("actions");
  if (!list.isArray())
    return at(list, "actions", "a list");
  Elements walk(list);
  while (std::optional<Value> element = walk.next()) {
    if (!failure.actions.empty() && failure.actions.back().isUnfinished())
      return TextFault(element->placeIn(text) + ": an action follows " +
                       failure.actions.back().name + ", which is unfinished");
    if (auto fault = action(*element, failure.actions.emplace_back()))
      return fault;
  }
  return {};
}

} // namespace

llvm::Expected<Failure> readFailure(StringRef text) {
  Failure failure;
  if (auto fault = Reader(text).read(failure))
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   fault->message);
  return failure;
}

} // namespace rondo::json
