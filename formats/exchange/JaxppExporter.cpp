//===- JaxppExporter.cpp - A schedule class for JaxPP ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/exchange/Adapt.h"
#include "formats/exchange/TorchCells.h"

#include "llvm/ADT/StringExtras.h"

using namespace rondo;
using namespace rondo::exchange;

namespace {

const char *letterOf(ActionKind kind, bool isPartial) {
  switch (kind) {
  case ActionKind::Forward:
    return "F";
  case ActionKind::InputGrad:
    return "I";
  case ActionKind::WeightGrad:
    return "W";
  default:
    return isPartial ? "IW" : "B";
  }
}

void writeRank(const ExchangedSchedule &schedule, int32_t rank, bool isPartial,
               const std::vector<bool> &joined, llvm::raw_ostream &os) {
  os << "    \"";
  int64_t position = schedule.schedule.rankBegin(rank);
  bool isFirst = true;
  for (Action action : schedule.schedule.rank(rank)) {
    os << (isFirst ? "" : " ")
       << schedule.problem.replicas[action.subject].stage
       << letterOf(action.kind(), isPartial) << uint64_t(action.index);
    isFirst = false;
    if (joined[position++]) {
      os << "+";
      isFirst = true;
    }
  }
  os << "\",\n";
}

std::optional<Fault> write(const ExchangedSchedule &given,
                           const ExportOptions &options, llvm::raw_ostream &os,
                           std::vector<std::string> &notes) {
  if (std::optional<Fault> fault =
          needSingleTasks(given.schedule, "JaxPP's schedules"))
    return fault;
  ExchangedSchedule schedule = given;
  if (std::optional<Fault> fault =
          prepare(schedule, options, /*renames=*/options.ascending, notes))
    return fault;
  const Problem &problem = schedule.problem;
  bool isPartial = false;
  for (int32_t rank = 0; rank < schedule.schedule.numRanks(); ++rank)
    for (Action action : schedule.schedule.rank(rank))
      isPartial |= action.kind() == ActionKind::InputGrad;
  os << "# A schedule of " << countOf(problem.numStages(), "stage") << " and "
     << countOf(problem.microbatches, "micro-batch") << " on "
     << countOf(problem.numRanks(), "rank") << ", for JaxPP.\n"
     << R"py(import dataclasses
import re

from jaxpp.schedules import BaseSchedule, FusedTask, Task
from jaxpp.types import MpmdIdx, TaskType

RANK_OF_STAGE = ()py";
  for (int32_t stage = 0; stage < problem.numStages(); ++stage)
    os << problem.rankOf(stage) << ",";
  os << ")\nMICROBATCHES = " << problem.microbatches << "\n"
     << R"py(# By rank. IW is one task of both; + joins tasks into one.
ORDERS = (
)py";
  const std::vector<bool> joined = joinedOf(schedule);
  for (int32_t rank = 0; rank < schedule.schedule.numRanks(); ++rank)
    writeRank(schedule, rank, isPartial, joined, os);
  os << R"py()
TYPES = {
    "F": TaskType.FWD,
    "B": TaskType.BWD,
    "I": TaskType.BWD_I,
    "W": TaskType.BWD_W,
}


def _tasks(action):
    stage, letters, microbatch = re.fullmatch(r"(\d+)([A-Z]+)(\d+)", action).groups()
    return [Task.make(int(stage), int(microbatch), TYPES[x]) for x in letters]


def _task(text):
    tasks = [task for action in text.split("+") for task in _tasks(action)]
    return tasks[0] if len(tasks) == 1 else FusedTask(tasks)


@dataclasses.dataclass(eq=True, frozen=True)
class RondoSchedule(BaseSchedule):
    num_stages: int = len(RANK_OF_STAGE)

    def __post_init__(self):
        super().__post_init__()
        if self.num_stages != len(RANK_OF_STAGE):
            raise ValueError(f"this schedule has {len(RANK_OF_STAGE)} stages")
)py";
  if (isPartial)
    os << "        object.__setattr__(self, \"is_partial_bwd\", True)\n";
  os << R"py(
    def get_mpmd_idx(self, stage_id):
        return MpmdIdx(RANK_OF_STAGE[stage_id])

    def tasks(self, n_mubatches):
        if n_mubatches != MICROBATCHES:
            raise ValueError(f"this schedule has {MICROBATCHES} micro-batches")
        return [[_task(text) for text in order.split()] for order in ORDERS]
)py";
  return std::nullopt;
}

} // namespace

Exporter exchange::jaxppExporter() {
  return {"jaxpp",
          "py",
          "a class of JaxPP with this schedule",
          {Part::Schedule},
          {"fuse", "backward", "ascending", "pad"},
          write,
          /*hasWindows=*/false,
          "JaxPP's schedules"};
}
