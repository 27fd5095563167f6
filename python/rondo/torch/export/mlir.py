# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes an exported model as a program: layers, a plan and schedules."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Sequence

from .allocations import Plan, Recording
from .body import Body
from .check import Agreement
from .compile import Compiled
from .data import Data
from .layer import Layer, Stream
from .library import stream_type

if TYPE_CHECKING:
    from .sizes import Sized


@dataclass
class Exported:
    """A body for one number of samples, and the compiled graphs, recordings and plans of its tasks."""

    name: str
    layer: Layer
    body: Body
    compiled: list[Compiled | None]
    recordings: list[Recording | None]
    plans: list[Plan | None] = field(default_factory=list)
    agreement: Agreement | None = None
    times: tuple[int, int, int] = (0, 0, 0)


@dataclass
class Stage:
    """Consecutive layers on a rank, and the stages that feed the first of them."""

    begin: int
    end: int
    rank: int
    sources: list[int]


def model_text(
    chain: Sequence[Layer],
    bodies: Sequence[Sized],
    data: Data,
    stages: Sequence[Stage],
    microbatches: int,
    schedules: Sequence[str],
) -> str:
    """The program: a device for each rank, the layers with their sizes, and a plan
    with a schedule for each of `schedules`."""
    lines = ["pipe.cluster @machine {"]
    lines += [f"  pipe.device @rank{r}" for r in range(max(s.rank for s in stages) + 1)]
    tied = [w for w in bodies[0].own.body.weights if w.is_tied]
    is_tied = bool(tied)
    # Other sizes of a gpt mean nothing to layers that state their own.
    hidden = tied[0].shape[1] if tied else 1
    sizes = f"samples({data.samples})"
    if data.tokens:
        sizes = (
            f"gpt<vocab = {data.vocab}, sequence = {data.tokens}, hidden = {hidden}, "
            f"heads = 1, ffn = 1, batch = {data.samples}{', tied = true' * is_tied}>"
        )
    lines += ["}", f"pipe.model @model {sizes} {{"]
    lines += [_layer_line(layer, sized) for layer, sized in zip(chain, bodies)]
    target = chain[0].target.attribute
    lines += [
        "}",
        f"pipe.plan @plan of @model on @machine microbatches({microbatches}) {target}{{",
    ]
    for index, stage in enumerate(stages):
        names = ", ".join(f'@"{layer.name}"' for layer in chain[stage.begin : stage.end])
        line = f"  pipe.stage @s{index} [{names}] on {stage.rank}"
        if stage.sources != [index - 1] * (index > 0):
            line += f" from [{', '.join(f'@s{s}' for s in stage.sources)}]"
        lines.append(line)
    lines.append("}")
    lines += [_schedule_line(schedule) for schedule in schedules]
    return "\n".join(lines) + "\n"


def _by_size(values: Sequence[int]) -> str:
    """A number for all sizes, or a list."""
    return str(values[0]) if len(set(values)) == 1 else str(list(values))


def _layer_line(layer: Layer, sized: Sized) -> str:
    body, bodies = sized.own.body, sized.bodies
    fields = [f'body = "{sized.name}"']
    if len(bodies) > 1:
        fields.append(f"samples = {sized.samples}")
        if sized.undivided is None:
            fields.append("by_sample = true")
    if layer.streams:
        fields.append(f"streams = [{', '.join(map(_stream_text, layer.streams))}]")
    elif layer.is_first:
        fields.append("data = tokens")
    elif layer.targets:
        fields.append("data = targets")
    if layer.loss_fn is not None:
        fields.append("loss = true")
    fields += [
        f"{name} = {_by_size(values)}"
        for name, values in (
            ("weight_bytes", [body.weight_bytes]),
            ("frozen_weight_bytes", [body.frozen_weight_bytes]),
            ("kept_for_weight_grad_bytes", [b.kept_for_weight_grad_bytes for b in bodies]),
            ("output_bytes", [b.output_bytes for b in bodies]),
            ("workspace_bytes", [b.workspace_bytes for b in bodies]),
            ("backward_workspace_bytes", sized.backward_workspace_bytes()),
            ("tensors", [len(body.weights)]),
        )
        if any(values)
    ]
    if body.parts:
        fields.append(f"saved = [{', '.join(_parts_text(bodies))}]")
    times = [[max(t, 1) for t in e.times] for e in sized.variants.values()]
    costs = [f"samples = {sized.samples}"] if len(bodies) > 1 else []
    costs += [
        f"{name}_ns = {[t[k] for t in times] if len(bodies) > 1 else times[0][k]}"
        for k, name in enumerate(("forward", "input_grad", "weight_grad"))
    ]
    return (
        f'  pipe.layer @"{layer.name}" custom<{", ".join(fields)}> '
        f"costs<{', '.join(costs)}>"
    )


def _parts_text(bodies: Sequence[Body]) -> list[str]:
    texts = []
    for variants in zip(*(body.parts for body in bodies)):
        part = variants[0]
        text = f'part<name = "{part.name}", bytes = {_by_size([p.nbytes for p in variants])}'
        texts.append(text + f", read_by = {part.read_by}" * (part.read_by != "both") + ">")
    return texts


def _stream_text(stream: Stream) -> str:
    text = f'data<name = "{stream.name}", dtype = {stream_type(stream.example)}'
    if stream.example.dim() > 1:
        text += f", sizes = {list(stream.example.shape[1:])}"
    if stream.below is not None:
        text += f", below = {stream.below}"
    return text + ">"


def schedule_name(text: str) -> str:
    """The name in model.mlir of a schedule such as 1f1b, kfkb:k=2 or search:effort=100."""
    name = re.sub(r"\W", "_", text.replace("=", ""))
    return name if name[:1].isalpha() else f"schedule_{name}"


def schedule_names(text: str) -> str:
    """The names in model.mlir of schedules with commas between them. A comma before
    `word=` is one between arguments, as in kfkb:k=2,m=3."""
    parts = [part.strip() for part in re.split(r",(?!\s*\w+=)", text)]
    return ",".join(p if re.fullmatch(r"[A-Za-z_]\w*", p) else schedule_name(p) for p in parts)


def _schedule_line(text: str) -> str:
    """The line of a schedule: 1f1b, kfkb:k=2 or search:effort=100."""
    name = schedule_name(text)
    kind, _, given = text.partition(":")
    arguments = [a.replace("=", " = ") for a in given.split(",") if a]
    if kind == "search":
        return f"pipe.schedule @{name} of @plan search<{', '.join(arguments)}>"
    family = ", ".join([f'"{kind}"', *arguments])
    return f"pipe.schedule @{name} of @plan family<{family}>"
