# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the library of a model's bodies: objects of its graphs and their tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Iterable, Sequence

import torch

from . import libtorch
from .allocations import Plan, Recording
from .body import ALIGNMENT, Body, Placed, Task, aligned
from .compile import Compiled, level
from .layer import Layer, staged
from .probe import bytes_of

if TYPE_CHECKING:
    from .sizes import Sized

_DTYPES = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.bool: 11,
    torch.bfloat16: 15,
}
_SPACES = {
    "weights": "Weights",
    "weights_in_dtype": "WeightsInDtype",
    "running_weights": "RunningWeights",
    "gradients": "Gradients",
    "saved": "Saved",
    "kept_for_weight_grad": "KeptForWeightGrad",
    "inputs": "Inputs",
    "input_grads": "InputGrads",
    "output": "Output",
    "output_grad": "OutputGrad",
    "workspace": "Workspace",
    "data": "Data",
    "streams": "Streams",
    "loss": "Loss",
    "loss_scale": "LossScale",
    "constants": "Constants",
    "random_key": "RandomKey",
}


#: The name of every layer in a program that probes bodies.
PROBED = "probe"

#: Whether the processor has the instructions of compiled graphs.
_PROCESSOR = {
    name: "static bool has_instructions() {\n  return "
    + " &&\n         ".join(f'__builtin_cpu_supports("{word}")' for word in words)
    + ";\n}\n\n"
    for name, words in {
        "x86-64-v3": ("avx2", "fma", "bmi2"),
        "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
    }.items()
}


