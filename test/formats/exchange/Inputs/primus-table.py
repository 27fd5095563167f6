# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the table of a class that `rondo export primus` wrote.

    primus-table.py FILE PP VPP MICROBATCHES

Primus itself is not at hand: the parts that the class uses are small.
"""

import enum
import runpy
import sys
import types

FuncType = enum.Enum("FuncType", ["F", "B", "W", "BW", "SF", "SB", "RF", "RB", "O", "R"])


class SchedulerNode:
    def __init__(self, func_type, mini_batch, chunk, args=None, meta=None):
        self.func_type, self.mini_batch, self.chunk = func_type, mini_batch, chunk
        self.args = args


class PipelineScheduleAlgo:
    def __init__(self, pp_size, vpp_size, micro_batches):
        self.pp_size = pp_size

    def add_communication_nodes(self, table):
        """A receive right before each task, and a send right after it."""
        rows = [[] for _ in range(self.pp_size)]
        for rank, row in enumerate(table):
            for node in row:
                if node.func_type == FuncType.W:
                    rows[rank].append(node)
                    continue
                found = self.direction_map(rank, node.chunk, node.func_type)
                for key, ends in (("prev", "recv_from_chunk"), ("next", "send_to_chunk")):
                    peer, kind = found[key]
                    if key == "next":
                        rows[rank].append(node)
                    if peer is not None:
                        args = {"peer": peer, "chunk": found[ends]}
                        rows[rank].append(SchedulerNode(kind, node.mini_batch, node.chunk, args))
        return rows


def module(name, **names):
    found = types.ModuleType(name)
    vars(found).update(names)
    sys.modules[name] = found
    return found


module("primus")
module("primus.core")
module("primus.core.pipeline_parallel")
base = "primus.core.pipeline_parallel.scheduler"
factory = module(f"{base}.schedule_table_factory", pp_algorithm_map={})
module(base, schedule_table_factory=factory)
module(f"{base}.algorithms")
module(f"{base}.algorithms.base", PipelineScheduleAlgo=PipelineScheduleAlgo)
module(f"{base}.scheduler_node", FuncType=FuncType, SchedulerNode=SchedulerNode)
runpy.run_path(sys.argv[1])
schedule = factory.pp_algorithm_map["rondo"](*map(int, sys.argv[2:]))
for row in schedule.generate_schedule_table():
    words = []
    for node in row:
        args = node.args or {}
        peer = f":{args['peer']}.{args['chunk']}" if "peer" in args else ""
        away = "!" if args.get("should_offload") else ""
        words.append(f"{node.chunk}{node.func_type.name}{node.mini_batch}{peer}{away}")
    print(" ".join(words))
print("first", schedule.first_pp_stage_rank(), "last", schedule.last_pp_stage_rank())
