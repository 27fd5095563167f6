# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Problems: what is to be scheduled. rondo-problem/1 and /2, whose keys
docs/formats.md lists.

Times are nanoseconds, sizes bytes, bandwidths bytes per microsecond; all are
whole numbers. A key that is None is not in the file and has its default there.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Literal

from .fields import (
    FormatError,
    anything,
    dumps,
    field,
    from_object,
    json_fields,
    key_of,
    lists,
    loads,
    mapping,
    objects,
    read_file,
    text,
    to_value,
    truth,
    values,
    whole,
    whole_or_null,
    write_file,
)


@dataclasses.dataclass(kw_only=True)
class HostCosts:
    """Times of the host's thread, which also computes: for an action, to issue a send or
    a receive, and to wait for one."""

    action_ns: int | None = field(whole, default=None)
    send_ns: int | None = field(whole, default=None)
    receive_ns: int | None = field(whole, default=None)
    wait_ns: int | None = field(whole, default=None)


@dataclasses.dataclass(kw_only=True)
class Device:
    """A rank's memory, and what the state takes of it."""

    memory_bytes: int | None = field(whole_or_null, default=None, null=True)
    state_bytes: int | None = field(whole, default=None)


@dataclasses.dataclass(kw_only=True)
class HostLink:
    """Copies between a rank and its host. `bytes_per_us` None: bytes take no time."""

    latency_ns: int = field(whole)
    bytes_per_us: int | None = field(whole_or_null, null=True)
    duplex: str | None = field(text, default=None)


@dataclasses.dataclass(kw_only=True)
class SharedHostLink:
    """A link to the host that several ranks share."""

    ranks: list[int] = field(lists(whole))
    bytes_per_us: int | None = field(whole_or_null, default=None, null=True)
    duplex: str | None = field(text, default=None)


@dataclasses.dataclass(kw_only=True)
class Rank:
    """`memory_bytes` is what activations may take; None: no cap. The others are of
    version 2."""

    memory_bytes: int | None = field(whole_or_null, default=None, null=True)
    host: HostCosts | None = field(objects(HostCosts), default=None)
    device: Device | None = field(objects(Device), default=None)
    host_memory_bytes: int | None = field(whole_or_null, default=None)
    host_link: HostLink | None = field(objects(HostLink), default=None)
    speed_percent: int | None = field(whole, default=None)


@dataclasses.dataclass(kw_only=True)
class Stage:
    """A stage of a rondo-problem/1. Times are of one micro-batch."""

    rank: int = field(whole)
    forward_ns: int = field(whole)
    input_grad_ns: int = field(whole)
    weight_grad_ns: int = field(whole)
    activation_bytes: int = field(whole)
    input_grad_frees_bytes: int = field(whole)
    output_bytes: int = field(whole)


@dataclasses.dataclass(kw_only=True)
class Affine:
    """A figure that differs by micro-batch: `fixed` and the sum of `per_size` times
    the micro-batch's sizes, divided by `over` and rounded up."""

    fixed: int | None = field(whole, default=None)
    per_size: list[int] = field(lists(whole))
    over: int | None = field(whole, default=None)


def _figure(value: Any, path: str) -> Any:
    """A number, or an object of Affine."""
    if isinstance(value, dict):
        return objects(Affine)(value, path)
    return whole(value, path)


def _figure_or_rest(value: Any, path: str) -> Any:
    return value if value == "rest" else _figure(value, path)


def _figure_or_null(value: Any, path: str) -> Any:
    return None if value is None else _figure(value, path)


@dataclasses.dataclass(kw_only=True)
class Cost:
    """The cost of a kind of task: bytes are taken at its start and freed at its end.
    Figures that differ by micro-batch are Affine, or lists in `*_by_index`."""

    ns: int | Affine | None = field(_figure, default=None)
    takes_bytes: int | Affine | None = field(_figure, default=None)
    frees_bytes: int | Affine | Literal["rest"] | None = field(
        _figure_or_rest, default=None
    )
    lane: str | None = field(text, default=None)
    ns_by_index: list[int] | None = field(lists(whole), default=None)
    takes_bytes_by_index: list[int] | None = field(lists(whole), default=None)
    frees_bytes_by_index: list[int] | None = field(lists(whole), default=None)


@dataclasses.dataclass(kw_only=True)
class Save:
    """The cost of a copy to the host."""

    ns: int | Affine | None = field(_figure, default=None)
    frees_bytes: int | Affine | None = field(_figure, default=None)
    ns_by_index: list[int] | None = field(lists(whole), default=None)
    frees_bytes_by_index: list[int] | None = field(lists(whole), default=None)


