//===- FaultText.cpp - Formatting of faults -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "kinds/Counts.h"
#include "schedule/model/BufferNumbers.h"
#include "schedule/model/Fault.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace rondo;

namespace {

std::string text(int64_t n) { return std::to_string(n); }

std::string place(int32_t rank, int64_t position) {
  return "at position " + text(position) + " of rank " + text(rank);
}

/// Formats one fault; see Faults.def.
class FaultFormatter {
public:
  FaultFormatter(const Fault &fault, const Problem *problem,
                 bool isBrief = false, const ProgramNames *names = nullptr)
      : fault(fault), problem(problem), isBrief(isBrief), names(names) {}

  std::string format() const {
    return format(faultSentences[static_cast<int>(fault.kind)]);
  }

private:
  std::string format(const std::string &sentence) const;
  FaultPart valueOf(const std::string &name) const;
  DeviceMemory memory() const;
  std::string cycle(const std::string &name) const;

  std::string textOf(const FaultPart &part, const std::string &form) const {
    return std::visit(
        [&](const auto &value) { return formatPart(value, form); }, part);
  }
  std::string formatPart(int64_t number, const std::string &form) const;
  std::string formatPart(const std::string &word, const std::string &) const {
    return word;
  }
  std::string formatPart(Action action, const std::string &form) const;
  std::string formatPart(BufferName name, const std::string &) const;
  std::string formatPart(SlotName name, const std::string &) const {
    return "slot " + text(name.slot) + " of " + poolOf(name.pool);
  }
  std::string poolOf(int64_t number) const {
    const bool isNamed =
        names && number >= 0 && number < int64_t(names->pools.size());
    return "pool " + (isNamed ? "@" + names->pools[number] : text(number));
  }
  std::string nameOf(Action action) const;
  std::string stageOf(int64_t replica) const {
    return text(problem && replica < problem->numReplicas()
                    ? problem->replicas[static_cast<int32_t>(replica)].stage
                    : replica);
  }

