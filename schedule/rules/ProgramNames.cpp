//===- ProgramNames.cpp - What all rules of programs share ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/program/Program.h"
#include "schedule/rules/ProgramRules.h"

#include "schedule/model/BufferNumbers.h"
#include "schedule/program/GroupCollectives.h"

#include <algorithm>
#include <array>
#include <vector>

using namespace rondo;

namespace {

using Found = std::optional<Fault>;

/// Checks that the replicas, edges and collectives of actions exist, and on
/// their rank.
class Names {
public:
  Names(const Problem &problem, const Program &program, Rule rule)
      : problem(problem), program(program), groups(problem, program),
        rule(rule) {}

  /// Checks the action at a position of a rank.
  Found findAbsent(int32_t itsRank, int64_t itsPosition, Action its) {
    rank = itsRank;
    position = itsPosition;
    action = its;
    if (!action.traits().isImplemented)
      return fault<FaultKind::NoProgramAction>();
    if (Found wrong = checkIndex())
      return wrong;
    switch (action.traits().subject) {
    case Subject::Edge:
      return checkMessage();
    case Subject::Collective:
      return checkCollective();
    case Subject::Replica:
      break;
    }
    return checkReplica();
  }

private:
  template <FaultKind kind, typename... Parts>
  Fault fault(const Parts &...parts) const {
    return makeFaultAt<kind>(rule, rank, position, action, parts...);
  }
  Fault namesNothing(const char *what, int64_t there) const {
    return fault<FaultKind::NamesNothing>(what, there);
  }
  Found checkRankOf(int32_t replica) const {
    if (problem.rankOf(replica) == rank)
      return std::nullopt;
    return fault<FaultKind::OnAnotherRank>(problem.rankOf(replica),
                                           problem.replicas[replica].stage);
  }
  bool namesCollective() const {
    return action.subject < program.collectives.size();
  }

  /// Checks the index if it is a unit or a step. Micro-batches are checked with
  /// their replica or edge.
  Found checkIndex() const {
    const ActionTraits &traits = action.traits();
    const int64_t index = action.index;
    const bool isOfUnit =
        traits.movesState() ||
        (action.kind() == ActionKind::Await && namesCollective() &&
         movesState(program.collectives[action.subject].kind));
    // There are no more units than actions.
    if (isOfUnit && index >= program.order.numActions())
      return namesNothing("unit", program.order.numActions());
    if (!isOfUnit && traits.index == IndexMeaning::Step &&
        index >= problem.iterations)
      return namesNothing("step", problem.iterations);
    return std::nullopt;
  }

  Found checkMessage() const {
    if (action.subject >= problem.edges.size())
      return namesNothing("edge", problem.edges.size());
    const int64_t index = action.index;
    if (index >= problem.microbatches)
      return namesNothing("micro-batch", problem.microbatches);
    const Edge &edge = problem.edges[action.subject];
    if (problem.rankOf(edge.from) == problem.rankOf(edge.to))
      return fault<FaultKind::MessageToItself>();
    if (!problem.carries(edge, index))
      return fault<FaultKind::NotCarried>(index);
    return checkRankOf(action.kind() == ActionKind::Send ? edge.from : edge.to);
  }

  Found checkCollective() const {
    if (!namesCollective())
      return namesNothing("collective", program.collectives.size());
    const Collective &collective = program.collectives[action.subject];
    if (action.kind() == ActionKind::AllReduce && movesState(collective.kind))
      return fault<FaultKind::IssuedByReplicas>(
          traitsOf(collective.kind).keyword);
    auto isHere = [&](int32_t replica) {
      return problem.rankOf(replica) == rank;
    };
    if (std::none_of(collective.replicas.begin(), collective.replicas.end(),
                     isHere))
      return fault<FaultKind::NoStageOfCollective>();
    return std::nullopt;
  }

  Found checkReplica() const {
    const ActionTraits &traits = action.traits();
    const int64_t index = action.index;
    if (static_cast<int64_t>(action.subject) >= problem.numReplicas())
      return namesNothing("replica", problem.numReplicas());
    const bool isOfMicrobatch = traits.isTask() || traits.isCopy();
    if (isOfMicrobatch && index >= problem.microbatches)
      return namesNothing("micro-batch", problem.microbatches);
    const auto number = static_cast<int32_t>(action.subject);
    const Replica &replica = problem.replicas[number];
    if (traits.isCopy() && !problem.hostMemory.mayCopy(number))
      return fault<FaultKind::NotCopied>();
    if (isOfMicrobatch && !replica.takes(index))
      return fault<FaultKind::RoundRobinElsewhere>(
          problem.replicas.of(replica.stage).first[index % replica.turns].rank,
          index);
    if (traits.movesState()) {
      if (!replica.isSharded())
        return fault<FaultKind::NotSharded>();
      if (action.kind() != ActionKind::Reshard && groups.numberOf(action) < 0)
        return fault<FaultKind::NoGroupCollective>();
    }
    return checkRankOf(number);
  }

  const Problem &problem;
  const Program &program;
  const GroupCollectives groups;
  const Rule rule;
  /// The action that is being checked.
  int32_t rank = 0;
  int64_t position = 0;
  Action action;
};

/// Tasks, sends and receives of a rank whose names have been checked. Most
/// actions differ from a checked one in the micro-batch alone.
class Known {
public:
  explicit Known(const Problem &problem)
      : microbatches(problem.microbatches),
        areRoundRobin(problem.replicas.areRoundRobin()) {}

  bool has(int32_t rank, Action action) const {
    const std::vector<int32_t> &ranks = lastRank[action.kindBits];
    return action.subject < ranks.size() && ranks[action.subject] == rank &&
           action.index < microbatches;
  }
  /// Records nothing for round-robin stages: the micro-batch may belong to
  /// another replica.
  void add(int32_t rank, Action action) {
    if (areRoundRobin ||
        !(action.isTask() || action.traits().subject == Subject::Edge))
      return;
    std::vector<int32_t> &ranks = lastRank[action.kindBits];
    if (action.subject >= ranks.size())
      ranks.resize(action.subject + 1, -1);
    ranks[action.subject] = rank;
  }

private:
  const uint64_t microbatches;
  const bool areRoundRobin;
  /// [kind][subject]: the last rank that has such an action.
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
    for (int32_t replica : program.collectives[c].replicas)
      if (replica < 0 || replica >= problem.numReplicas())
        return makeRuleFault<FaultKind::CollectiveOfNoStage>(
            rule, c, replica, problem.numReplicas() - 1);
  Names names(problem, program, rule);
  Known known(problem);
  for (int32_t r = 0; r < order.numRanks(); ++r) {
    ActionRange actions = order.rank(r);
    for (int64_t i = 0; i < actions.size(); ++i) {
      if (known.has(r, actions[i]))
        continue;
      if (auto fault = names.findAbsent(r, i, actions[i]))
        return fault;
      known.add(r, actions[i]);
    }
  }
  return std::nullopt;
}