class Glue:
    """C++ tables of bodies, as rondo_torch.h has them. `over_libtorch` are functions
    that run in PyTorch's own library."""

    #: The function of rondo_torch.h that runs a task.
    runs = "runTask"

    def __init__(self, over_libtorch: Iterable[str] = ()) -> None:
        self.parts = [
            '#include "runtime/torch/rondo_torch.h"\n\n#include <cstdio>\n#include <string>\n\n',
            self.definitions(),
        ]
        self.opens = ""
        if over_libtorch:
            self.parts.append(libtorch.bridges(over_libtorch))
            self.opens = libtorch.check()
        self.graphs: dict[str, None] = {}
        self.tasks: list[tuple[str, str]] = []
        self.numbers = 0

    def definitions(self) -> str:
        """C++ that all bodies use."""
        return _PROCESSOR[level()]

    def start_check(self) -> str:
        """C++ that checks the machine, in the function of sizes."""
        return (
            "  if (!has_instructions())\n"
            f'    return "its graphs are compiled for {level()}, and this processor has '
            'fewer instructions: export the model on this machine";\n'
        )

    def _array(self, kind: str, rows: Iterable[str]) -> tuple[str, int]:
        rows = list(rows)
        if not rows:
            return "nullptr", 0
        name = f"table{self.numbers}"
        self.numbers += 1
        body = ",\n    ".join(rows)
        self.parts.append(f"static const rondo::torch::{kind} {name}[] = {{\n    {body}}};\n")
        return name, len(rows)

    def graph(self, compiled: Compiled) -> str:
        """The table entry of a graph, which tasks may share."""
        name = compiled.name
        if name not in self.graphs:
            self.graphs[name] = None
            self.parts.append(self.declared_graph(name))
        return f"graph_{name}"

    def declared_graph(self, name: str) -> str:
        return (
            f'extern "C" int32_t {name}_create(void **, const void *, size_t);\n'
            f'extern "C" int32_t {name}_run(void *, rondo::torch::Tensor **, '
            "rondo::torch::Tensor **);\n"
            f"static rondo::torch::Graph graph_{name} = "
            f'{{"{name}", {name}_create, {name}_run}};\n'
        )

    def graph_fields(self, graph: str, rest: str, body: Body) -> str:
        """The fields of a Task, of which `rest` are those between its graphs."""
        return f"{graph}, {rest}"

    def task(
        self,
        name: str,
        body: Body,
        task: Task,
        compiled: Compiled | None,
        plan: Plan | None,
        recording: Recording | None,
        constants: str,
    ) -> None:
        graph = f"&{self.graph(compiled)}" if compiled else "nullptr"
        inputs = self._array("Value", (_value(p) for p in task.inputs))
        outputs = self._array("Value", (_value(p) for p in task.outputs))
        allocations = ("nullptr", 0)
        if plan and recording:
            allocations = self._array(
                "Planned",
                (
                    f"{{{_place(*place)}, {allocation.size}}}"
                    for place, allocation in zip(plan.places, recording.allocations)
                ),
            )
        copies = self._array(
            "Copy",
            (
                f"{{{_place(c.to.space, c.to.index, c.to.offset)}, "
                + (
                    "{}, "
                    if c.source is None
                    else f"{_place(c.source.space, c.source.index, c.source.offset)}, "
                )
                + f"{c.nbytes}, {'true' if c.source is None else 'false'}}}"
                for c in task.copies
            ),
        )
        tables = (inputs, outputs, allocations, copies)
        rest = ", ".join(f"{table}, {count}" for table, count in tables)
        self.parts.append(
            f"static const rondo::torch::Task task_{name}_{task.kind} = "
            f"{{{self.graph_fields(graph, f'{rest}, {constants}', body)}}};\n"
            f"static const char *run_task_{name}_{task.kind}(const rondo_layer *layer, "
            "const rondo_task *task) {\n"
            f"  return rondo::torch::{self.runs}(task_{name}_{task.kind}, *layer, *task);\n}}\n"
        )
        self.tasks.append((name, task.kind))

    def constants(self, body: str, tensors: Sequence[torch.Tensor], folder: Path) -> str:
        """The file of a body's constants, as an array."""
        if not tensors:
            return "nullptr"
        path = folder / f"{body}.constants"
        with open(path, "wb") as out:
            for tensor in tensors:
                raw = bytes(bytes_of(tensor).numpy())
                out.write(raw + bytes(aligned(len(raw)) - len(raw)))
        name = f"constants_{body}"
        self.parts.append(
            f'__asm__(".section .rodata\\n.balign {ALIGNMENT}\\n{name}:\\n'
            f'.incbin \\"{path}\\"\\n.previous\\n");\n'
            f'extern "C" const unsigned char {name}[];\n'
        )
        return name

    def body(self, sized: Sized, layer: Layer, tokens: int) -> None:
        """The rondo_body of a layer whose samples have `tokens` tokens; 0: streams."""
        name, body = sized.name, sized.own.body
        rows = []
        for weight in body.weights:
            shape = weight.shape
            decays = len(shape) > 1 and weight.has_gradient
            rows.append(
                f'{{"{weight.stated_name}", {len(shape)}, {{{", ".join(map(str, shape))}}}, '
                f"{weight.offset // 4}, RONDO_INIT_FILE, {int(decays)}, "
                f"{2 if weight.is_running else int(not weight.has_gradient)}}}"
            )
        tensors = "nullptr"
        if rows:
            tensors = f"tensors_{name}"
            body_rows = ",\n    ".join(rows)
            self.parts.append(
                f"static const rondo_tensor {tensors}[] = {{\n    {body_rows}}};\n"
            )
        inputs = len(layer.edges)
        tasks = [self._task_of(sized, kind) for kind in "FIW"]
        tasks.append(self._task_of(sized, "B") if sized.has_backward else "nullptr")
        self.parts.append(
            f"static const char *sizes_{name}(const rondo_layer *layer, rondo_sizes *sizes) {{\n"
            f"{self.start_check()}{self.opens}"
            f"{_data_check(layer, sized.samples, tokens)}"
            f"  sizes->weight_bytes = {body.weight_bytes};\n"
            f"  sizes->frozen_weight_bytes = {body.frozen_weight_bytes};\n"
            "  switch (layer->batch) {\n"
            + "".join(
                f"  case {samples}:\n{_sizes_text(variant, workspace)}    break;\n"
                for samples, variant, workspace in zip(
                    sized.samples, sized.bodies, sized.backward_workspace_bytes()
                )
            )
            + "  }\n  return nullptr;\n}\n"
            f"static int32_t list_{name}(const rondo_layer *, rondo_tensor *out, int32_t capacity) {{\n"
            + (
                f"  for (int32_t t = 0; t < capacity && t < {len(rows)}; ++t)\n"
                f"    out[t] = {tensors}[t];\n"
                if rows
                else ""
            )
            + f"  return {len(rows)};\n}}\n"
            f"{self.functions(sized)}"
            f"RONDO_BODY({name}) = {{RONDO_BODY_VERSION, {inputs}, {inputs}, sizes_{name}, "
            f"list_{name}, {self.of_targets(sized, tasks)}}};\n"
        )

    def functions(self, sized: Sized) -> str:
        """C++ of the functions of a body besides those of its tasks."""
        return ""

    def of_targets(self, sized: Sized, tasks: Sequence[str]) -> str:
        """The last fields of a body: its functions on each target."""
        return f"{{{', '.join(tasks)}, nullptr}}, {{}}, nullptr, nullptr"

    def _task_of(self, sized: Sized, kind: str) -> str:
        """The function of a task, which picks the variant for its samples."""
        if len(sized.variants) == 1:
            return f"run_task_{sized.name}_{kind}"
        name = f"run_{sized.name}_{kind}"
        cases = "".join(
            f"  case {samples}:\n    return run_task_{exported.name}_{kind}(layer, task);\n"
            for samples, exported in sized.variants.items()
        )
        self.parts.append(
            f"static const char *{name}(const rondo_layer *layer, const rondo_task *task) {{\n"
            f"  switch (layer->batch) {{\n{cases}  }}\n"
            '  return "it has no graph for this number of samples";\n}\n'
        )
        return name

    def text(self) -> str:
        return "".join(self.parts)

    def recorder(self) -> str:
        """A main function that records what graphs allocate."""
        return self.probe()

    def probe(self) -> str:
        """A main function that probes the bodies."""
        graphs = ", ".join(f"&graph_{g}" for g in self.graphs) or "nullptr"
        tasks = ", ".join(
            f'{{"{body}", "{kind}", &task_{body}_{kind}}}' for body, kind in self.tasks
        )
        return (
            f"static rondo::torch::Graph *const graphs[] = {{{graphs}}};\n"
            f"static const rondo::torch::Probed probed[] = {{{tasks or '{}'}}};\n"
            f"static const char *open() {{\n{self.opens}  return nullptr;\n}}\n"
            "int main(int argc, char **argv) {\n"
            "  if (const char *what = open()) {\n"
            '    std::fprintf(stderr, "error: %s\\n", what);\n    return 1;\n  }\n'
            "  rondo_layer layer{};\n"
            f'  layer.name = "{PROBED}";\n'
            f"  return rondo::torch::probe(argc, argv, graphs, {len(self.graphs)}, "
            f"probed, {len(self.tasks)}, layer);\n}}\n"
        )


