//===- CopyOrders.cpp - copy_order of rondo-schedule ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ScheduleReader.h"
#include "kinds/Counts.h"

#include "llvm/ADT/STLExtras.h"

using llvm::StringRef;

namespace rondo::json {

/// A copy of a copy order, as that of a replica on the host link. `named` has
/// the actions before it. Where several replicas copy the micro-batch over the
/// link, the first mention is the lowest's, the next one the next one's.
static Action onHostLink(const Problem &problem, int32_t link, Action action,
                         llvm::ArrayRef<Action> named) {
  const int32_t stage =
      problem.replicas[static_cast<int32_t>(action.subject)].stage;
  const ReplicaRange replicas = problem.replicas.of(stage);
  for (const Replica &replica : replicas) {
    const Action own(action.kind(),
                     problem.replicas.numberOf(stage, replica.index),
                     action.index);
    if (problem.hostMemory.sharedLink(replica.rank) == link &&
        replica.takes(action.index) &&
        (replicas.size() == 1 || !llvm::is_contained(named, own)))
      return own;
  }
  return action;
}

std::optional<TextFault>
ScheduleText::readCopyOrders(const Problem &problem, Schedule &schedule) const {
  const Value *orders = fields.find("copy_order");
  if (!orders)
    return std::nullopt;
  if (!orders->isObject())
    return "copy_order is not an object";
  const auto links = static_cast<int64_t>(problem.hostMemory.shared.size());
  std::string storage;
  Members members(*orders);
  while (std::optional<Member> member = members.next()) {
    const std::string where = "copy_order[" + quoted(member->key) + "]";
    // Without a leading zero, as numbers of actions.
    int64_t link;
    if (StringRef(member->key).getAsInteger(10, link) || link < 0 ||
        link >= links || std::to_string(link) != member->key)
      return TextFault(FaultKind::TextCopyOrder,
                       quoted(member->key) + " in copy_order is not one of " +
                           countOf(links, "host link") +
                           " that ranks share, numbered from 0");
    const auto [listed, isNew] =
        schedule.copyOrders.try_emplace(static_cast<int32_t>(link));
    if (!isNew)
      return "key " + quoted(member->key) + " appears twice in copy_order";
    if (!member->value.isArray())
      return where + " is not a list";
    Elements walk(member->value);
    while (std::optional<Value> value = walk.next()) {
      Action action;
      if (auto fault = readAction(*value, problem, -1, storage, action))
        return withWords("", *fault, ", in " + where);
      listed->second.push_back(onHostLink(problem, static_cast<int32_t>(link),
                                          action, listed->second));
    }
  }
  return std::nullopt;
}

} // namespace rondo::json
