//===- Measured.cpp - Measured iterations as timelines --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/timeline/Measured.h"

#include "formats/json/Value.h"
#include "kinds/Counts.h"
#include "schedule/model/EdgeTable.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace rondo;
using namespace rondo::timeline;

namespace {

/// A replica, a kind and a micro-batch.
using TaskKey = std::tuple<int32_t, ActionKind, int64_t>;

TaskKey keyOf(Action action) {
  return {static_cast<int32_t>(action.subject), action.kind(),
          static_cast<int64_t>(action.index)};
}

class Layout {
public:
  Layout(const Panel &predicted, const MeasuredIteration &iteration)
      : problem(predicted.problem), predicted(predicted.timeline),
        iteration(iteration), edges(predicted.problem) {}

  Result<Timeline> run();

private:
  template <typename... Parts>
  static std::optional<Fault> misfit(Parts... parts) {
    return json::TextFault((std::string() + ... + parts));
  }
  int32_t replicaOf(const MeasuredTask &task) const;
  std::optional<Fault> checkShape();
  std::optional<Fault> addTask(const MeasuredTask &task);
  std::optional<Fault> checkOrder(int32_t rank) const;
  void addMessages();
  void addBytes();
  void explainRank(int32_t rank);

  const Problem &problem;
  const Timeline &predicted;
  const MeasuredIteration &iteration;
  EdgeTable edges;
  Timeline timeline;
  /// The tasks of the schedule.
  std::map<TaskKey, int32_t> planned;
  /// Places of those that were measured.
  std::map<TaskKey, int64_t> places;
  /// [place of a task]: its messages, in the order of their arrival.
  std::vector<std::vector<int64_t>> inputs;
};

int32_t Layout::replicaOf(const MeasuredTask &task) const {
  if (task.stage >= problem.numStages())
    return -1;
  const int32_t replica = problem.replicas.numberOf(task.stage) + task.replica;
  return replica < problem.numReplicas() &&
                 problem.replicas[replica].stage == task.stage
             ? replica
             : -1;
}

std::optional<Fault> Layout::checkShape() {
  if (problem.iterations > 1)
    return misfit("the plan has ", std::to_string(problem.iterations),
                  " iterations that overlap; only a single one can be laid "
                  "beside a trace");
  if (static_cast<int32_t>(iteration.ranks.size()) != problem.numRanks())
    return misfit("the trace has ", countOf(iteration.ranks.size(), "rank"),
                  ", the plan ", std::to_string(problem.numRanks()),
                  iteration.hasWaits ? "" : "; give a trace of each rank");
  for (const TimelineTask &task : predicted.tasks)
    if (task.action.count != 1)
      return misfit("the schedule has tasks that serve several micro-batches, "
                    "which a program runs one after another");
  return std::nullopt;
}

std::optional<Fault> Layout::addTask(const MeasuredTask &measured) {
  const int32_t replica = replicaOf(measured);
  ActionKind kind = measured.kind;
  auto name = [&] {
    return actionName(Action(kind, replica, measured.microbatch), problem);
  };
  if (replica < 0)
    return misfit("the trace has a task of stage ",
                  std::to_string(measured.stage), ", replica ",
                  std::to_string(measured.replica),
                  ", which the plan does not have");
  if (problem.rankOf(replica) != measured.rank)
    return misfit("rank ", std::to_string(measured.rank), " of the trace ran ",
                  name(), ", which the plan has on rank ",
                  std::to_string(problem.rankOf(replica)),
                  iteration.hasWaits
                      ? ""
                      : "; give the traces of PyTorch in the order of ranks");
  const TaskKey fused{replica, ActionKind::Backward, measured.microbatch};
  const bool isHalf =
      kind == ActionKind::InputGrad || kind == ActionKind::WeightGrad;
  if (isHalf && planned.count(fused)) {
    kind = ActionKind::Backward;
    // Its halves follow each other.
    if (auto first = places.find(fused); first != places.end()) {
      if (first->second + 1 != int64_t(timeline.tasks.size()))
        return misfit("rank ", std::to_string(measured.rank),
                      " of the trace ran I and W of ", name(),
                      " apart, where the schedule has one backward");
      timeline.tasks.back().endNs = measured.endNs;
      return std::nullopt;
    }
  }
  const Action action(kind, replica, measured.microbatch);
  // In a schedule without steps they come last.
  if (kind != ActionKind::Step && !planned.count(keyOf(action)))
    return misfit("the trace has ", name(), ", which the schedule does not");
  if (!places.insert({keyOf(action), int64_t(timeline.tasks.size())}).second)
    return misfit("the trace has ", name(), " twice in iteration ",
                  std::to_string(iteration.number));
  TimelineTask task;
  task.action = action;
  task.rank = measured.rank;
  task.startNs = measured.startNs;
  task.endNs = measured.endNs;
  timeline.tasks.push_back(task);
  return std::nullopt;
}

/// A program runs the tasks of each rank in the order of its schedule.
std::optional<Fault> Layout::checkOrder(int32_t rank) const {
  auto tasksOf = [&](const Timeline &of) {
    std::vector<Action> actions;
    for (int64_t i = of.rankBegin[rank]; i < of.rankBegin[rank + 1]; ++i)
      if (of.tasks[i].action.isTask())
        actions.push_back(of.tasks[i].action);
    return actions;
  };
  const std::vector<Action> wanted = tasksOf(predicted),
                            ran = tasksOf(timeline);
  const auto [want, run] =
      std::mismatch(wanted.begin(), wanted.end(), ran.begin(), ran.end());
  if (want == wanted.end() && run == ran.end())
    return std::nullopt;
  auto nameAt = [&](auto place, auto end) {
    return place == end ? std::string("nothing") : actionName(*place, problem);
  };
  return misfit("rank ", std::to_string(rank), " of the trace ran ",
                nameAt(run, ran.end()), " as its task ",
                std::to_string(run - ran.begin() + 1),
                ", but the schedule has ", nameAt(want, wanted.end()));
}

/// A message is the edge's whose producer and consumer are replicas of its
/// ranks.
void Layout::addMessages() {
  inputs.resize(timeline.tasks.size());
  std::map<std::tuple<int32_t, int32_t, int32_t, MessageKind, int64_t>,
           const MeasuredMessage *>
      measured;
  for (const MeasuredMessage &message : iteration.messages)
    measured[{message.from, message.to, message.stage, message.kind,
              message.microbatch}] = &message;
  std::map<std::pair<int32_t, int64_t>, int64_t> consumers;
  for (size_t i = 0; i < timeline.tasks.size(); ++i) {
    const Action action = timeline.tasks[i].action;
    for (int32_t e : edges.inputs(action.subject, action.kind()))
      consumers[{e, action.index}] = int64_t(i);
  }
  for (size_t i = 0; i < timeline.tasks.size(); ++i) {
    const Action action = timeline.tasks[i].action;
    for (int32_t e : edges.outputs(action.subject, action.kind())) {
      const Edge &edge = problem.edges[e];
      const auto found = measured.find(
          {problem.rankOf(edge.from), problem.rankOf(edge.to),
           problem.replicas[edge.from].stage, edge.message(), action.index});
      const auto consumer = consumers.find({e, action.index});
      if (found == measured.end() || consumer == consumers.end())
        continue;
      const MeasuredMessage &message = *found->second;
      inputs[consumer->second].push_back(int64_t(timeline.messages.size()));
      timeline.messages.push_back(
          {int64_t(i), consumer->second, e, message.leaveNs, message.arriveNs});
    }
  }
  for (std::vector<int64_t> &of : inputs)
    llvm::sort(of, [&](int64_t a, int64_t b) {
      return timeline.messages[a].arriveNs < timeline.messages[b].arriveNs;
    });
}

void Layout::addBytes() {
  int64_t held = 0;
  int32_t rank = -1;
  for (TimelineTask &task : timeline.tasks) {
    if (task.rank != rank)
      held = 0;
    rank = task.rank;
    const Cost &cost = problem.cost(task.action.subject, task.action.kind());
    task.heldBytes = held += cost.acquireBytes;
    task.leftBytes = held -= cost.releaseBytes;
  }
}

/// A task waited for its last message if that took most of the time since the
/// task before; else for that task.
void Layout::explainRank(int32_t rank) {
  std::map<int64_t, int64_t> lengthByEnd;
  for (const MeasuredWait &wait : iteration.waits)
    if (wait.rank == rank && wait.isArrival)
      lengthByEnd[wait.endNs] = wait.endNs - wait.startNs;
  const int64_t first = timeline.rankBegin[rank];
  for (int64_t i = first; i < timeline.rankBegin[rank + 1]; ++i) {
    TimelineTask &task = timeline.tasks[i];
    const int64_t idle =
        task.startNs - (i == first ? 0 : timeline.tasks[i - 1].endNs);
    if (!inputs[i].empty()) {
      // A message arrives when its wait ends.
      const auto wait =
          lengthByEnd.find(timeline.messages[inputs[i].back()].arriveNs);
      if (wait != lengthByEnd.end() && 2 * wait->second > idle) {
        task.waitedFor = WaitedFor::Message;
        task.waited = inputs[i].back();
        continue;
      }
    }
    if (i > first) {
      task.waitedFor = WaitedFor::Task;
      task.waited = i - 1;
    }
  }
}

Result<Timeline> Layout::run() {
  if (std::optional<Fault> fault = checkShape())
    return *fault;
  for (const TimelineTask &task : predicted.tasks)
    planned[keyOf(task.action)] = task.rank;
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    timeline.rankBegin.push_back(int64_t(timeline.tasks.size()));
    for (const MeasuredTask &task : iteration.tasks)
      if (task.rank == rank)
        if (std::optional<Fault> fault = addTask(task))
          return *fault;
  }
  timeline.rankBegin.push_back(int64_t(timeline.tasks.size()));
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
    if (std::optional<Fault> fault = checkOrder(rank))
      return *fault;
  timeline.makespanNs = iteration.durationNs;
  addMessages();
  addBytes();
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
    explainRank(rank);
  return std::move(timeline);
}

} // namespace

Result<Timeline> timeline::layOutMeasured(const Panel &predicted,
                                          const MeasuredIteration &iteration) {
  return Layout(predicted, iteration).run();
}

const MeasuredIteration *timeline::chooseIteration(const MeasuredRun &run,
                                                   llvm::StringRef schedule,
                                                   int64_t number) {
  std::vector<const MeasuredIteration *> found;
  for (const MeasuredIteration &iteration : run.iterations)
    if ((number == 0 || iteration.number == number) &&
        (schedule.empty() || iteration.schedule.empty() ||
         schedule == iteration.schedule))
      found.push_back(&iteration);
  if (found.empty())
    return nullptr;
  const auto middle = found.begin() + (found.size() - 1) / 2;
  std::nth_element(found.begin(), middle, found.end(),
                   [](const auto *a, const auto *b) {
                     return std::pair(a->durationNs, a->number) <
                            std::pair(b->durationNs, b->number);
                   });
  return *middle;
}
