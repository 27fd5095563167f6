# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules: the order of each rank. rondo-schedule/1 and /2 of docs/formats.md."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Any

from .fields import (
    FormatError,
    anything,
    dumps,
    field,
    from_object,
    lists,
    loads,
    mapping,
    objects,
    read_file,
    six_digits,
    text,
    to_value,
    truth,
    values,
    whole,
    write_file,
)
from .problem import _version

if TYPE_CHECKING:
    from .problem import Problem


@dataclasses.dataclass(kw_only=True)
class SearchRecord:
    """The record of a search. All numbers but `seconds` are whole."""

    seed: Any = field(anything, default=None)
    effort: Any = field(anything, default=None)
    seconds: Any = field(six_digits, default=None)
    stopped: Any = field(anything, default=None)


@dataclasses.dataclass(kw_only=True)
class Schedule:
    """The order of each rank, with claims about it; or, with `infeasible`, why there
    is none. `of` is the problem it was made for, where this is known; it is not
    part of the file."""

    problem: str = field(text)
    name: str | None = field(text, default=None)
    ranks: list[list[Any]] = field(lists(lists(anything)), default_factory=list)
    link_order: dict[str, list[str]] | None = field(values(lists(text)), default=None)
    copy_order: dict[str, list[str]] | None = field(values(lists(text)), default=None)
    accumulate: Any = field(anything, default=None)
    overlap: list[list[str]] | None = field(lists(lists(text)), default=None)
    versions: Any = field(anything, default=None)
    family: Any = field(anything, default=None)
    objective: str | None = field(text, default=None)
    makespan_ns: int | None = field(whole, default=None)
    span_ns: int | None = field(whole, default=None)
    lower_bound_ns: int | None = field(whole, default=None)
    bound: Any = field(anything, default=None)
    proven_optimal: bool | None = field(truth, default=None)
    peak_memory_bytes: list[int] | None = field(lists(whole), default=None)
    peak_host_bytes: list[int] | None = field(lists(whole), default=None)
    entry: dict[str, Any] | None = field(mapping, default=None)
    exit: dict[str, Any] | None = field(mapping, default=None)
    weight_copies: Any = field(anything, default=None)
    delay: Any = field(anything, default=None)
    clip: str | None = field(text, default=None)
    norm_delay: int | None = field(whole, default=None)
    search: SearchRecord | None = field(objects(SearchRecord), default=None)
    provenance: Any = field(anything, default=None)
    infeasible: Any = field(anything, default=None)
    version: int = 1
    of: Problem | None = dataclasses.field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        """One line: its name, its time and how far that is from the bound, its memory."""
        family = "searched" if self.search is not None else self.family
        name = f"{self.name or family or 'schedule'} of {self.problem}"
        if self.infeasible is not None:
            return f"{name}: infeasible: {self.infeasible}"
        parts = []
        if self.makespan_ns is not None:
            parts.append(_amount(self.makespan_ns, _TIMES))
            if self.lower_bound_ns:
                above = 100 * (self.makespan_ns / self.lower_bound_ns - 1)
                parts.append(f"{above:.1f} % above the lower bound")
        if self.peak_memory_bytes:
            peak = max(self.peak_memory_bytes)
            parts.append(f"peak memory {_amount(peak, _SIZES)}")
        return f"{name}: {', '.join(parts) or f'{len(self.ranks)} ranks'}"

    def data_order(self) -> list[int]:
        """The micro-batches of the problem in the order of the last stage's forwards.
        If micro-batches differ, PyTorch and Megatron-LM take them in this order."""
        forwards = [
            (int(stage), int(microbatch))
            for rank in self.ranks
            for task in rank
            for stage, kind, microbatch in [str(task).partition("F")]
            if kind and stage.isdigit() and microbatch.isdigit()
        ]
        last = max((stage for stage, _ in forwards), default=0)
        return [microbatch for stage, microbatch in forwards if stage == last]

    @staticmethod
    def from_value(value: Any) -> Schedule:
        """A schedule of a JSON object. Raises FormatError."""
        found = dict(mapping(value, "schedule"))
        version = _version(found, "rondo-schedule")
        without = _version_2_only if version == 1 else frozenset[str]()
        schedule = from_object(Schedule, found, "schedule", without)
        schedule.version = version
        if schedule.infeasible is None and "ranks" not in found:
            raise FormatError('schedule has no key "ranks"')
        if version == 1:
            for r, row in enumerate(schedule.ranks):
                for i, action in enumerate(row):
                    text(action, f"ranks[{r}][{i}]")
        return schedule

    def to_value(self) -> dict[str, Any]:
        found: dict[str, Any] = to_value(self)
        if self.infeasible is not None and not self.ranks:
            del found["ranks"]
        for key in found:
            if self.version == 1 and key in _version_2_only:
                raise FormatError(f'"{key}" is of rondo-schedule/2')
        return {"format": f"rondo-schedule/{self.version}", **found}

    @staticmethod
    def from_json(source: str) -> Schedule:
        return Schedule.from_value(loads(source))

    def to_json(self) -> str:
        """One line, as Rondo writes it."""
        return dumps(self.to_value())

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Schedule:
        """The one schedule of a file. Raises FormatError and OSError."""
        found = read_schedules(path)
        if len(found) != 1:
            raise FormatError(f"{os.fspath(path)} has {len(found)} schedules, not one")
        return found[0]

    def write(self, path: str | os.PathLike[str]) -> None:
        write_schedules(path, [self])

    def show(
        self, path: str | os.PathLike[str] | None = None, problem: Problem | None = None
    ) -> Timeline:
        """The schedule over time, for a notebook. With a path, that file is written
        too; its ending says how: .html, .svg, .json or .txt. `problem` is needed
        only for a schedule that was read from a file."""
        from . import command

        if path is not None:
            write_file(path, command.show(self, problem, os.path.splitext(path)[1]))
        return Timeline(command.show(self, problem, ".html"))

    def _repr_html_(self) -> str | None:
        """The picture that a notebook shows; None without the problem, for a text."""
        return None if self.of is None else self.show()._repr_html_()


_TIMES = [("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1)]
_SIZES = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)]


def _amount(number: int, units: list[tuple[str, int]]) -> str:
    """With the largest unit of which there is a whole one, to four digits."""
    name, size = next((u for u in units if number >= u[1]), units[-1])
    return f"{number / size:.4g} {name}"


class Timeline:
    """A page with a schedule over time."""

    def __init__(self, page: str):
        self.page = page

    def _repr_html_(self) -> str:
        # The page has styles and scripts of its own, so it gets a frame.
        quoted = self.page.replace("&", "&amp;").replace('"', "&quot;")
        return f'<iframe srcdoc="{quoted}" style="width:100%;height:480px;border:0"></iframe>'


_version_2_only = frozenset(
    ["name", "entry", "exit", "versions", "weight_copies", "delay", "clip", "norm_delay"]
    + ["copy_order", "accumulate", "peak_host_bytes"]
)


def read_schedules(path: str | os.PathLike[str]) -> list[Schedule]:
    """The schedules of a file: one a line in a .jsonl file, else one."""
    return read_file(path, Schedule.from_value)


def write_schedules(path: str | os.PathLike[str], schedules: list[Schedule]) -> None:
    write_file(path, "".join(schedule.to_json() + "\n" for schedule in schedules))
