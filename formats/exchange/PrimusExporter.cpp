//===- PrimusExporter.cpp - A schedule class for Primus -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Primus keeps its schedules in a map from a name to a class that makes a
// table: a row of nodes per rank, whose chunks are the rank's stages in
// ascending order. The class's base adds the messages.
//
// Primus copies what a micro-batch keeps to the host once an F with
// `should_offload` has ended. Node O (OFFLOAD) makes the compute stream wait
// for this copy and frees the bytes; node R (RELOAD) begins the copy back. All
// copies of a rank are in one stream.
//
//===----------------------------------------------------------------------===//

#include "formats/exchange/Adapt.h"
#include "schedule/order/CopyWaits.h"
#include "schedule/simulate/Simulator.h"

#include "llvm/ADT/StringExtras.h"

using namespace rondo;
using namespace rondo::exchange;

namespace {

/// Primus' names: its B is an I, and its BW a B.
const char *nodeOf(ActionKind kind) {
  switch (kind) {
  case ActionKind::Forward:
    return "F";
  case ActionKind::InputGrad:
    return "B";
  case ActionKind::WeightGrad:
    return "W";
  case ActionKind::Save:
    return "O";
  case ActionKind::Load:
    return "R";
  default:
    return "BW";
  }
}

/// Why Primus cannot make the copies of a rank.
std::optional<Fault> checkCopies(const Problem &problem, ActionRange order,
                                 int32_t rank) {
  std::vector<Action> forwards;
  size_t next = 0;
  for (Action action : order) {
    const auto replica = int32_t(action.subject);
    if (action.kind() == ActionKind::Forward)
      forwards.push_back(action);
    if (action.kind() != ActionKind::Save)
      continue;
    if (problem.hostMemory.loads[replica] != LoadBefore::InputGrad)
      return failIn(problem.replicas[replica].stage,
                    actionName(action, problem) +
                        " copies what I does not need; Primus copies what a "
                        "stage keeps and has it back before I");
    const Action forward(ActionKind::Forward, action.subject, action.index);
    const auto at = size_t(llvm::find(forwards, forward) - forwards.begin());
    if (at < next)
      return fail("rank " + llvm::Twine(rank) + " saves " +
                  actionName(action, problem) +
                  " after micro-batches whose forwards come later; Primus "
                  "saves in the order of the forwards");
    next = at;
  }
  return std::nullopt;
}

/// Puts each SAVE where the compute stream has to wait for it: before the first
/// action that awaits it, and at the latest after the next task that takes
/// bytes.
void placeWaits(ExchangedSchedule &schedule) {
  const CopyWaits waits = deriveCopyWaits(schedule.problem, schedule.schedule);
  Schedule placed;
  placed.reserve(schedule.schedule.numActions());
  for (int32_t rank = 0; rank < schedule.schedule.numRanks(); ++rank) {
    const ActionRange order = schedule.schedule.rank(rank);
    const int64_t first = schedule.schedule.rankBegin(rank);
    // Saves that nothing has awaited yet, and whether they end here.
    std::vector<std::pair<Action, bool>> open;
    const auto close = [&](const auto &isDue) {
      llvm::erase_if(open, [&](const auto &save) {
        if (isDue(save))
          placed.append(save.first);
        return isDue(save);
      });
    };
    for (int64_t i = 0; i < order.size(); ++i) {
      if (order[i].kind() == ActionKind::Save) {
        open.emplace_back(order[i], false);
        continue;
      }
      const bool takes = order[i].isTask() &&
                         schedule.problem.costOf(order[i]).acquireBytes > 0;
      close([&](const auto &save) {
        const Action load(ActionKind::Load, save.first.subject,
                          save.first.index);
        bool isAwaited = save.second || load == order[i];
        for (int64_t k = waits.begin[first + i]; k < waits.begin[first + i + 1];
             ++k)
          isAwaited |= order[waits.awaited[size_t(k)] - first] == save.first;
        return isAwaited;
      });
      placed.append(order[i]);
      for (auto &save : open)
        save.second |= takes;
    }
    placed.endRank();
  }
  placed.linkOrders = schedule.schedule.linkOrders;
  schedule.schedule = std::move(placed);
}

/// The nodes of copies, and notes on what Primus does with them.
std::optional<Fault> takeCopies(ExchangedSchedule &schedule,
                                std::vector<std::string> &notes) {
  const Problem &problem = schedule.problem;
  if (!schedule.schedule.hasCopies())
    return std::nullopt;
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
    if (std::optional<Fault> fault =
            checkCopies(problem, schedule.schedule.rank(rank), rank))
      return fault;
  Problem inOneStream = problem;
  inOneStream.hostMemory.links.resize(problem.numRanks());
  for (std::optional<HostLink> &link : inOneStream.hostMemory.links) {
    link = link.value_or(HostLink());
    link->isHalf = true;
  }
  const Simulation both = simulate(inOneStream, schedule.schedule);
  if (!both.complete)
    return fail("the ranks would wait for each other with one copy at a time, "
                "as Primus makes them");
  std::vector<std::string> bytes;
  for (int32_t stage = 0; stage < problem.numStages(); ++stage)
    if (problem.hostMemory.mayCopy(stage))
      bytes.push_back(
          std::to_string(problem.cost(stage, ActionKind::Save).releaseBytes) +
          " of " +
          std::to_string(
              problem.cost(stage, ActionKind::Forward).acquireBytes) +
          " bytes in stage " + std::to_string(stage));
  notes.push_back("offload_ops of Primus' configuration decides what leaves; "
                  "this schedule assumes " +
                  llvm::join(bytes, ", "));
  if (schedule.hasTimes)
    notes.push_back(
        "Primus copies in one stream: predicted " +
        std::to_string(both.makespanNs) + " ns, and " +
        std::to_string(simulate(problem, schedule.schedule).makespanNs) +
        " ns with the host links as they are stated");
  placeWaits(schedule);
  return std::nullopt;
}

void writeTable(const ExchangedSchedule &schedule, llvm::raw_ostream &os) {
  os << "STAGES = (\n";
  const Problem &problem = schedule.problem;
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    os << "    (";
    for (int32_t stage = 0; stage < problem.numStages(); ++stage)
      if (problem.rankOf(stage) == rank)
        os << stage << ",";
    os << "),\n";
  }
  os << ")\nMICROBATCHES = " << problem.microbatches
     << "\n# By rank: stage, kind, micro-batch.\nORDERS = (\n";
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    std::vector<std::string> words;
    for (Action action : schedule.schedule.rank(rank))
      words.push_back(std::to_string(problem.replicas[action.subject].stage) +
                      nodeOf(action.kind()) +
                      std::to_string(uint64_t(action.index)));
    os << "    \"" << llvm::join(words, " ") << "\",\n";
  }
  os << ")\n";
}

