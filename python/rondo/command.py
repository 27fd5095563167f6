# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls the rondo command, with problems and schedules in temporary files."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import tempfile
import warnings

from .fields import loads
from .problem import GraphStage, Problem
from .schedule import Schedule


class RondoError(Exception):
    """The error text of the rondo command, and its exit status."""

    def __init__(self, text: str, status: int = 1):
        super().__init__(text)
        self.status = status


class Infeasible(RondoError):
    """No schedule fits the memory of the ranks."""


class IllegalSchedule(RondoError):
    """A schedule breaks a rule, which the text names."""


class NoCommand(RondoError):
    """There is no rondo command, or it is older than what it is asked to do."""


def find_rondo() -> str:
    """The path of the rondo command: the environment variable RONDO, the
    wheel or installation that this package is part of, or PATH. Raises
    NoCommand."""
    stated = os.environ.get("RONDO")
    if stated:
        path = shutil.which(stated)
        if path:
            # Commands run in another folder.
            return os.path.abspath(path)
        raise NoCommand(f"RONDO is {stated!r}, which is no program")
    # PREFIX/lib/python3.X/site-packages/rondo/command.py is a wheel's place, and
    # PREFIX/lib/rondo/python/rondo/command.py that of CMake. `pip install --target
    # PREFIX` makes PREFIX/rondo/command.py.
    folders = pathlib.Path(__file__).resolve().parents
    for prefix in [*folders[1:2], *folders[4:5]]:
        path = shutil.which(os.fspath(prefix / "bin" / "rondo"))
        if path:
            return path
    path = shutil.which("rondo")
    if path:
        return os.path.abspath(path)
    raise NoCommand(
        "there is no rondo command: install the wheel of rondo-schedules for this "
        "platform, set RONDO to its path, or add its folder to PATH"
    )