@dataclasses.dataclass(kw_only=True)
class Load:
    """The cost of a copy back from the host, before the task that needs the bytes."""

    ns: int | Affine | None = field(_figure, default=None)
    takes_bytes: int | Affine | None = field(_figure, default=None)
    before: str | None = field(text, default=None)
    ns_by_index: list[int] | None = field(lists(whole), default=None)
    takes_bytes_by_index: list[int] | None = field(lists(whole), default=None)


def _costs(value: Any, path: str) -> dict[str, Cost | Save | Load]:
    classes: dict[str, type] = {"SAVE": Save, "LOAD": Load}
    return {
        kind: objects(classes.get(kind, Cost))(cost, f"{path}.{kind}")
        for kind, cost in mapping(value, path).items()
    }


@dataclasses.dataclass(kw_only=True)
class Replica:
    """A rank on which a stage lives, with its samples of each micro-batch."""

    rank: int = field(whole)
    samples: int | None = field(whole, default=None)
    costs: dict[str, Cost | Save | Load] | None = field(_costs, default=None)


@dataclasses.dataclass(kw_only=True)
class Shard:
    what: str = field(text)
    group: int | None = field(whole, default=None)


@dataclasses.dataclass(kw_only=True)
class Versions:
    """Which weights the tasks of a stage read."""

    forward: str | None = field(text, default=None)
    backward: str | None = field(text, default=None)
    activations: str | None = field(text, default=None)
    most_delay: int | None = field(whole_or_null, default=None)


@dataclasses.dataclass(kw_only=True)
class GraphStage:
    """A stage of a rondo-problem/2: its replicas, and costs by kind (F, I, W, B, ...)."""

    replicas: list[Replica] = field(lists(objects(Replica)))
    split: str | None = field(text, default=None)
    shard: Shard | None = field(objects(Shard), default=None)
    parameter_bytes: int | None = field(whole, default=None)
    buckets: int | None = field(whole, default=None)
    versions: Versions | None = field(objects(Versions), default=None)
    costs: dict[str, Cost | Save | Load] = field(_costs)


@dataclasses.dataclass(kw_only=True)
class Edge:
    """A tensor from one stage to another. `gradient_bytes`: "same" as `bytes`, or
    None if no gradient comes back."""

    from_stage: int = field(whole, key="from")
    to_stage: int = field(whole, key="to")
    bytes: int | Affine | None = field(_figure, default=None)
    gradient_bytes: int | Affine | None | Literal["same"] = field(
        _figure_or_null, default="same", null=True
    )
    bytes_by_index: list[int] | None = field(lists(whole), default=None)
    gradient_bytes_by_index: list[int] | None = field(lists(whole), default=None)
    recomputed: bool | None = field(truth, default=None)

    def _edit_json(self, found: dict[str, Any]) -> dict[str, Any]:
        if found["gradient_bytes"] == "same":
            del found["gradient_bytes"]
        return found


@dataclasses.dataclass(kw_only=True)
class Link:
    """`bytes_per_us` None: a message takes no time on the link."""

    latency_ns: int = field(whole)
    bytes_per_us: int | None = field(whole_or_null, null=True)
    duplex: str | None = field(text, default=None)


@dataclasses.dataclass(kw_only=True)
class RankLink:
    """The link from one rank to another."""

    from_rank: int = field(whole, key="from")
    to_rank: int = field(whole, key="to")
    latency_ns: int = field(whole)
    bytes_per_us: int | None = field(whole_or_null, null=True)
    duplex: str | None = field(text, default=None)


@dataclasses.dataclass(kw_only=True)
class Nic:
    """A NIC that ranks share."""

    ranks: list[int] = field(lists(whole))
    bytes_per_us: int = field(whole)
    server: int | None = field(whole, default=None)
    duplex: str | None = field(text, default=None)


@dataclasses.dataclass(kw_only=True)
class Channels:
    protocol: str | None = field(text, default=None)
    receive_slots: int | None = field(whole_or_null, default=None)
    queues: str | None = field(text, default=None)
    resident: int | None = field(whole_or_null, default=None)


