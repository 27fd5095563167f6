# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A schedule as the cells of PyTorch's CSV: a row a rank, one task a cell."""

from __future__ import annotations

import csv
import io
import os
import re
from typing import Any

from .. import command
from ..problem import Problem
from ..schedule import Schedule

CELL = re.compile(r"(\d+)([FIWB])(\d+)")


def csv_of(
    schedule: Schedule, problem: Problem | None, version: str, pad: bool = False
) -> str:
    """The text of the file for a version of PyTorch. Micro-batches are renamed so
    that they ascend on the last stage, where PyTorch looks for losses in order."""
    return command.export("torch-csv", schedule, problem, torch=version, pad=pad)


def _parts(cell: Any, where: str) -> tuple[int, str, int]:
    found = CELL.fullmatch(cell) if isinstance(cell, str) else None
    if not found:
        raise ValueError(
            f"{where} has {cell!r}, which PyTorch cannot run: it knows F, I, W and B "
            "of one stage and micro-batch"
        )
    return int(found[1]), found[2], int(found[3])


class Rows:
    """The content of a file: the stages of each rank, and the number of micro-batches."""

    def __init__(self, text: str, where: str):
        self.stages: list[list[int]] = []
        self.microbatches = 0
        rows = [row for row in csv.reader(io.StringIO(text))]
        for number, row in enumerate(rows):
            cells = [cell.strip() for cell in row if cell.strip()]
            # A pair that runs as one: (0F1;3B0)OVERLAP_F_B.
            words = [w for c in cells for w in re.sub(r"\(|\).*", "", c).split(";")]
            found = [_parts(word, f"{where}, row {number + 1},") for word in words]
            if not found:
                raise ValueError(f"{where}, row {number + 1}, has no task")
            self.stages.append(sorted({stage for stage, _, _ in found}))
            for _, _, index in found:
                self.microbatches = max(self.microbatches, index + 1)
        if not self.stages:
            raise ValueError(f"{where} is empty")
        self.num_stages = 1 + max(max(row) for row in self.stages)


def read_csv(path: str | os.PathLike[str]) -> str:
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()
