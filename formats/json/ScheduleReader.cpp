//===- ScheduleReader.cpp - rondo-schedule to Schedule --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ScheduleReader.h"

#include "formats/json/Documents.h"
#include "formats/json/LinkMessages.h"
#include "formats/json/ScheduleMetadata.h"
#include "kinds/Counts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

namespace rondo::json {

namespace {

constexpr StringRef requiredKeys[] = {"format", "problem", "ranks"};
constexpr StringRef optionalKeys[] = {
    "link_order",      "family",         "objective",
    "makespan_ns",     "span_ns",        "lower_bound_ns",
    "bound",           "proven_optimal", "peak_memory_bytes",
    "search",          "provenance",     "overlap",
    "weight_copies",   "delay",          "clip",
    "norm_delay",      "versions",       "copy_order",
    "peak_host_bytes", "accumulate"};
/// Specified in version 2, but not supported yet.
constexpr StringRef laterKeys[] = {"name", "entry", "exit"};
/// Part of version 2 alone.
constexpr StringRef version2Keys[] = {
    "weight_copies", "delay",           "clip",      "norm_delay", "versions",
    "copy_order",    "peak_host_bytes", "accumulate"};

/// Takes the digits at the start of `text`, at least one and without a leading
/// zero. Values above 2^31 become 2^31.
bool takeNumber(StringRef &text, int64_t &number) {
  size_t length = 0;
  constexpr int64_t most = int64_t(1) << 31;
  number = 0;
  while (length < text.size() && llvm::isDigit(text[length])) {
    number = std::min(most, number * 10 + (text[length] - '0'));
    ++length;
  }
  if (length == 0 || (length > 1 && text.front() == '0'))
    return false;
  text = text.drop_front(length);
  return true;
}

/// Takes the word of a kind; null if there is no such kind.
const ActionTraits *takeKind(StringRef &text) {
  StringRef word =
      text.take_while([](char c) { return llvm::isAlpha(c) || c == '_'; });
  for (const ActionTraits &traits : actionTable.rows)
    if (word == traits.code) {
      text = text.drop_front(word.size());
      return &traits;
    }
  return nullptr;
}

/// Names the part of an element that version 2 specifies but that is not
/// supported yet: a message, an await or a loop, or a kind. Empty if there is
/// none.
std::string laterElement(const Value &value, std::string &storage) {
  if (value.isObject()) {
    Members walk(value);
    std::optional<Member> first = walk.next();
    for (StringRef key : {"send", "recv", "await", "repeat"})
      if (first && first->key == key)
        return key.str();
    return {};
  }
  StringRef rest = value.string(storage).value_or("");
  int64_t number;
  if (!takeNumber(rest, number))
    return {};
  const ActionTraits *kind = takeKind(rest);
  if (!kind || !takeNumber(rest, number))
    return {};
  return kind->hasCost() ? std::string() : std::string("kind ") + kind->code;
}

/// The actions that a schedule may name, for messages.
std::string knownActions(const Problem &problem, bool isOfMicrobatch) {
  const std::string stages = countOf(problem.numStages(), "stage");
  return isOfMicrobatch
             ? stages + " and " + countOf(problem.microbatches, "micro-batch")
             : stages + " with " + countOf(problem.iterations, "step") +
                   " each";
}

/// `0>1`, as two different ranks of the problem.
std::optional<std::pair<int32_t, int32_t>> readPair(StringRef name,
                                                    const Problem &problem) {
  int64_t from, to;
  if (!takeNumber(name, from) || !name.consume_front(">") ||
      !takeNumber(name, to) || !name.empty())
    return std::nullopt;
  if (from == to || std::max(from, to) >= problem.numRanks())
    return std::nullopt;
  return std::pair(static_cast<int32_t>(from), static_cast<int32_t>(to));
}

} // namespace

/// `0F3`, `0STEP0` or `0B2x3`, as a task or a step of the problem.
std::optional<TextFault> ScheduleText::readAction(const Value &value,
                                                  const Problem &problem,
                                                  int32_t rank,
                                                  std::string &storage,
                                                  Action &action) const {
  std::optional<StringRef> text = value.string(storage);
  int64_t stage = 0, index = 0;
  StringRef rest = text.value_or("");
  const ActionTraits *kind = nullptr;
  int64_t count = 1;
  const bool isAction =
      takeNumber(rest, stage) && (kind = takeKind(rest)) && kind->hasCost() &&
      takeNumber(rest, index) &&
      (!rest.consume_front("x") || (takeNumber(rest, count) && count > 0)) &&
      rest.empty();
  if (!isAction) {
    if (std::string later = laterElement(value, storage); !later.empty())
      return TextFault("action " + value.excerpt() + ": " + later +
                       " is part of rondo-schedule/2, but not "
                       "supported yet" +
                       (later == "await"
                            ? ": leave it out, since tasks wait for the "
                              "weights that they read, and steps for the sums "
                              "of their stages"
                            : ""));
    return TextFault("action " + value.excerpt() +
                     " is not an action: expected STAGE, then F, I, W, B or "
                     "R, then MICRO-BATCH, such as \"0F3\"" +
                     (isVersion2 ? ", or STAGE, then STEP, then ITERATION, "
                                   "such as \"0STEP0\""
                                 : ""));
  }
  const bool isTask = kind->isTask(), isCopy = kind->isCopy();
  if ((!isTask || kind->kind == ActionKind::Recompute) && !isVersion2)
    return TextFault("action " + value.excerpt() + ": kind " + kind->code +
                     " is part of rondo-schedule/2, but this is "
                     "rondo-schedule/1");
  if (count > 1 && !isVersion2)
    return TextFault("action " + value.excerpt() +
                     ": a count is part of "
                     "rondo-schedule/2, but this is rondo-schedule/1");
  if (count > maxCount)
    return TextFault("action " + value.excerpt() + " serves " +
                     std::to_string(count) + " micro-batches; at most " +
                     std::to_string(maxCount) + " go into one task");
  // Rule S9 checks the numbers of gathers and reductions.
  const int64_t most = isTask || isCopy     ? problem.microbatches
                       : kind->movesState() ? maxMicrobatches
                                            : problem.iterations;
  if (stage >= problem.numStages() || index + count > most)
    return TextFault(FaultKind::TextIncomplete,
                     text->str() + " is not a " +
                         (isTask   ? "task"
                          : isCopy ? "copy"
                                   : "step") +
                         " of the problem, which has " +
                         knownActions(problem, isTask || isCopy));
  action = Action(kind->kind,
                  problem.replicas.numberOn(static_cast<int32_t>(stage), rank),
                  index);
  action.count = static_cast<uint64_t>(count);
  return std::nullopt;
}

std::optional<TextFault> ScheduleText::readKeys() {
  if (auto fault = checkIsObject(object, "rondo-schedule"))
    return fault;
  bool isInfeasible = infeasible().has_value();
  std::optional<Value> named = findMember(object, "format");
  isVersion2 = named && named->string() == "rondo-schedule/2";
  if (isVersion2)
    for (StringRef key : laterKeys)
      if (findMember(object, key))
        return key.str() +
               " is part of rondo-schedule/2, but not supported yet";
  std::optional<TextFault> fault =
      isInfeasible
          ? fields.read(object, "schedule", {"format", "problem", "infeasible"},
                        {"provenance"})
          : fields.read(object, "schedule", requiredKeys, optionalKeys);
  if (fault)
    return fault;
  const Value &format = fields.get("format");
  if (!isVersion2 && format.string() != "rondo-schedule/1")
    return "format is " + format.excerpt() +
           ", not \"rondo-schedule/1\" or \"rondo-schedule/2\"";
  for (StringRef key : version2Keys)
    if (!isVersion2 && fields.find(key))
      return key.str() + " is part of rondo-schedule/2, but this is "
                         "rondo-schedule/1";
  return checkMetadata(fields, isVersion2);
}

bool ScheduleText::clipsByNorm() const {
  const Value *clip = fields.find("clip");
  return clip && clip->string() == "global";
}

std::optional<TextFault> ScheduleText::checkClip(const Problem &problem) const {
  for (StringRef key : {"clip", "norm_delay"})
    if (problem.iterations == 1 && fields.find(key))
      return key.str() + " is for iterations that overlap, but problem " +
             quoted(problem.name) +
             " has one; others clip by the norm of all gradients anyway";
  return {};
}

int64_t ScheduleText::iterationsOfWindow(const Problem &problem) const {
  const Value *ranks = fields.find("ranks");
  if (!isVersion2 || !ranks || !ranks->isArray())
    return 1;
  int64_t iterations = 1;
  bool goesOn = false;
  std::string storage;
  Elements lists(*ranks);
  while (std::optional<Value> list = lists.next()) {
    if (!list->isArray())
      continue;
    Elements walk(*list);
    while (std::optional<Value> value = walk.next()) {
      StringRef rest = value->string(storage).value_or("");
      int64_t stage, index;
      const ActionTraits *kind =
          takeNumber(rest, stage) ? takeKind(rest) : nullptr;
      if (!kind || !takeNumber(rest, index))
        continue;
      if (kind->kind == ActionKind::Step)
        iterations = std::max(iterations, index + 1);
      goesOn |=
          kind->kind == ActionKind::Forward && index >= problem.microbatches;
    }
  }
  return goesOn ? iterations : 1;
}

std::optional<TextFault> ScheduleText::readAccumulation(const Problem &problem,
                                                        Schedule &schedule,
                                                        bool &isOrdered) const {
  const Value *order = fields.find("accumulate");
  isOrdered = order && order->string() != "any";
  if (!isOrdered || order->string() == "index")
    return std::nullopt;
  if (!order->isArray())
    return "accumulate is " + order->excerpt() +
           ", not \"index\", \"any\" or a list of micro-batches";
  std::vector<bool> isListed(problem.microbatches);
  Elements walk(*order);
  while (std::optional<Value> value = walk.next()) {
    int64_t microbatch = 0;
    const std::string where =
        "accumulate[" + std::to_string(schedule.accumulation.size()) + "]";
    if (auto fault =
            readInteger(*value, where, 0, problem.microbatches - 1, microbatch))
      return fault;
    if (isListed[microbatch])
      return where + " is " + std::to_string(microbatch) +
             ", which the list has already";
    isListed[microbatch] = true;
    schedule.accumulation.push_back(static_cast<int32_t>(microbatch));
  }
  if (schedule.accumulation.size() != isListed.size())
    return "accumulate lists " +
           countOf(schedule.accumulation.size(), "micro-batch") + " of " +
           std::to_string(problem.microbatches) + "; it lists each once";
  return std::nullopt;
}

std::optional<TextFault>
ScheduleText::checkWindow(const Problem &problem) const {
  if (problem.iterations > 1)
    return {};
  const int64_t spanned = iterationsOfWindow(problem);
  if (spanned == 1)
    return {};
  return TextFault(FaultKind::TextIncomplete,
                   "the orders are of a window of " +
                       countOf(spanned, "iteration") + ", but problem " +
                       quoted(problem.name) + " has one");
}

std::optional<std::string> ScheduleText::problemName() const {
  std::optional<Value> value = findMember(object, "problem");
  return value ? value->string() : std::nullopt;
}

std::string ScheduleText::problemExcerpt() const {
  std::optional<Value> value = findMember(object, "problem");
  return value ? value->excerpt() : "null";
}

std::optional<std::string> ScheduleText::infeasible() const {
  std::optional<Value> value = findMember(object, "infeasible");
  if (!value)
    return std::nullopt;
  std::optional<std::string> why = value->string();
  return why ? *why : value->excerpt();
}

std::optional<TextFault> ScheduleText::readRanks(const Problem &problem,
                                                 Schedule &schedule) const {
  const Value &ranks = fields.get("ranks");
  if (!ranks.isArray())
    return "ranks is not a list";
  Elements count(ranks);
  int64_t numLists = 0;
  while (count.next())
    ++numLists;
  if (numLists != problem.numRanks())
    return TextFault(FaultKind::TextIncomplete,
                     std::to_string(numLists) + " rank lists for " +
                         std::to_string(problem.numRanks()) + " ranks");

  Elements lists(ranks);
  std::string storage;
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    Value list = *lists.next();
    std::optional<TextFault> fault;
    std::vector<Action> actions;
    if (!list.isArray()) {
      fault = TextFault("ranks[" + std::to_string(rank) + "] is not a list");
    } else {
      Elements walk(list);
      Action action;
      for (std::optional<Value> value; !fault && (value = walk.next());) {
        fault = readAction(*value, problem, rank, storage, action);
        if (fault)
          fault = withWords("", *fault,
                            ", at position " + std::to_string(actions.size()) +
                                " of rank " + std::to_string(rank));
        actions.push_back(action);
      }
    }
    if (fault) {
      while (schedule.numRanks() < problem.numRanks())
        schedule.endRank();
      return fault;
    }
    for (Action action : actions)
      schedule.append(action);
    schedule.endRank();
  }
  return std::nullopt;
}

