# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An exported model: its files, and the commands that run them."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping

import torch

from ...command import RondoError, find_rondo
from .tasks import TIED


@dataclass
class Model:
    """A model that was exported to a folder."""

    folder: Path
    report: dict[str, Any]

    @property
    def source(self) -> Path:
        """The model, its plan and its schedules."""
        return self.folder / "model.mlir"

    @property
    def library(self) -> Path:
        """The bodies of its layers."""
        return self.folder / "libstages.a"

    def compile(self, schedule: str | None = None, *options: str) -> Path:
        """Makes the program that trains; `schedule` is the name of one in model.mlir.
        Raises RondoError."""
        program = self.folder / "train"
        arguments = ["compile", str(self.source), "--library", str(self.library)]
        if schedule is not None:
            arguments += ["--schedule", schedule]
        _call([find_rondo(), *arguments, "-o", str(program), *options])
        return program

    def run(self, *options: str) -> str:
        """Trains from the exported weights; returns what the program prints."""
        program = self.folder / "train"
        if not program.exists():
            self.compile()
        initial = self.folder / "init.safetensors"
        if "--init" not in options and "--resume" not in options:
            options = ("--init", str(initial), *options)
        return _call([str(program), *options])

    def load(self, layers: Mapping[str, torch.nn.Module], file: str | os.PathLike[str]) -> None:
        """Puts the weights of a checkpoint into the modules, and the buffers that
        their forwards change."""
        from safetensors.torch import load_file

        tensors = load_file(file)
        for name, module in layers.items():
            for parameter_name, parameter in module.named_parameters():
                is_tied = self.report.get("tied", {}).get(name) == parameter_name
                key = TIED if is_tied else f"{name}.{parameter_name}"
                if key not in tensors:
                    raise ValueError(f"{file} has no tensor '{key}'")
                with torch.no_grad():
                    parameter.copy_(tensors[key].reshape(parameter.shape))
            for buffer_name, buffer in module.named_buffers():
                found = tensors.get(f"{name}.{buffer_name}")
                if found is not None:
                    buffer.copy_(found.reshape(buffer.shape))


def _call(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        text = (done.stderr or done.stdout).strip()
        raise RondoError(text.removeprefix("rondo: error: "), done.returncode)
    return done.stdout


def read_model(folder: str | os.PathLike[str]) -> Model:
    """A model that was exported before."""
    path = Path(folder)
    return Model(path, json.loads((path / "report.json").read_text()))
