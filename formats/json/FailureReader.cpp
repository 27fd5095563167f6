//===- FailureReader.cpp - What a rank did when its run failed ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/FailureReader.h"

#include "formats/json/Rows.h"
using llvm::StringRef;

namespace rondo::json {

namespace {

enum Limit { LastRank };

constexpr int64_t maxNs = int64_t(1) << 62, maxRanks = 1 << 24;
constexpr Range index = {0, int64_t(1) << 40},
                rank = {0, maxRanks, {}, LastRank};

using Check = std::optional<TextFault>;

/// An action as the text has it: a wait is over or not.
struct ActionText : FailureAction {
  std::optional<int64_t> endsNs;
  std::optional<Value> endValue;
  std::optional<bool> isMarkedUnfinished;
  std::optional<FailureWait> waited, waits;
};

struct FailureText : Failure {
  int64_t actionsBegun = 0;
};

constexpr const char *waits[] = {"arrival", "release", "collective"};

Check readWait(const Place &place, Value value, FailureWait &wait) {
  wait.what = value.string().value_or("");
  for (const char *word : waits)
    if (wait.what == word)
      return {};
  return place.wrong(value, listOfWords(waits));
}

/// Not kept: the action's name has it.
Check skipIndex(const Place &place, Value value, ActionText &) {
  int64_t unused;
  return readNumber(place, value, index, unused);
}

Check readUnfinished(const Place &, Value value, ActionText &action) {
  action.isMarkedUnfinished = value.boolean().value_or(false);
  return {};
}

int64_t lastRankOf(const FailureText &failure) { return failure.ranks - 1; }

Check checkAction(const Place &place, Value value, ActionText &action) {
  if (action.endsNs && action.isMarkedUnfinished)
    return TextFault(place.mark(*action.endValue) + action.name +
                     " has an end and is unfinished");
  if (!action.endsNs && action.isMarkedUnfinished != true)
    return TextFault(place.mark(value) + action.name +
                     " has neither an end nor \"unfinished\": true");
  if (action.endsNs && *action.endsNs < action.startNs)
    return place["end_ns"].fault(
        *action.endValue, " is " + std::to_string(*action.endsNs) +
                              "; it must be " + std::to_string(action.startNs) +
                              " or more");
  // Before the run's first moment there is no action.
  if (action.endsNs)
    action.endNs = std::max<int64_t>(0, *action.endsNs);
  action.wait = action.waits ? action.waits : action.waited;
  return {};
}

Field<FailureText> actionsRow();

#include "formats/json/FailureKeys.def"

Check readActions(const Place &place, Value list, FailureText &failure) {
  if (!list.isArray())
    return place.wrong(list, "a list");
  Elements walk(list);
  std::vector<FailureAction> &actions = failure.actions;
  while (std::optional<Value> element = walk.next()) {
    if (!actions.empty() && actions.back().isUnfinished())
      return TextFault(place.mark(*element) + "an action follows " +
                       actions.back().name + ", which is unfinished");
    ActionText action;
    if (auto fault = actionRow().read(place[actions.size()], *element, action))
      return fault;
    actions.push_back(std::move(action));
  }
  return {};
}

Field<FailureText> actionsRow() {
  auto field =
      Rows<FailureText>::custom("actions", "a list of objects", readActions);
  field.key->inside = &actionRow();
  field.key->isList = true;
  return field;
}

} // namespace

const TableBase &failureTable() { return failureText(); }

Result<Failure> readFailure(StringRef text) {
  FailureText failure;
  Context context;
  context.text = text;
  const Place place(context, "the file");
  Check fault = checkSyntax(text);
  if (!fault)
    if (std::optional<Value> format = findMember(Value(text), "format");
        format && format->string() != "rondo-failure/1")
      fault = place["format"].wrong(*format, "\"rondo-failure/1\"");
  if (!fault)
    fault = failureText().read(place, Value(text), failure);
  if (fault)
    return *fault;
  return static_cast<Failure &&>(failure);
}

} // namespace rondo::json
