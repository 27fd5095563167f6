# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tries every pair of features, and compares the result with docs/limits.md.

matrix.py BUILD FOLDER [--sample N] [--jobs N] [--list FILE] [FEATURE...]

A pair works, or is refused with what the page says: the error has a file, a line and a
column (of a run's flags, the program's name), and contains the words of the page's
row. All else fails: another error, a crash, a run that does not end, other bits, other
losses, and a row of the page that is not needed. With FEATURE, only cases with all of
these. --sample takes N cases, always the same. FOLDER must not exist; folders of cases
that failed stay there.

The last line is `N passed, N failed`; status 1 after a failure.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, Optional

from features import FEATURES, MEETING, TRIPLES, Feature
from plans import Plan
from run import Run, Stopped, Toolbox, Wrong, environment

SOURCE = Path(__file__).resolve().parents[2]
PAGE = SOURCE / "docs" / "limits.md"
PLACE = re.compile(r"\S+:\d+:\d+: error: ")


@dataclass(frozen=True)
class Limit:
    """A row of the page: which pairs are refused, and in which words."""

    line: int
    first: frozenset[str]
    second: frozenset[str]
    words: str

    def covers(self, names: list[str]) -> bool:
        pairs = itertools.permutations(names, 2) if len(names) > 1 else [(names[0], names[0])]
        return any(one in self.first and other in self.second for one, other in pairs)


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def read_limits() -> list[Limit]:
    """The rows of both tables of the page: names of several features, and limits."""
    names: dict[str, list[str]] = {feature.name: [feature.name] for feature in FEATURES}
    limits: list[Limit] = []
    table = ""
    for number, line in enumerate(PAGE.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.startswith("|"):
            table = ""
            continue
        cells = cells_of(line)
        if not table:
            table = cells[0]
        elif line.startswith("|---"):
            continue
        elif table == "name":
            names[cells[0]] = [name.strip(" `") for name in cells[1].split(",")]
            unknown = set(names[cells[0]]) - {feature.name for feature in FEATURES}
            if unknown:
                sys.exit(f"{PAGE.name}:{number}: no feature is called {', '.join(sorted(unknown))}")
        elif table == "feature":
            sides = []
            for cell in cells[:2]:
                side: set[str] = set()
                for name in (name.strip(" `") for name in cell.split(",")):
                    if name not in names:
                        sys.exit(f"{PAGE.name}:{number}: no feature is called {name}")
                    side.update(names[name])
                sides.append(frozenset(side))
            limits.append(Limit(number, sides[0], sides[1], cells[2].strip("`")))
    return limits


def cases() -> Iterator[list[Feature]]:
    """Each feature alone, with every other that is no alternative to it, and the triples."""
    for one, other in itertools.combinations_with_replacement(FEATURES, 2):
        if one is other:
            yield [one]
        elif one.kind != other.kind or one.kind in MEETING:
            yield [one, other]
    known = {feature.name: feature for feature in FEATURES}
    for names in TRIPLES:
        yield [known[name] for name in names]


def name_of(features: list[Feature]) -> str:
    return " x ".join(feature.name for feature in features)


@dataclass
class Result:
    name: str
    # "works", "refused" or "failed".
    outcome: str
    text: str = ""
    limit: Optional[Limit] = None


def attempt(run: Run, features: list[Feature]) -> None:
    used = [feature.use for feature in features if feature.use]
    for feature in features:
        feature.run(run)
    if used:
        used[0](run)
    else:
        run.check()


def try_case(tools: Toolbox, limits: list[Limit], features: list[Feature]) -> Result:
    name = name_of(features)
    plan = Plan()
    for feature in features:
        feature.plan(plan)
    folder = tools.folder / hashlib.sha256(name.encode()).hexdigest()[:12]
    run = Run(tools, folder, plan)
    covering = [limit for limit in limits if limit.covers([feature.name for feature in features])]
    try:
        attempt(run, features)
    except Stopped as error:
        first = error.output.splitlines()[0] if error.output else ""
        # Flags of a run, and options of a command that contradict each other, have
        # no place in a file.
        at_run = first.startswith("error: ") or (error.status == 2 and first.startswith("rondo: error: --"))
        if error.status not in (1, 2):
            return Result(name, "failed", f"status {error.status}: {error}")
        if not PLACE.match(first) and not at_run:
            return Result(name, "failed", f"an error without a place: {error}")
        for limit in covering:
            if limit.words in error.output:
                shutil.rmtree(folder)
                return Result(name, "refused", first, limit)
        return Result(name, "failed", f"refused, but no row of {PAGE.name} has these words: {error}")
    except (Wrong, OSError, ValueError, KeyError, IndexError, AssertionError) as error:
        return Result(name, "failed", f"{type(error).__name__}: {error}")
    for limit in covering:
        return Result(name, "failed", f"works, but {PAGE.name}:{limit.line} says that it is refused", limit)
    shutil.rmtree(folder)
    return Result(name, "works")


def toolbox(build: Path, folder: Path) -> Toolbox:
    """The tools of a build, and the bodies of custom layers."""
    bodies = {
        "mlp": SOURCE / "examples" / "body" / "mlp.c",
        "parts": SOURCE / "test" / "e2e" / "Inputs" / "parts.c",
        "join": SOURCE / "test" / "crossings" / "Inputs" / "join.c",
    }
    libraries = {}
    for name, source in bodies.items():
        libraries[name] = folder / f"{name}.o"
        include = f"-I{SOURCE / 'runtime' / 'bodies'}"
        subprocess.run(["cc", "-O2", include, "-c", source, "-o", libraries[name]], check=True)
    (folder / "text").write_text("a schedule is not a model. " * 300, encoding="utf-8")
    settings = dict(re.findall(r'^config\.(\w+) = "(.*)"$', (build / "test" / "lit.site.cfg.py").read_text(), re.M))
    library = Path(settings["rondo_library_dir"])
    emulation = [f"-I{SOURCE}"]
    emulation += [str(library / name) for name in ("libRondoCudaEmulated.a", "librondo_search.a", "librondo_runtime.a")]
    emulation += [*settings["rondo_openblas"].split(), *settings["rondo_sodium"].split(), "-lpthread"]
    mpirun = [settings["rondo_mpiexec"], "--oversubscribe", "-np"] if settings["rondo_mpiexec"] else []
    # It starts in a twentieth of the time.
    static = build / "static" / "rondo"
    return Toolbox(static if static.exists() else build / "bin" / "rondo", libraries, mpirun, emulation, folder)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("features", nargs="*", metavar="FEATURE")
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--list", type=Path, metavar="FILE", help="writes every result")
    options = parser.parse_args()
    unknown = set(options.features) - {feature.name for feature in FEATURES}
    if unknown:
        parser.error(f"no feature is called {', '.join(sorted(unknown))}")
    return options


def main() -> int:
    options = parse()
    environment()
    options.folder.mkdir(parents=True)
    tools = toolbox(options.build.resolve(), options.folder.resolve())
    limits = read_limits()
    every = list(cases())
    wanted = [case for case in every if set(options.features) <= {feature.name for feature in case}]
    if not tools.mpirun:
        wanted = [case for case in wanted if all(feature.name != "MPI" for feature in case)]
    if options.sample:
        wanted.sort(key=lambda case: hashlib.sha256(name_of(case).encode()).hexdigest())
        wanted = wanted[: options.sample]
    counts = {"works": 0, "refused": 0, "failed": 0}
    needed = set()
    listed = []
    with ThreadPoolExecutor(options.jobs) as executor:
        for result in executor.map(lambda case: try_case(tools, limits, case), wanted):
            counts[result.outcome] += 1
            listed.append(f"{result.outcome}\t{result.name}\t{result.text}".replace("\n", " | "))
            if result.limit:
                needed.add(result.limit)
            if result.outcome == "failed":
                print(f"FAILED  {result.name}\n  {result.text}", flush=True)
    if len(wanted) == len(every):
        for limit in limits:
            if limit not in needed:
                counts["failed"] += 1
                print(f"FAILED  {PAGE.name}:{limit.line}: no case is in this row")
    if options.list:
        options.list.write_text("\n".join(listed) + "\n", encoding="utf-8")
    print(f"{counts['works']} cases work, {counts['refused']} are refused as {PAGE.name} says")
    print(f"{counts['works'] + counts['refused']} passed, {counts['failed']} failed")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