  const Fault &fault;
  const Problem *problem;
  const bool isBrief;
  const ProgramNames *names;
};

std::string FaultFormatter::format(const std::string &sentence) const {
  std::string result;
  for (size_t i = 0; i < sentence.size(); ++i) {
    if (sentence[i] == '[') {
      const size_t space = sentence.find(' ', i), end = sentence.find(']', i);
      const FaultPart value = valueOf(sentence.substr(i + 1, space - i - 1));
      if (std::get<int64_t>(value) != 0)
        result += format(sentence.substr(space + 1, end - space - 1));
      i = end;
      continue;
    }
    if (sentence[i] != '{') {
      result += sentence[i];
      continue;
    }
    const size_t end = sentence.find('}', i);
    const std::string inside = sentence.substr(i + 1, end - i - 1);
    i = end;
    if (inside == "brief") {
      if (isBrief)
        break;
      continue;
    }
    const size_t colon = std::min(inside.find(':'), inside.size());
    result += textOf(valueOf(inside.substr(0, colon)),
                     inside.substr(std::min(colon + 1, inside.size())));
  }
  return result;
}

FaultPart FaultFormatter::valueOf(const std::string &name) const {
  if (name[0] >= '0' && name[0] <= '9')
    return fault.parts.at(name[0] - '0');
  if (name == "action")
    return fault.action;
  if (name == "other")
    return fault.other;
  if (name == "place")
    return place(fault.rank, fault.position);
  if (name == "otherPlace")
    return place(fault.otherRank, fault.otherPosition);
  if (name == "link")
    return fault.rank < 0
               ? "the default link"
               : "link " + text(fault.rank) + ">" + text(fault.otherRank);
  if (name == "cycle" || name == "programCycle" || name == "launchCycle")
    return cycle(name);
  const DeviceMemory known = memory();
  const std::pair<const char *, int64_t> figures[] = {
      {"rank", fault.rank},
      {"position", fault.position},
      {"otherRank", fault.otherRank},
      {"otherPosition", fault.otherPosition},
      {"found", fault.found},
      {"allowed", fault.allowed},
      {"device", known.deviceBytes},
      {"state", known.stateBytes},
      {"held", known.stateBytes + fault.found},
      {"excess", known.stateBytes + fault.found - known.deviceBytes},
  };
  for (const auto &[figure, value] : figures)
    if (name == figure)
      return value;
  return "{" + name + "}";
}

/// Memory of the fault's rank. If caps were derived from devices: the device's
/// memory and state; otherwise the cap and 0.
DeviceMemory FaultFormatter::memory() const {
  if (fault.rule == Rule::Memory && problem && !problem->devices.empty())
    return problem->devices[fault.rank];
  return {fault.allowed, 0};
}

std::string FaultFormatter::cycle(const std::string &name) const {
  std::string result;
  const bool isProgram = name == "programCycle";
  for (const Wait &wait : fault.cycle) {
    Fault one = name == "launchCycle" || (isProgram && wait.isBehind)
                    ? makeFault<FaultKind::LaunchWaits>()
                : isProgram && wait.onRank == wait.rank
                    ? makeFault<FaultKind::ProgramWaitsForItself>()
                : isProgram ? makeFault<FaultKind::ProgramWaits>()
                : wait.isBehind && wait.at.traits().isCopy()
                    ? makeFault<FaultKind::CopyWaits>()
                : wait.isBehind
                    ? makeFault<FaultKind::RankWaitsBehind>(wait.behind)
                    : makeFault<FaultKind::RankWaits>();
    one = std::move(one).withRank(wait.rank).withAction(wait.at).withOther(
        wait.onRank, -1, wait.needs);
    result += (result.empty() ? "" : " -> ") +
              FaultFormatter(one, problem, /*isBrief=*/false, names).format();
  }
  return result;
}

std::string FaultFormatter::formatPart(int64_t number,
                                       const std::string &form) const {
  if (form.empty())
    return text(number);
  if (form == "pool")
    return poolOf(number);
  if (const size_t bar = form.find('|'); bar != std::string::npos)
    return number == 1 ? form.substr(0, bar) : form.substr(bar + 1);
  return countOf(number, form);
}

std::string FaultFormatter::nameOf(Action action) const {
  if (problem && names)
    return programActionName(action, *problem, *names);
  if (problem)
    return programActionName(action, *problem);
  return action.isTask() || action.traits().isCopy()
             ? actionName(action)
             : action.traits().keyword + (" " + text(action.subject));
}

std::string FaultFormatter::formatPart(Action action,
                                       const std::string &form) const {
  const ActionTraits &traits = action.traits();
  if (form == "keyword")
    return traits.keyword;
  if (form == "stage")
    return stageOf(action.subject);
  if (form == "kind")
    return (traits.isTask()   ? std::string(1, traits.letter)
            : traits.isCopy() ? traits.code
                              : traits.keyword) +
           (" of stage " + stageOf(action.subject));
  if (form.empty())
    return nameOf(action);
  switch (action.kind()) {
  case ActionKind::Send:
  case ActionKind::Recv: {
    const std::string what =
        action.kind() == ActionKind::Send ? "send " : "post the recv of ";
    if (!problem)
      return what + "edge " + text(action.subject);
    const Edge &edge = problem->edges[action.subject];
    return what +
           actionName(Action(edge.producer, edge.from, action.index), *problem);
  }
  case ActionKind::AllReduce:
    return names ? nameOf(action) : "issue " + nameOf(action);
  case ActionKind::Await:
    return nameOf(action);
  default:
    return "run " + nameOf(action);
  }
}

std::string FaultFormatter::formatPart(BufferName name,
                                       const std::string &) const {
  if (name.buffer < 0)
    return "nothing";
  const std::string microbatch = ", micro-batch " + text(name.microbatch);
  if (!problem)
    return "buffer " + text(name.buffer) + microbatch;
  const BufferNumbers buffers(*problem);
  const BufferNumbers::Buffer &buffer = buffers[name.buffer];
  const BufferTraits &traits = traitsOf(buffer.kind);
  std::string result =
      std::string(traits.keyword) + " of stage " + stageOf(buffer.replica);
  if (buffer.isOneOfSeveral) {
    const Edge &edge = problem->edges[buffer.edge];
    result += edge.to == buffer.replica ? " from stage " + stageOf(edge.from)
                                        : " to stage " + stageOf(edge.to);
  }
  return traits.isState() ? result : result + microbatch;
}

std::string withRule(const Fault &fault, std::string sentence) {
  if (fault.rule != Rule::None)
    sentence += std::string(" [") + ruleId(fault.rule) + "]";
  return sentence;
}

} // namespace