std::optional<Fault> write(const ExchangedSchedule &given,
                           const ExportOptions &options, llvm::raw_ostream &os,
                           std::vector<std::string> &notes) {
  if (std::optional<Fault> fault =
          needSingleTasks(given.schedule, "Primus' schedules"))
    return fault;
  if (!given.overlap.empty())
    return fail("the schedule has pairs that run as one (overlap), which "
                "Primus' tables do not have");
  ExchangedSchedule schedule = given;
  const Problem &problem = schedule.problem;
  std::vector<int32_t> counts(problem.numRanks(), 0);
  for (int32_t stage = 0; stage < problem.numStages(); ++stage)
    ++counts[problem.rankOf(stage)];
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
    if (counts[rank] != counts[0])
      return fail("rank 0 has " + countOf(counts[0], "stage") + " and rank " +
                  llvm::Twine(rank) + " has " + llvm::Twine(counts[rank]) +
                  "; Primus gives each rank the same number (vpp_size)");
  if (std::optional<Fault> fault =
          prepare(schedule, options, /*renames=*/options.ascending, notes))
    return fault;
  if (std::optional<Fault> fault = takeCopies(schedule, notes))
    return fault;
  os << "# A schedule of " << countOf(problem.numStages(), "stage") << " and "
     << countOf(problem.microbatches, "micro-batch") << " on "
     << countOf(problem.numRanks(), "rank") << ", for Primus.\n"
     << R"py(# Import this module before training, and take --pp_algorithm rondo.
import re

from primus.core.pipeline_parallel.scheduler import schedule_table_factory
from primus.core.pipeline_parallel.scheduler.algorithms.base import PipelineScheduleAlgo
from primus.core.pipeline_parallel.scheduler.scheduler_node import FuncType, SchedulerNode

# The stages of each rank, in the order of its chunks.
)py";
  writeTable(schedule, os);
  os << R"py(PLACES = {s: (r, c) for r, row in enumerate(STAGES) for c, s in enumerate(row)}
