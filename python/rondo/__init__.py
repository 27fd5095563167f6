# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules for pipeline-parallel training: Rondo's formats and its command.

    problem = rondo.Problem.read("problem.json")
    schedule = rondo.search(problem, time=1)
    schedule.write("schedule.json")

`rondo.torch` measures a PyTorch model and runs a schedule.
"""

from .command import (
    IllegalSchedule,
    Infeasible,
    NoCommand,
    RondoError,
    compare,
    export,
    search,
    simulate,
    verify,
)
from .fields import FormatError
from .problem import (
    Nic,
    Channels,
    Cost,
    Device,
    Edge,
    GraphStage,
    Replica,
    HostCosts,
    Link,
    Problem,
    Rank,
    RankLink,
    Shard,
    Stage,
    Versions,
    read_problems,
    write_problems,
)
from .schedule import Schedule, SearchRecord, Timeline, read_schedules, write_schedules

__all__ = [
    "Nic",
    "Channels",
    "Cost",
    "Device",
    "Edge",
    "FormatError",
    "GraphStage",
    "Replica",
    "HostCosts",
    "IllegalSchedule",
    "Infeasible",
    "Link",
    "NoCommand",
    "Problem",
    "Rank",
    "RankLink",
    "RondoError",
    "Schedule",
    "SearchRecord",
    "Shard",
    "Stage",
    "Timeline",
    "Versions",
    "compare",
    "export",
    "read_problems",
    "read_schedules",
    "search",
    "simulate",
    "verify",
    "write_problems",
    "write_schedules",
]
