# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An exported model: its files, and the commands that run them."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterator, Mapping

import torch

from ...command import RondoError, find_rondo
from .body import TIED
from .checkpoint import Checkpoint
from .mlir import schedule_names


@dataclass
class Model:
    """A model that was exported to a folder."""

    folder: Path
    report: dict[str, Any] = field(repr=False)

    @property
    def source(self) -> Path:
        """The model, its plan and its schedules."""
        return self.folder / "model.mlir"

    @property
    def library(self) -> Path:
        """The bodies of its layers."""
        return self.folder / "libstages.a"

    def compile(self, schedule: str | None = None, *options: str) -> Path:
        """Makes the program that trains; `schedule` is one of the `schedules` of the export,
        or the name of one in model.mlir, or several with commas. Raises RondoError."""
        program = self.folder / "train"
        arguments = ["compile", str(self.source), "--library", str(self.library)]
        if schedule is not None:
            arguments += ["--schedule", schedule_names(schedule)]
        _call([find_rondo(), *arguments, "-o", str(program), *options])
        return program

    def run(self, *options: str) -> str:
        """Trains from the exported weights; returns what the program prints."""
        program = self.folder / "train"
        if not program.exists():
            self.compile()
        initial = self.folder / "init.safetensors"
        # Runs that do not train, and those that say where they begin.
        others = {"--init", "--resume", "--verify", "--profile", "--check-bodies"}
        if not others & {option.partition("=")[0] for option in options}:
            options = ("--init", str(initial), *options)
        return _call([str(program), *options])

    def load(self, layers: Mapping[str, torch.nn.Module], file: str | os.PathLike[str]) -> None:
        """Puts the weights of a checkpoint into the modules, and the buffers that
        their forwards change. Raises ValueError, and changes nothing."""
        checkpoint = Checkpoint(file)
        found = [(p, checkpoint.tensor(name, p)) for name, p in self._parameters(layers)]
        found += [
            (buffer, checkpoint.tensor(f"{name}.{buffer_name}", buffer))
            for name, module in layers.items()
            for buffer_name, buffer in module.named_buffers()
            if f"{name}.{buffer_name}" in checkpoint
        ]
        with torch.no_grad():
            for tensor, saved in found:
                tensor.copy_(saved)

    def load_optimizer(
        self,
        optimizer: torch.optim.Optimizer,
        layers: Mapping[str, torch.nn.Module],
        file: str | os.PathLike[str],
    ) -> int:
        """Puts moments and steps of a checkpoint into an AdamW or Adam of PyTorch that
        has the parameters of `layers`; returns the number of steps so far. Parameters
        without a gradient have none. Raises ValueError, and changes nothing."""
        checkpoint = Checkpoint(file)
        made = checkpoint.metadata.get("optimizer")
        if not isinstance(optimizer, torch.optim.Adam) or made != "adamw":
            raise ValueError(
                f"'{file}' has the state of {made or 'no optimizer'}, and the optimizer "
                f"is {type(optimizer).__name__}: AdamW's state goes to AdamW or Adam"
            )
        groups = optimizer.param_groups
        if any(group["amsgrad"] for group in groups):
            raise ValueError(
                "the optimizer has amsgrad=True, whose largest moments no program has: "
                "make it without"
            )
        owned = {id(p) for group in groups for p in group["params"]}
        frozen = {
            f"{entry['layer']}.{name}"
            for entry in self.report.get("layers", ())
            for name in entry["frozen"]
        }
        step = int(checkpoint.metadata["step"])
        state = {}
        for name, parameter in self._parameters(layers):
            if name in frozen or not parameter.requires_grad:
                continue
            if id(parameter) not in owned:
                raise ValueError(f"the optimizer does not have parameter '{name}'")
            state[parameter] = {
                "step": torch.tensor(float(step)),
                "exp_avg": checkpoint.tensor(f"optimizer.m.{name}", parameter),
                "exp_avg_sq": checkpoint.tensor(f"optimizer.v.{name}", parameter),
            }
        optimizer.state.update(state)
        return step

    def _parameters(
        self, layers: Mapping[str, torch.nn.Module]
    ) -> Iterator[tuple[str, torch.nn.Parameter]]:
        """Parameters with their names in checkpoints, without those that are constants."""
        tied, shared = self.report.get("tied", {}), self.report.get("shared", {})
        constants = {
            (entry["layer"], name)
            for entry in self.report.get("layers", ())
            for name in entry.get("constants", ())
        }
        for name, module in layers.items():
            for parameter_name, parameter in module.named_parameters():
                if (name, parameter_name) in constants:
                    continue
                is_tied = tied.get(name) == parameter_name
                whole = f"{name}.{parameter_name}"
                yield TIED if is_tied else shared.get(whole, whole), parameter


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