def _sizes_text(body: Body, backward_workspace_bytes: int) -> str:
    """C++ that states what depends on the number of samples."""
    return (
        f"    sizes->num_saved = {len(body.parts)};\n"
        + "".join(
            f'    sizes->saved[{index}] = {{"{part.name}", {part.nbytes}, '
            f"RONDO_READ_BY_{part.read_by.upper()}}};\n"
            for index, part in enumerate(body.parts)
        )
        + f"    sizes->kept_for_weight_grad_bytes = {body.kept_for_weight_grad_bytes};\n"
        f"    sizes->output_bytes = {body.output_bytes};\n"
        f"    sizes->workspace_bytes = {body.workspace_bytes};\n"
        f"    sizes->backward_workspace_bytes = {backward_workspace_bytes};\n"
    )


def _data_check(layer: Layer, samples: Sequence[int], tokens: int) -> str:
    """C++ that checks what a layer is given of the data set."""
    counts = ", ".join(map(str, samples[:-1]))
    counts += f" and {samples[-1]}" if counts else str(samples[-1])
    of_others = " && ".join(f"layer->batch != {n}" for n in samples)
    text = (
        f"  if (({of_others}) || layer->sequence != {tokens}) {{\n"
        "    static thread_local std::string what;\n"
        '    what = "its graphs were exported for micro-batches of '
        f"{counts} samples"
        + (f" of {tokens} tokens" if tokens else "")
        + ', not for " + std::to_string(layer->batch)'
        + (' + " of " + std::to_string(layer->sequence)' if tokens else "")
        + " +\n"
        f'           ": export the model again, by export_stages(..., samples=[" + '
        'std::to_string(layer->batch) + "])";\n'
        "    return what.c_str();\n  }\n"
    )
    wrong = [f"layer->num_streams != {len(layer.streams)}"]
    for index, stream in enumerate(layer.streams):
        at = f"layer->streams[{index}]"
        shape = stream.example.shape[1:]
        wrong.append(f"{at}.type != RONDO_STREAM_{stream_type(stream.example).upper()}")
        wrong.append(f"{at}.num_dims != {len(shape)}")
        wrong += [f"{at}.shape[{d}] != {size}" for d, size in enumerate(shape)]
    described = ", ".join(
        f"'{s.name}', {stream_type(s.example)} {list(s.example.shape[1:])}"
        for s in layer.streams
    )
    return text + (
        f"  if ({' || '.join(wrong)})\n"
        f'    return "its graphs were exported for '
        f"{'the streams ' + described if described else 'no streams'}"
        ': export the model again";\n'
    )


def stream_type(tensor: torch.Tensor) -> str:
    """The dtype of a stream, as the language has it."""
    return {torch.float32: "fp32", torch.uint8: "uint8", torch.int32: "int32"}[
        staged(tensor).dtype
    ]


def _place(space: str, index: int, offset: int) -> str:
    return f"{{rondo::torch::Space::{_SPACES[space]}, {index}, {offset}}}"


def _value(placed: Placed) -> str:
    place = _place(placed.place.space, placed.place.index, placed.place.offset)
    return (
        f"{{{place}, {_DTYPES[placed.dtype]}, {len(placed.shape)}, "
        f"{{{', '.join(map(str, placed.shape))}}}, {{{', '.join(map(str, placed.strides))}}}}}"
    )


def tensor_line(placed: Placed) -> str:
    """A tensor in the file of a probe (runtime/torch/probe.cpp)."""
    numbers = [_DTYPES[placed.dtype], len(placed.shape), *placed.shape, *placed.strides]
    return " ".join(map(str, numbers))
