# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the tasks of a class that `rondo export jaxpp` wrote.

    jaxpp-tasks.py FILE MICROBATCHES

Stands in for the parts of JaxPP that the class needs.
"""

import dataclasses
import enum
import runpy
import sys
import types

TaskType = enum.Enum("TaskType", "FWD BWD BWD_I BWD_W")


@dataclasses.dataclass(frozen=True)
class Task:
    stage_id: int
    mubatch_idx: int
    fwd_or_bwd: TaskType

    @classmethod
    def make(cls, stage_id, mubatch_idx, fwd_or_bwd):
        return cls(stage_id, mubatch_idx, fwd_or_bwd)

    def __str__(self):
        return f"{self.stage_id} {self.fwd_or_bwd.name} {self.mubatch_idx}"


class FusedTask(tuple):
    def __str__(self):
        return f"({'; '.join(map(str, self))})"


@dataclasses.dataclass(eq=True, frozen=True)
class BaseSchedule:
    num_stages: int
    is_partial_bwd: bool = dataclasses.field(default=False, init=False)

    def __post_init__(self):
        if self.num_stages <= 0:
            raise ValueError("no stages")


def module(name, **names):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__dict__.update(names)


module("jaxpp")
module("jaxpp.types", TaskType=TaskType, MpmdIdx=int)
module("jaxpp.schedules", Task=Task, FusedTask=FusedTask, BaseSchedule=BaseSchedule)
schedule = runpy.run_path(sys.argv[1])["RondoSchedule"]()
print("ranks of stages:", *map(schedule.get_mpmd_idx, range(schedule.num_stages)))
print("partial:", schedule.is_partial_bwd)
for tasks in schedule.tasks(int(sys.argv[2])):
    print(", ".join(map(str, tasks)))