LAST = len(PLACES) - 1


class RondoSchedule(PipelineScheduleAlgo):
    def __init__(self, pp_size, vpp_size, micro_batches, **options):
        found = (pp_size, vpp_size, micro_batches)
        expected = (len(STAGES), len(STAGES[0]), MICROBATCHES)
        if found != expected:
            raise ValueError(
                "this schedule has pp_size %d, vpp_size %d, %d micro-batches" % expected
                + "; the job has %d, %d, %d" % found
            )
        super().__init__(pp_size, vpp_size, micro_batches)

    def direction_map(self, rank, chunk, func_type):
        stage = STAGES[rank][chunk]
        is_forward = func_type == FuncType.F
        before, after = (stage - 1, stage + 1) if is_forward else (stage + 1, stage - 1)
        from_rank, from_chunk = PLACES.get(before, (None, chunk))
        to_rank, to_chunk = PLACES.get(after, (None, chunk))
        return {
            "prev": (from_rank, FuncType.RF if is_forward else FuncType.RB),
            "next": (to_rank, FuncType.SF if is_forward else FuncType.SB),
            "recv_from_chunk": from_chunk,
            "send_to_chunk": to_chunk,
        }

    def first_pp_stage_rank(self):
        return PLACES[0][0]

    def last_pp_stage_rank(self):
        return PLACES[LAST][0]

    def generate_schedule_table(self):
        rows, copies = [], {}
        for rank, order in enumerate(ORDERS):
            rows.append([])
            before = []
            for word in order.split():
                stage, kind, microbatch = re.fullmatch(r"(\d+)([A-Z]+)(\d+)", word).groups()
                key = (FuncType[kind], int(microbatch), PLACES[int(stage)][1])
                node = SchedulerNode(func_type=key[0], mini_batch=key[1], chunk=key[2])
                if kind in ("O", "R"):
                    before.append(node)
                    continue
                if f"{stage}O{microbatch}" in order.split() and kind == "F":
                    node.args = {"should_offload": True}
                rows[-1].append(node)
                copies[(rank, *key)], before = before, []
        table = self.add_communication_nodes(rows)
        return [
            [
                node
                for task in row
                for node in (
                    *copies.get((rank, task.func_type, task.mini_batch, task.chunk), ()),
                    task,
                )
            ]
            for rank, row in enumerate(table)
        ]


schedule_table_factory.pp_algorithm_map["rondo"] = RondoSchedule
)py";
  notes.push_back(
      "not tried with Primus itself; its launcher lists the known names of "
      "--pp_algorithm: add rondo there");
  return std::nullopt;
}

} // namespace

Exporter exchange::primusExporter() {
  return {"primus",
          "py",
          "a class of Primus' map of schedules with this schedule (not tried "
          "with Primus)",
          {Part::Schedule},
          {"fuse", "backward", "ascending", "pad"},
          write,
          /*hasWindows=*/false,
          "Primus' schedules",
          /*hasCopies=*/true,
          UnevenForm::Any};
}