std::optional<TextFault>
ScheduleText::readLinkOrders(const Problem &problem, Schedule &schedule) const {
  const Value *orders = fields.find("link_order");
  if (!orders)
    return std::nullopt;
  if (!orders->isObject())
    return "link_order is not an object";
  const LinkMessages messages(problem);
  std::string storage;
  Members links(*orders);
  while (std::optional<Member> member = links.next()) {
    std::string where = "link_order[" + quoted(member->key) + "]";
    std::optional<std::pair<int32_t, int32_t>> pair =
        readPair(member->key, problem);
    if (!pair)
      return TextFault(
          FaultKind::TextLinkOrder,
          quoted(member->key) + " is not a link between two of the " +
              std::to_string(problem.numRanks()) + " ranks, such as \"0>1\"");
    if (schedule.linkOrders.count(*pair))
      return "key " + quoted(member->key) + " appears twice in link_order";
    if (!member->value.isArray())
      return where + " is not a list";
    LinkOrderReader order(messages, *pair, where);
    Elements walk(member->value);
    Action action;
    while (std::optional<Value> value = walk.next()) {
      StringRef name = value->string(storage).value_or("");
      const std::optional<int64_t> receiver = takeReceiver(name);
      if (receiver && (*receiver < 0 || !isVersion2))
        return TextFault(where + " has " + value->excerpt() +
                         (isVersion2
                              ? ", which names no message; expected a task "
                                "and the stage it sends to, such as \"0F3>2\""
                              : ": a message by its receiver is part of "
                                "rondo-schedule/2, but this is "
                                "rondo-schedule/1"));
      const std::string task = receiver ? quoted(name) : "";
      std::optional<TextFault> fault =
          readAction(receiver ? Value(task) : *value, problem, pair->first,
                     storage, action);
      if (fault)
        fault = withWords("", *fault, ", in " + where);
      else
        fault = order.take(action, receiver);
      if (fault)
        return fault;
    }
    if (std::optional<TextFault> fault = order.finish())
      return fault;
    schedule.linkOrders[*pair] = std::move(order.tasks);
  }
  return std::nullopt;
}

} // namespace rondo::json