std::string rondo::describe(const Fault &fault, const Problem &problem) {
  return withRule(fault, FaultFormatter(fault, &problem).format());
}

std::string rondo::describe(const Fault &fault) {
  return withRule(fault, FaultFormatter(fault, nullptr).format());
}

std::string rondo::programActionName(Action action, const Problem &problem,
                                     const ProgramNames &names) {
  if (action.traits().subject == Subject::Collective &&
      action.subject < names.collectives.size())
    return (action.kind() == ActionKind::Await ? "await @" : "issue @") +
           names.collectives[action.subject];
  return programActionName(action, problem);
}

std::string rondo::describe(const Fault &fault, const Problem &problem,
                            const ProgramNames &names) {
  return withRule(
      fault,
      FaultFormatter(fault, &problem, /*isBrief=*/false, &names).format());
}

std::string rondo::describeBriefly(const Fault &fault) {
  return withRule(fault,
                  FaultFormatter(fault, nullptr, /*isBrief=*/true).format());
}

void rondo::readWithoutValue(const Fault &fault) {
  std::fprintf(stderr,
               "rondo: internal error: a result without a value was "
               "read: %s\n",
               describe(fault).c_str());
  std::abort();
}

void rondo::readWithoutFault() {
  std::fputs("rondo: internal error: the fault of a result with a value was "
             "read\n",
             stderr);
  std::abort();
}

std::string rondo::actionName(Action action) {
  return text(action.subject) + action.traits().code + text(action.index) +
         (action.count > 1 ? "x" + text(action.count) : "");
}

std::string rondo::actionName(Action action, const Problem &problem) {
  if (action.subject < static_cast<uint64_t>(problem.numReplicas()))
    action.subject = problem.replicas[action.subject].stage;
  return actionName(action);
}

std::string rondo::describeCycle(const std::vector<Wait> &cycle) {
  return describe(makeFault<FaultKind::Cycle>().withCycle(cycle));
}

std::string rondo::programActionName(Action action, const Problem &problem) {
  const std::string number = std::to_string(action.subject);
  const ActionTraits &traits = action.traits();
  if (traits.isTask() || traits.isCopy())
    return actionName(action, problem);
  switch (traits.subject) {
  case Subject::Edge: {
    const bool isSend = action.kind() == ActionKind::Send;
    if (action.subject >= problem.edges.size())
      return std::string(traits.keyword) + " of edge " + number;
    const Edge &edge = problem.edges[action.subject];
    return std::string(traits.keyword) + " " +
           actionName(Action(edge.producer, edge.from, action.index), problem) +
           (isSend ? " to rank " : " from rank ") +
           std::to_string(problem.rankOf(isSend ? edge.to : edge.from));
  }
  case Subject::Collective:
    return std::string(traits.keyword) + " " + number;
  case Subject::Replica:
    break;
  }
  return std::string(traits.keyword) +
         (problem.iterations > 1 || traits.movesState()
              ? " " + std::to_string(uint64_t(action.index))
              : "") +
         " of stage " +
         (action.subject < static_cast<uint64_t>(problem.numReplicas())
              ? std::to_string(problem.replicas[action.subject].stage)
              : number);
}
