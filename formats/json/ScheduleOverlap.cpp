//===- ScheduleOverlap.cpp - `overlap` of rondo-schedule ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ScheduleReader.h"

#include <set>

namespace rondo::json {

std::optional<TextFault>
ScheduleText::readOverlap(const Problem &problem, const Schedule &schedule,
                          std::vector<std::pair<Action, Action>> *pairs) const {
  const Value *overlap = fields.find("overlap");
  if (!overlap)
    return std::nullopt;
  if (!overlap->isArray())
    return "overlap is not a list";
  // Tasks that follow each other on a rank, by name: all replicas of a stage
  // have the same.
  using Name = std::pair<ActionKind, int64_t>;
  std::set<std::pair<Name, Name>> following;
  const auto nameOf = [&](Action action) {
    return Name(action.kind(), int64_t(problem.replicas[action.subject].stage) *
                                       problem.microbatches +
                                   int64_t(action.index));
  };
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    auto order = schedule.rank(rank);
    for (int64_t i = 0; i + 1 < order.size(); ++i)
      following.insert({nameOf(order[i]), nameOf(order[i + 1])});
  }
  std::set<Name> named;
  std::string storage;
  Elements walk(*overlap);
  for (size_t index = 0; std::optional<Value> value = walk.next(); ++index) {
    const std::string where = "overlap[" + std::to_string(index) + "]";
    std::vector<Action> pair;
    if (value->isArray()) {
      Elements both(*value);
      for (std::optional<Value> task; (task = both.next());) {
        Action action;
        if (std::optional<TextFault> fault =
                readAction(*task, problem, 0, storage, action))
          return describe(*fault) + ", in " + where;
        pair.push_back(action);
      }
    }
    if (pair.size() != 2)
      return where + " is not a pair of tasks";
    if (!following.count({nameOf(pair[0]), nameOf(pair[1])}))
      return where + " names " + value->excerpt() +
             ", which do not follow each other on a rank";
    if (!named.insert(nameOf(pair[0])).second && isVersion2)
      return where + " names " + value->excerpt() + " for the second time";
    if (pairs)
      pairs->emplace_back(pair[0], pair[1]);
  }
  return std::nullopt;
}

} // namespace rondo::json
