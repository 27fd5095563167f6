# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the library of bodies for GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, Sequence

from .body import Body, aligned
from .library import PROBED, Glue
from .target import DTYPES, Target

if TYPE_CHECKING:
    from .sizes import Sized


def glue_for(target: Target, over_libtorch: Iterable[str]) -> Glue:
    """Tables for the device of `target`, without any body yet."""
    return DeviceGlue(target) if target.is_cuda else Glue(over_libtorch)


class DeviceGlue(Glue):
    """C++ tables of bodies that run on a GPU."""

    runs = "runTaskOnDevice"

    def __init__(self, target: Target) -> None:
        self.target = target
        #: Names of tables of C++.
        self.declared: set[str] = set()
        super().__init__()

    def definitions(self) -> str:
        return ""

    def start_check(self) -> str:
        word, number = DTYPES[self.target.dtype]
        return (
            "  if (layer->target != RONDO_TARGET_CUDA)\n"
            '    return "its graphs are compiled for GPUs: compile the program with '
            '--target=cuda";\n'
            f"  if (layer->dtype != {number})\n"
            f'    return "its graphs are compiled for {word}: compile the program with '
            f'--dtype={word}";\n'
        )

    def declared_graph(self, name: str) -> str:
        functions = {
            "create": "void **, size_t, const char *, const char *",
            "run": "void *, rondo::torch::Tensor **, size_t, rondo::torch::Tensor **, "
            "size_t, void *, void *",
            "remove": "void *",
            "error": "const char **",
        }
        names = ", ".join(f"{name}_{word}" for word in functions)
        return (
            "".join(
                f'extern "C" int32_t {name}_{word}({types});\n'
                for word, types in functions.items()
            )
            + f"static const rondo::torch::DeviceGraph graph_{name} = "
            f'{{"{name}", {names}}};\n'
        )

    def graph_fields(self, graph: str, rest: str, body: Body) -> str:
        constant_bytes = sum(aligned(x.nbytes) for x in body.constants)
        return f"nullptr, {rest}, {graph}, {constant_bytes}"

    def functions(self, sized: Sized) -> str:
        """The functions that load and prepare a body, and their tables."""
        dtype = "RONDO_DTYPE_" + DTYPES[self.target.dtype][0].upper()
        tables = ""
        for exported in sized.variants.values():
            if f"device_{exported.name}" in self.declared:
                continue
            self.declared.add(f"device_{exported.name}")
            tasks = [f"&task_{exported.name}_{t.kind}" for t in exported.body.tasks]
            tables += (
                f"static const rondo::torch::Task *const tasks_{exported.name}[] = "
                f"{{{', '.join(tasks)}}};\n"
                f"static const rondo::torch::DeviceBody device_{exported.name} = "
                f"{{tasks_{exported.name}, {len(tasks)}, {dtype}, "
                f"{self.target.capability}, false}};\n"
            )
        return (
            tables
            + self._of_samples(
                sized,
                "load",
                "int32_t rank, int32_t device, void **state",
                "loadOnDevice({}, *layer, rank, device, state)",
            )
            + self._of_samples(
                sized,
                "prepare",
                "const rondo_task *task",
                "prepareOnDevice({}, *layer, *task)",
            )
            + f"static void unload_{sized.name}(const rondo_layer *, void *state) {{\n"
            "  rondo::torch::unloadFromDevice(state);\n}\n"
        )

    def _of_samples(self, sized: Sized, word: str, taken: str, call: str) -> str:
        """A function that calls another with the body for a number of samples."""
        cases = "".join(
            f"  case {samples}:\n    return rondo::torch::"
            f"{call.format(f'device_{exported.name}')};\n"
            for samples, exported in sized.variants.items()
        )
        return (
            f"static const char *{word}_{sized.name}(const rondo_layer *layer, {taken}) {{\n"
            f"  switch (layer->batch) {{\n{cases}  }}\n"
            '  return "it has no graph for this number of samples";\n}\n'
        )

    def of_targets(self, sized: Sized, tasks: Sequence[str]) -> str:
        name = sized.name
        return f"{{}}, {{{', '.join(tasks)}, prepare_{name}}}, load_{name}, unload_{name}"

    def probe(self) -> str:
        tasks = ", ".join(
            f'{{"{body}", "{kind}", &task_{body}_{kind}}}' for body, kind in self.tasks
        )
        dtype = DTYPES[self.target.dtype][1]
        return (
            f"static const rondo::torch::Probed probed[] = {{{tasks or '{}'}}};\n"
            "int main(int argc, char **argv) {\n"
            f"  static const rondo::torch::DeviceBody body = {{nullptr, 0, {dtype}, "
            f"{self.target.capability}, false}};\n"
            "  rondo_layer layer{};\n"
            f'  layer.name = "{PROBED}";\n'
            "  layer.target = RONDO_TARGET_CUDA;\n"
            f"  layer.dtype = {dtype};\n"
            "  return rondo::torch::probeOnDevice(argc, argv, probed, "
            f"{len(self.tasks)}, body, layer);\n}}\n"
        )

    def recorder(self) -> str:
        """A main function that records what graphs allocate, without a GPU."""
        graphs = ", ".join(f"&graph_{g}" for g in self.graphs)
        return (
            '#include "runtime/torch/without_device.h"\n\n'
            "int main(int argc, char **argv) {\n"
            f"  static const rondo::torch::DeviceGraph *const graphs[] = {{{graphs}}};\n"
            "  return rondo::torch::probeWithoutDevice(argc, argv, graphs, "
            f"{len(self.graphs)});\n}}\n"
        )