@dataclasses.dataclass(kw_only=True)
class Problem:
    """Stages, ranks, links and micro-batches to schedule. It has version 2 if its stages
    are GraphStages; only then may it have the keys of version 2."""

    name: str = field(text)
    microbatches: int = field(whole)
    iterations: int | None = field(whole, default=None)
    samples: int | None = field(whole, default=None)
    sizes: list[list[int]] | None = field(lists(lists(whole)), default=None)
    ranks: list[Rank] = field(lists(objects(Rank)))
    stages: list[Stage] | list[GraphStage] = field(lists(anything))
    edges: list[Edge] | None = field(lists(objects(Edge)), default=None)
    link: Link | None = field(objects(Link), default=None)
    links: list[RankLink] | None = field(lists(objects(RankLink)), default=None)
    nics: list[Nic] | None = field(lists(objects(Nic)), default=None)
    host_links: list[SharedHostLink] | None = field(
        lists(objects(SharedHostLink)), default=None
    )
    host: HostCosts | None = field(objects(HostCosts), default=None)
    channels: Channels | None = field(objects(Channels), default=None)
    objective: str | None = field(text, default=None)
    provenance: dict[str, Any] | None = field(mapping, default=None)

    @property
    def version(self) -> int:
        return 2 if self.stages and isinstance(self.stages[0], GraphStage) else 1

    @property
    def placement(self) -> list[int]:
        """The rank of each stage; of several replicas, the first."""
        return [
            stage.replicas[0].rank if isinstance(stage, GraphStage) else stage.rank
            for stage in self.stages
        ]

    @staticmethod
    def from_value(value: Any) -> Problem:
        """A problem of a JSON object. Raises FormatError."""
        found = dict(mapping(value, "problem"))
        version = _version(found, "rondo-problem")
        without = _version_2_only if version == 1 else frozenset[str]()
        problem = from_object(Problem, found, "problem", without)
        if version == 2 and problem.edges is None:
            raise FormatError('problem has no key "edges"')
        of_rank = frozenset(
            ["device", "speed_percent", "host", "host_memory_bytes", "host_link"]
        )
        of_link = frozenset(["duplex"])
        if version == 1:
            for i, rank in enumerate(found["ranks"]):
                if "memory_bytes" not in rank:
                    raise FormatError(f'ranks[{i}] has no key "memory_bytes"')
                from_object(Rank, rank, f"ranks[{i}]", of_rank)
            if "link" in found:
                from_object(Link, found["link"], "link", of_link)
            for i, link in enumerate(found.get("links", [])):
                from_object(RankLink, link, f"links[{i}]", of_link)
        stage = objects(GraphStage) if version == 2 else objects(Stage)
        problem.stages = [stage(s, f"stages[{i}]") for i, s in enumerate(problem.stages)]
        return problem

    def to_value(self) -> dict[str, Any]:
        found: dict[str, Any] = to_value(self)
        if self.version == 1:
            for key in found:
                if key in _version_2_only:
                    raise FormatError(
                        f'"{key}" is of rondo-problem/2, whose stages are GraphStages'
                    )
        return {"format": f"rondo-problem/{self.version}", **found}

    @staticmethod
    def from_json(source: str) -> Problem:
        return Problem.from_value(loads(source))

    def to_json(self) -> str:
        """One line, as Rondo writes it."""
        return dumps(self.to_value())

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Problem:
        """The one problem of a file. Raises FormatError and OSError."""
        found = read_problems(path)
        if len(found) != 1:
            raise FormatError(f"{os.fspath(path)} has {len(found)} problems, not one")
        return found[0]

    def write(self, path: str | os.PathLike[str]) -> None:
        write_problems(path, [self])


def _version(found: dict[str, Any], name: str) -> int:
    """Takes the key `format` out of an object."""
    if "format" not in found:
        raise FormatError(f'{name.removeprefix("rondo-")} has no key "format"')
    stated = found.pop("format")
    for version in (1, 2):
        if stated == f"{name}/{version}":
            return version
    raise FormatError(f'format must be "{name}/1" or "{name}/2", not {dumps(stated)}')


_version_2_only = frozenset(key_of(f) for f in json_fields(Problem)) - {
    "name",
    "microbatches",
    "ranks",
    "stages",
    "link",
    "links",
    "objective",
}


def read_problems(path: str | os.PathLike[str]) -> list[Problem]:
    """The problems of a file: one a line in a .jsonl file, else one."""
    return read_file(path, Problem.from_value)


def write_problems(path: str | os.PathLike[str], problems: list[Problem]) -> None:
    write_file(path, "".join(problem.to_json() + "\n" for problem in problems))
