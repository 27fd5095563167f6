# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The features that meet: one row each.

A feature changes the plan, or the way in which its program is made and run, or is a
use: a command, or flags of a run, with the check of what they give. A row joins the
matrix with every other one but those of its own kind; `docs/limits.md` has a line for
each pair that Rondo refuses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Optional

import uses
from plans import DOCUMENTS, DRAWN_DOCUMENTS, Plan, Replicas
from run import Run


@dataclass(frozen=True)
class Feature:
    name: str
    kind: str
    plan: Callable[[Plan], None] = lambda plan: None
    run: Callable[[Run], None] = lambda run: None
    use: Optional[Callable[[Run], None]] = None


# Two features of these kinds meet: the first in the first group of ranks, the second in
# the others, or both in the model. Two of another kind are alternatives.
MEETING = ("model", "replicas", "recompute")


def setting(**values: object) -> Callable[[Plan], None]:
    def apply(plan: Plan) -> None:
        for name, value in values.items():
            setattr(plan, name, value)

    return apply


def replicas(*arguments: object) -> Callable[[Plan], None]:
    return lambda plan: plan.replicas.append(Replicas(*arguments))  # type: ignore[arg-type]


def recompute(kind: str) -> Callable[[Plan], None]:
    return lambda plan: plan.recompute.append(kind)


def family(text: str, words: str = "") -> Callable[[Plan], None]:
    return setting(schedule=f"family<{text}> {words}".rstrip())


def overlaps(run: Run) -> None:
    run.asynchronous = True


def flags(*values: str) -> Callable[[Run], None]:
    return lambda run: run.train_flags.extend(values)


def compile_flags(*values: str) -> Callable[[Run], None]:
    return lambda run: run.compile_flags.extend(values)


def launch(name: str) -> Callable[[Run], None]:
    return lambda run: setattr(run, "launch", name)




FEATURES = [
    Feature("tied weights", "model", setting(tied=True)),
    Feature("a graph of stages", "model", setting(graph=True)),
    Feature("a custom layer", "model", setting(custom=True)),
    Feature("a Llama", "model", setting(family="llama")),
    Feature("replicas", "replicas", replicas(2)),
    Feature("round_robin", "replicas", replicas(2, (), "round_robin")),
    Feature("unequal shares", "replicas", replicas(2, (3, 1))),
    Feature("sharded<moments>", "replicas", replicas(2, (), "sharded<moments>")),
    Feature("sharded<weights>", "replicas", replicas(2, (), "sharded<weights>")),
    Feature("sharded<gradients>", "replicas", replicas(2, (), "sharded<gradients>")),
    Feature("sharded<optimizer>", "replicas", replicas(2, (), "sharded<optimizer>")),
    Feature("shards = 2 of 4", "replicas", replicas(4, (), "sharded<weights, shards = 2>")),
    Feature("recompute", "recompute", recompute("whole")),
    Feature("recompute [...]", "recompute", recompute("list")),
    Feature("recompute across", "recompute", recompute("across")),
    Feature("chunks in a loop", "chunks", setting(chunks="loop")),
    Feature("chunks in a V", "chunks", setting(chunks="v")),
    Feature("chunks in a wave", "chunks", setting(chunks="wave")),
    Feature("gpipe", "schedule", family('"gpipe"')),
    Feature("kfkb", "schedule", family('"kfkb", k = 2')),
    Feature("eager-1f1b", "schedule", family('"eager-1f1b"')),
    Feature("zb-h1", "schedule", family('"zb-h1"')),
    Feature("interleaved-zb", "schedule", family('"interleaved-zb"')),
    Feature("blockwise", "schedule", family('"blockwise", u = 2')),
    Feature("looped-bfs", "schedule", family('"looped-bfs"', "accumulate(schedule_order)")),
    Feature("a search", "schedule", setting(schedule="search<effort = 20>")),
    Feature("norm(none)", "schedule", setting(schedule="search<effort = 20> norm(none)"), flags("--clip", "0")),
    Feature("pipedream", "schedule", family('"pipedream"'), overlaps),
    Feature("2bw", "schedule", family('"2bw"'), overlaps),
    Feature("pipemare", "schedule", family('"pipemare"'), overlaps),
    Feature("timeprest", "schedule", family('"timeprest"'), overlaps),
    Feature("eager channels", "channels", setting(channels="channels<eager, receive_slots = 1>")),
    Feature("one receive slot", "channels", setting(channels="channels<rendezvous, receive_slots = 1>")),
    Feature("NICs", "nics", setting(nics=True)),
    Feature("offload", "offload", setting(offload="all")),
    Feature("offload [...]", "offload", setting(offload="parts")),
    Feature("documents", "documents", setting(documents=DOCUMENTS)),
    Feature("tokens<...>", "documents", setting(documents=DRAWN_DOCUMENTS)),
    Feature("sgd", "optimizer", setting(options="optimizer(sgd)")),
    Feature("plain_sgd", "optimizer", setting(options="optimizer(plain_sgd)"), flags("--lr", "0.01")),
    Feature("no clipping", "clip", run=flags("--clip", "0")),
    Feature("several threads", "threads", run=flags("--threads", "2")),
    Feature("TCP", "launch", run=launch("tcp")),
    Feature("MPI", "launch", run=launch("mpi")),
    *(Feature(name, "use", use=use) for name, use in uses.USES.items()),
]