def _run(arguments: list[str], folder: str) -> tuple[int, str, str]:
    program = find_rondo()
    try:
        done = subprocess.run(
            [program, *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise NoCommand(f"cannot run {program}: {error.strerror}") from None
    if done.returncode == 2 and "unknown command" in done.stderr:
        version = subprocess.run(
            [program, "--version"], capture_output=True, text=True, check=False
        ).stdout.strip()
        raise NoCommand(
            f"{program} ({version}) has no command '{arguments[0]}': "
            "it is older than this package; install both from one version",
            2,
        )
    return done.returncode, done.stdout, done.stderr


def _said(text: str, folder: str) -> str:
    """The errors of the command, without its name and the temporary files."""
    text = text.replace(folder + os.sep, "").strip()
    return text.removeprefix("rondo: error: ")


def _call(arguments: list[str], folder: str, warns: bool = False) -> str:
    """Output of the command; raises RondoError with what it says. With `warns`, its
    notes are warnings of the caller's caller."""
    status, output, errors = _run(arguments, folder)
    if status == 0:
        for line in errors.splitlines() if warns else []:
            warnings.warn(line.removeprefix("rondo: note: "), stacklevel=3)
        return output
    kind = Infeasible if status == 3 else RondoError
    raise kind(_said(errors or output, folder) or f"rondo failed: {status}", status)


def _options(**given: object) -> list[str]:
    found = []
    for name, value in given.items():
        if value is True:
            found.append(f"--{name.replace('_', '-')}")
        elif value is not None and value is not False:
            found += [f"--{name.replace('_', '-')}", str(value)]
    return found


def _milliseconds(seconds: float | None) -> int | None:
    if seconds is None:
        return None
    # Milliseconds have 63 bits.
    if not 0 < seconds <= 2**53:
        raise ValueError(f"time must be more than 0 s and at most 2^53 s, not {seconds}")
    return max(1, round(1000 * seconds))


def _schedules(output: str, problem: Problem) -> list[Schedule]:
    found = [Schedule.from_value(loads(l)) for l in output.splitlines() if l.strip()]
    for schedule in found:
        schedule.of = problem
    return found


def search(
    problem: Problem,
    *,
    time: float | None = None,
    effort: int | None = None,
    objective: str | None = None,
    seed: int | None = None,
    robust: str | None = None,
    samples: int | None = None,
    jitter: int | None = None,
) -> Schedule:
    """The best schedule that `rondo search` finds, with a lower bound.

    `time` is in seconds. The result depends on the clock unless `effort` is given
    instead. Raises Infeasible if none fits the memory, else RondoError.
    """
    limits = _options(
        time_limit_ms=_milliseconds(time),
        effort=effort,
        objective=objective,
        seed=seed,
        robust=robust,
        samples=samples,
        jitter=jitter,
    )
    with tempfile.TemporaryDirectory(prefix="rondo-") as folder:
        problem.write(os.path.join(folder, "problem.json"))
        output = _call(["search", "problem.json", *limits], folder)
    found = _schedules(output, problem)[0]
    if found.infeasible is not None:
        raise Infeasible(f"problem {problem.name!r}: {found.infeasible}", 3)
    return found


def simulate(problem: Problem, *families: str) -> list[Schedule]:
    """The schedules of families such as "1f1b" or "kfkb:k=2", with predicted times
    and memory. One that does not fit has `infeasible`, if others are asked for."""
    chosen = [word for family in families for word in ("--family", family)]
    with tempfile.TemporaryDirectory(prefix="rondo-") as folder:
        problem.write(os.path.join(folder, "problem.json"))
        output = _call(["simulate", "problem.json", "--json", *chosen], folder)
    return _schedules(output, problem)


def compare(
    problem: Problem,
    *,
    time: float | None = None,
    effort: int | None = None,
    objective: str | None = None,
    seed: int | None = None,
) -> list[Schedule]:
    """All families and a searched schedule, as `rondo compare` lists them."""
    limits = _options(
        time_limit_ms=_milliseconds(time), effort=effort, objective=objective, seed=seed
    )
    with tempfile.TemporaryDirectory(prefix="rondo-") as folder:
        problem.write(os.path.join(folder, "problem.json"))
        output = _call(["compare", "problem.json", "--json", *limits], folder)
    return _schedules(output, problem)


def _problem_of(schedule: object, problem: object) -> Problem:
    if not isinstance(schedule, Schedule) or not isinstance(problem, (Problem, type(None))):
        is_swapped = isinstance(schedule, Problem) and isinstance(problem, Schedule)
        given = [type(a).__name__ for a in (schedule, problem) if a is not None]
        raise TypeError(
            "expected a Schedule, then its Problem"
            + ("; the two are swapped" if is_swapped else f", not {', '.join(given)}")
        )
    found = problem or schedule.of
    if found is None:
        raise ValueError(
            f"the schedule was read from a file: also pass its problem, {schedule.problem!r}"
        )
    return found


def verify(schedule: Schedule, problem: Problem | None = None) -> None:
    """Raises IllegalSchedule, which says what and where, unless the schedule is
    legal and its claims are true."""
    with tempfile.TemporaryDirectory(prefix="rondo-") as folder:
        _problem_of(schedule, problem).write(os.path.join(folder, "problem.json"))
        schedule.write(os.path.join(folder, "schedule.json"))
        files = ["--problems", "problem.json", "--schedules", "schedule.json"]
        status, output, errors = _run(["verify", *files], folder)
    if status:
        kind = IllegalSchedule if output.strip() else RondoError
        raise kind(_said(output or errors, folder), status)


def _has_more_than_order(problem: Problem) -> bool:
    """Whether stages have replicas, or run their forward again."""
    return any(
        isinstance(stage, GraphStage) and (len(stage.replicas) > 1 or "R" in stage.costs)
        for stage in problem.stages
    )


def export(
    kind: str,
    schedule: Schedule,
    problem: Problem | None = None,
    output: str | os.PathLike[str] | None = None,
    **options: object,
) -> str:
    """The text that `rondo export KIND` makes of a schedule, such as "torch-csv".
    With `output` that file is written too; options are those of the command, True
    for a switch such as `pad`. Of a problem with replicas, sharded state or recomputation it is the order of one
    pipeline, and warnings say what was left out."""
    found = _problem_of(schedule, problem)
    with tempfile.TemporaryDirectory(prefix="rondo-") as folder:
        found.write(os.path.join(folder, "problem.json"))
        schedule.write(os.path.join(folder, "schedule.json"))
        files = ["schedule.json", "--problem", "problem.json", "-o", "exported"]
        arguments = ["export", kind, *files, *_options(**options)]
        _call(arguments, folder, warns=_has_more_than_order(found))
        written = pathlib.Path(folder, "exported")
        if output is not None:
            shutil.copyfile(written, output)
        return written.read_text(encoding="utf-8")


def timed(csv: str, problem: Problem) -> Schedule:
    """The schedule of a CSV of tasks (torch-csv), with predicted times and memory."""
    with tempfile.TemporaryDirectory(prefix="rondo-") as folder:
        problem.write(os.path.join(folder, "problem.json"))
        pathlib.Path(folder, "tasks.csv").write_text(csv, encoding="utf-8")
        _call(["import", "torch-csv", "tasks.csv", "--problem", "problem.json",
               "-o", "schedule.json"], folder)  # fmt: skip
        output = pathlib.Path(folder, "schedule.json").read_text(encoding="utf-8")
    return _schedules(output, problem)[0]


def show(schedule: Schedule, problem: Problem | None, ending: str) -> str:
    """The picture of `rondo show`, in the format of a file with this ending."""
    if ending not in (".html", ".svg", ".json", ".txt"):
        raise ValueError(
            f"a timeline is a file .html, .svg, .json or .txt, not {ending!r}"
        )
    with tempfile.TemporaryDirectory(prefix="rondo-") as folder:
        _problem_of(schedule, problem).write(os.path.join(folder, "problem.json"))
        schedule.write(os.path.join(folder, "schedule.json"))
        files = ["problem.json", "--schedules", "schedule.json"]
        _call(["show", *files, "-o", f"shown{ending}"], folder)
        return pathlib.Path(folder, f"shown{ending}").read_text(encoding="utf-8")
