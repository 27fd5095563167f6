//===- ProgramNames.cpp - What all rules of programs share ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/Program.h"

#include "schedule/BufferNumbers.h"
#include "schedule/GroupCollectives.h"

#include <algorithm>
#include <array>
#include <vector>

using namespace rondo;

namespace {

/// What an action of a rank names that is not there, if anything.
std::optional<Fault> findAbsent(const Problem &problem, const Program &program,
                                const GroupCollectives &groups, Rule rule,
                                int32_t rank, int64_t position, Action action) {
  auto outOf = [&](const char *what, int64_t there) {
    return makeFaultAt<FaultKind::NamesNothing>(rule, rank, position, action,
                                                what, there);
  };
  auto misplaced = [&](int32_t home) -> std::optional<Fault> {
    if (problem.rankOf(home) == rank)
      return std::nullopt;
    return makeFaultAt<FaultKind::OnAnotherRank>(rule, rank, position, action,
                                                 problem.rankOf(home),
                                                 problem.homes[home].stage);
  };
  const int64_t number = action.subject, index = action.index;
  const ActionTraits &traits = action.traits();
  if (!traits.isImplemented)
    return makeFaultAt<FaultKind::NoProgramAction>(rule, rank, position,
                                                   action);
  const bool isOfUnit =
      traits.movesState() ||
      (action.kind() == ActionKind::Await &&
       number < static_cast<int64_t>(program.collectives.size()) &&
       movesState(program.collectives[number].kind));
  // Each unit has an action.
  if (isOfUnit && index >= program.order.numActions())
    return outOf("unit", program.order.numActions());
  if (!isOfUnit && traits.index == IndexMeaning::Step &&
      index >= problem.iterations)
    return outOf("step", problem.iterations);
  switch (traits.subject) {
  case Subject::Edge: {
    if (number >= static_cast<int64_t>(problem.edges.size()))
      return outOf("edge", problem.edges.size());
    if (index >= problem.microbatches)
      return outOf("micro-batch", problem.microbatches);
    const Edge &edge = problem.edges[number];
    if (problem.rankOf(edge.from) == problem.rankOf(edge.to))
      return makeFaultAt<FaultKind::MessageToItself>(rule, rank, position,
                                                     action);
    if (!problem.carries(edge, index))
      return makeFaultAt<FaultKind::NotCarried>(rule, rank, position, action,
                                                index);
    return misplaced(action.kind() == ActionKind::Send ? edge.from : edge.to);
  }
  case Subject::Collective: {
    if (number >= static_cast<int64_t>(program.collectives.size()))
      return outOf("collective", program.collectives.size());
    if (action.kind() == ActionKind::AllReduce &&
        movesState(program.collectives[number].kind))
      return makeFaultAt<FaultKind::IssuedByHomes>(
          rule, rank, position, action,
          traitsOf(program.collectives[number].kind).keyword);
    const std::vector<int32_t> &homes = program.collectives[number].homes;
    auto isHere = [&](int32_t home) { return problem.rankOf(home) == rank; };
    if (std::none_of(homes.begin(), homes.end(), isHere))
      return makeFaultAt<FaultKind::NoStageOfCollective>(rule, rank, position,
                                                         action);
    return std::nullopt;
  }
  case Subject::Home:
    break;
  }
  if (number >= problem.numHomes())
    return outOf("home", problem.numHomes());
  if (traits.isTask() && index >= problem.microbatches)
    return outOf("micro-batch", problem.microbatches);
  const Home &home = problem.homes[static_cast<int32_t>(number)];
  if (traits.isTask() && !home.takes(index))
    return makeFaultAt<FaultKind::DealtElsewhere>(
        rule, rank, position, action,
        problem.homes.of(home.stage).first[index % home.turns].rank, index);
  if (traits.movesState()) {
    if (!home.isSharded())
      return makeFaultAt<FaultKind::NotSharded>(rule, rank, position, action);
    if (action.kind() != ActionKind::Reshard && groups.numberOf(action) < 0)
      return makeFaultAt<FaultKind::NoGroupCollective>(rule, rank, position,
                                                       action);
  }
  return misplaced(number);
}

/// The tasks, sends and receives of a rank that are known to name what is
/// there: most actions differ from another one in the micro-batch alone.
class Known {
public:
  explicit Known(const Problem &problem)
      : microbatches(problem.microbatches), areDealt(problem.homes.areDealt()) {
  }

  bool has(int32_t rank, Action action) const {
    const std::vector<int32_t> &ranks = lastRank[action.kindBits];
    return action.subject < ranks.size() && ranks[action.subject] == rank &&
           action.index < microbatches;
  }
  /// Of dealt stages, a micro-batch may be another home's.
  void add(int32_t rank, Action action) {
    if (areDealt ||
        !(action.isTask() || action.traits().subject == Subject::Edge))
      return;
    std::vector<int32_t> &ranks = lastRank[action.kindBits];
    if (action.subject >= ranks.size())
      ranks.resize(action.subject + 1, -1);
    ranks[action.subject] = rank;
  }

private:
  const uint64_t microbatches;
  const bool areDealt;
  /// By kind and subject: the last rank that has such an action.
  std::array<std::vector<int32_t>, maxActionKinds> lastRank;
};

} // namespace

std::optional<Fault> rondo::checkNames(const Problem &problem,
                                       const Program &program, Rule rule) {
  const Schedule &order = program.order;
  if (order.numRanks() != problem.numRanks())
    return makeRuleFault<FaultKind::ProgramRankCount>(rule).withFigures(
        order.numRanks(), problem.numRanks());
  const auto places = static_cast<int64_t>(program.places.size()),
             buffers = static_cast<int64_t>(BufferNumbers(problem).count());
  if (places > 0 && places != buffers)
    return makeRuleFault<FaultKind::PlaceCount>(rule).withFigures(places,
                                                                  buffers);
  for (size_t c = 0; c < program.collectives.size(); ++c)
    for (int32_t home : program.collectives[c].homes)
      if (home < 0 || home >= problem.numHomes())
        return makeRuleFault<FaultKind::CollectiveOfNoStage>(
            rule, c, home, problem.numHomes() - 1);
  const GroupCollectives groups(problem, program);
  Known known(problem);
  for (int32_t r = 0; r < order.numRanks(); ++r) {
    ActionRange actions = order.rank(r);
    for (int64_t i = 0; i < actions.size(); ++i) {
      if (known.has(r, actions[i]))
        continue;
      if (auto fault =
              findAbsent(problem, program, groups, rule, r, i, actions[i]))
        return fault;
      known.add(r, actions[i]);
    }
  }
  return std::nullopt;
}
