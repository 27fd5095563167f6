# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numbers of samples that a layer is compiled for, one variant each."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Sequence

import torch

from .body import Body
from .layer import Layer
from .mlir import Exported
from .refusal import Refusal

#: A layer of a program states its sizes for no more numbers of samples.
MAX_SIZES = 16
#: Largest difference between samples alone and together, relative to the largest value.
TOLERANCE = 1e-4


def sizes_of(samples: Sequence[int] | None, own: int) -> list[int]:
    """All numbers of samples, ascending: those asked for, and the example's own."""
    asked = list(samples or [])
    wrong = [n for n in asked if n < 1]
    if wrong:
        raise Refusal(f"samples has {wrong[0]}: a micro-batch has 1 sample or more")
    sizes = sorted({own, *asked})
    if len(sizes) > MAX_SIZES:
        raise Refusal(
            f"samples has {len(sizes)} numbers, with the {own} of the example: the "
            f"maximum is {MAX_SIZES}"
        )
    return sizes


@dataclass
class Sized:
    """A layer's body, with a variant for each number of samples."""

    #: Of the example's own size.
    own: Exported
    variants: dict[int, Exported]
    #: Why replicas cannot divide its samples; None: they can.
    undivided: str | None = None

    @property
    def name(self) -> str:
        """Equal for equal bodies. A single variant is the body."""
        if len(self.variants) == 1:
            return self.own.name
        names = "|".join(f"{n} {e.name}" for n, e in self.variants.items())
        return "sized_" + hashlib.sha256(names.encode()).hexdigest()[:12]

    @property
    def samples(self) -> list[int]:
        return list(self.variants)

    @property
    def bodies(self) -> list[Body]:
        return [exported.body for exported in self.variants.values()]

    @property
    def has_backward(self) -> bool:
        """Whether B is one graph, which all variants have or none."""
        return all(len(body.tasks) > 3 for body in self.bodies)

    def backward_workspace_bytes(self) -> list[int]:
        return [b.backward_workspace_bytes * self.has_backward for b in self.bodies]


def sized_layers(
    chains: dict[int, list[Layer]], prepared: dict[int, list[Exported]], own: int
) -> list[Sized]:
    """The variants of each layer. Refuses those with other weights than the own."""
    result = []
    for index, layer in enumerate(chains[own]):
        variants = {n: exported[index] for n, exported in prepared.items()}
        sized = Sized(variants[own], variants)
        for n, exported in variants.items():
            if _weights(exported.body) != _weights(sized.own.body):
                raise Refusal(
                    f"layer '{layer.name}': its weights or their gradients are others "
                    f"for {n} samples than for {own}"
                )
        if len(variants) > 1:
            sized.undivided = why_undivided(chains[max(chains)][index])
            if sized.undivided is None and layer.loss_fn is None:
                # Samples follow each other without padding at the end.
                for n, chain in chains.items():
                    output = chain[index].outputs[0]
                    variants[n].body.output_bytes = output.nbytes
        result.append(sized)
    return result


def _weights(body: Body) -> list[tuple[Any, ...]]:
    return [
        (w.stated_name, tuple(w.shape), w.offset, w.has_gradient, w.is_running)
        for w in body.weights
    ]


def why_undivided(layer: Layer) -> str | None:
    """Why replicas cannot divide the samples of a micro-batch; None if they can."""
    if layer.running:
        return "its forward changes buffers"
    given = layer.data[0] if layer.is_first else layer.inputs[0]
    count = given.shape[0]
    edges = [*layer.edges, *([] if layer.loss_fn is not None else [layer.outputs])]
    for edge in edges:
        if len(edge) != 1:
            return "several tensors go to a layer"
        if edge[0].dim() == 0 or edge[0].shape[0] != count:
            return "samples are not the first size of a tensor between layers"
    modes = {module: module.training for module in layer.module.modules()}
    layer.module.eval()
    try:
        whole = _run(layer, 0, count)
        parts = [_run(layer, 0, 1), _run(layer, 1, count)]
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        return f"it does not run on some of the samples: {str(error).splitlines()[0]}"
    finally:
        for module, mode in modes.items():
            module.training = mode
    if layer.loss_fn is not None:
        # Programs add the means of replicas by their numbers of samples.
        together = (parts[0] + (count - 1) * parts[1]) / count
    else:
        together = torch.cat(parts)
    if together.shape != whole.shape:
        return "an output has another size for some of the samples"
    difference = (together.double() - whole.double()).abs().max().item()
    # One rounding to bf16 is more than the tolerance of fp32.
    tolerance = layer.target.tolerance if layer.target.has_copies else TOLERANCE
    if not difference <= tolerance * whole.double().abs().max().item():
        return "a sample's output depends on other samples"
    return None


def _run(layer: Layer, begin: int, end: int) -> torch.Tensor:
    with torch.no_grad():
        outputs = layer.call(
            layer.values(),
            [x[begin:end] for x in layer.inputs],
            [x[begin:end] for x in layer.targets],
        )
    return outputs[0]
