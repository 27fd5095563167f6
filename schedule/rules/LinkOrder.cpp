//===- LinkOrder.cpp - S6: a link order names each message once -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/model/EdgeTable.h"
#include "schedule/rules/Legality.h"

using namespace rondo;

namespace {

constexpr Rule rule = Rule::LinkOrder;

/// The messages of the current link that have not been named yet, by producer.
class Unnamed {
public:
  Unnamed(const Problem &problem)
      : microbatches(problem.microbatches),
        bits(problem.numReplicas() * microbatches), counts(bits.size(), 1) {}

  void add(Action action) {
    at(action) |= bitOf(action);
    if (action.count > 1)
      counts[placeOf(action)] = static_cast<uint8_t>(action.count);
  }
  /// False if the action is not in the set.
  bool remove(Action action) {
    bool found = contains(action);
    if (found)
      at(action) &= static_cast<uint8_t>(~bitOf(action));
    return found;
  }
  bool contains(Action action) {
    const uint64_t count =
        action.kind() == ActionKind::Backward ? counts[placeOf(action)] : 1;
    return (at(action) & bitOf(action)) != 0 && count == action.count;
  }

private:
  int64_t placeOf(Action action) const {
    return int64_t(action.subject) * microbatches + int64_t(action.index);
  }
  uint8_t &at(Action action) { return bits[placeOf(action)]; }
  static uint8_t bitOf(Action action) {
    return static_cast<uint8_t>(1u << action.kindBits);
  }

  int64_t microbatches;
  std::vector<uint8_t> bits;
  /// The `count` of each B, the only kind that may have more than one
  /// micro-batch.
  std::vector<uint8_t> counts;
};

bool isTaskOf(const Problem &problem, Action action) {
  return action.isTask() &&
         static_cast<int64_t>(action.subject) < problem.numReplicas() &&
         action.count > 0 &&
         static_cast<int64_t>(action.index) < problem.microbatches;
}

} // namespace

std::optional<Fault> rondo::checkLinkOrder(const Problem &problem,
                                           const Schedule &schedule) {
  if (schedule.linkOrders.empty())
    return std::nullopt;
  EdgeTable edges(problem);
  Unnamed unnamed(problem);
  for (const auto &[link, listed] : schedule.linkOrders) {
    const auto [from, to] = link;
    auto onLink = [to = to](Fault fault) {
      return std::move(fault).withOtherRank(to);
    };
    if (from == to || from < 0 || to < 0 || from >= problem.numRanks() ||
        to >= problem.numRanks())
      return onLink(makeFaultAt<FaultKind::NoSuchLink>(rule, from, -1, Action(),
                                                       problem.numRanks()));
    auto goesOver = [&, to = to](Action action) {
      for (int32_t e : edges.outputs(action.subject, action.kind()))
        if (problem.rankOf(problem.edges[e].to) == to &&
            problem.carries(problem.edges[e], action.index))
          return true;
      return false;
    };
    for (Action action : schedule.rank(from))
      if (goesOver(action))
        unnamed.add(action);
    for (size_t i = 0; i < listed.size(); ++i)
      if (!isTaskOf(problem, listed[i]) || !unnamed.remove(listed[i]))
        return onLink(
            makeFaultAt<FaultKind::NotOnLink>(rule, from, i, listed[i]));
    for (Action action : schedule.rank(from))
      if (unnamed.contains(action))
        return onLink(
            makeFaultAt<FaultKind::NotListed>(rule, from, -1, action));
  }
  return std::nullopt;
}
