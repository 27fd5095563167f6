//===- PrimusExporter.cpp - A schedule class for Primus -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Primus keeps its schedules in a map from a name to a class that makes a
// table: a row of nodes per rank, whose chunks are the rank's stages in
// ascending order. The class's base adds the messages.
//
//===----------------------------------------------------------------------===//

#include "formats/exchange/Adapt.h"

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
  default:
    return "BW";
  }
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
  dropSteps(schedule, notes);
  dropLinkOrders(schedule, notes);
  if (std::optional<Fault> fault = changeBackwards(schedule, options, notes))
    return fault;
  if (options.ascending) {
    if (std::optional<Fault> fault = needOneOrder(schedule))
      return fault;
    renameToAscend(schedule, notes);
  }
  noteSharedWeight(schedule, notes);
  os << "# A schedule of " << countOf(problem.numStages(), "stage") << " and "
     << countOf(problem.microbatches, "micro-batch") << " on "
     << countOf(problem.numRanks(), "rank") << ", for Primus.\n"
     << R"py(# Import this module before training, and take --pp_algorithm rondo.
import re

from primus.core.pipeline_parallel.scheduler import schedule_table_factory
from primus.core.pipeline_parallel.scheduler.algorithms.base import PipelineScheduleAlgo
from primus.core.pipeline_parallel.scheduler.scheduler_node import FuncType, SchedulerNode

# By rank, in the order of its chunks.
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
        rows = []
        for order in ORDERS:
            rows.append([])
            for word in order.split():
                stage, kind, microbatch = re.fullmatch(r"(\d+)([A-Z]+)(\d+)", word).groups()
                rows[-1].append(
                    SchedulerNode(
                        func_type=FuncType[kind],
                        mini_batch=int(microbatch),
                        chunk=PLACES[int(stage)][1],
                    )
                )
        return self.add_communication_nodes(rows)


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
          /*hasCopies=*/false,
          UnevenForm::Any};
}