# Features that use the same part of a program.
TRIPLES = [
    ("sharded<weights>", "recompute", "TCP"),
    ("sharded<weights>", "chunks in a loop", "--resume"),
    ("sharded<optimizer>", "tied weights", "TCP"),
    ("replicas", "recompute", "several schedules"),
    ("replicas", "chunks in a V", "--adapt search"),
    ("round_robin", "recompute [...]", "--trace"),
    ("unequal shares", "chunks in a loop", "TCP"),
    ("a graph of stages", "recompute", "TCP"),
    ("a custom layer", "recompute", "--resume"),
    ("pipedream", "recompute", "--resume"),
    ("2bw", "replicas", "TCP"),
    ("pipemare", "replicas", "--save-every"),
    ("pipedream", "sharded<moments>", "TCP"),
    ("pipemare", "sharded<moments>", "--resume"),
    ("timeprest", "recompute", "TCP"),
    ("a Llama", "replicas", "--generate"),
    ("tied weights", "replicas", "TCP"),
    ("tied weights", "chunks in a V", "--target=cuda"),
    ("NICs", "replicas", "search --pareto"),
    ("offload [...]", "a custom layer", "TCP"),
    ("offload [...]", "a custom layer", "sharded<weights>"),
    ("offload [...]", "a custom layer", "several schedules"),
    ("offload", "replicas", "TCP"),
    ("offload", "round_robin", "MPI"),
    ("offload", "sharded<weights>", "TCP"),
    ("offload", "sharded<weights>", "chunks in a loop"),
    ("offload", "sharded<gradients>", "--adapt search"),
    ("offload", "recompute [...]", "several schedules"),
    ("offload", "chunks in a V", "--adapt search"),
    ("offload", "round_robin", "--target=cuda"),
    ("offload", "sharded<weights>", "--target=cuda"),
    ("offload", "recompute [...]", "--target=cuda"),
    ("offload", "several schedules", "--target=cuda"),
    ("documents", "round_robin", "TCP"),
    ("documents", "round_robin", "a search"),
    ("documents", "round_robin", "several schedules"),
    ("documents", "round_robin", "--resume"),
    ("documents", "recompute", "several schedules"),
    ("documents", "recompute across", "a search"),
    ("documents", "tied weights", "TCP"),
    ("documents", "chunks in a V", "several schedules"),
    ("documents", "a Llama", "recompute [...]"),
    ("documents", "offload", "TCP"),
    ("documents", "offload", "--resume"),
    ("documents", "offload", "round_robin"),
    ("documents", "offload", "recompute [...]"),
    ("documents", "offload", "chunks in a V"),
    ("documents", "offload", "a search"),
    ("documents", "offload", "--target=cuda"),
    ("documents", "offload [...]", "several schedules"),
    ("tokens<...>", "TCP", "--resume"),
    ("tokens<...>", "round_robin", "TCP"),
    ("tokens<...>", "round_robin", "--resume"),
    ("tokens<...>", "tied weights", "recompute"),
    ("tokens<...>", "a Llama", "recompute [...]"),
    ("recompute across", "chunks in a loop", "a search"),
    ("recompute across", "chunks in a V", "a search"),
    ("recompute across", "chunks in a wave", "a search"),
]
