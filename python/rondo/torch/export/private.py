# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All private names of PyTorch that the exporter uses. Tried with 2.15."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Sequence

import torch
import torch._inductor.lowering  # Decompositions use it without an import.
from torch._functorch.aot_autograd import aot_export_joint_simple
from torch._inductor import aot_compile, cpu_vec_isa
from torch._inductor.decomposition import select_decomp_table
from torch._prims_common import compute_elementwise_output_logical_to_physical_perm
from torch._subclasses import fake_tensor
from torch.fx import GraphModule, Node, traceback
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.fake_tensor_prop import FakeTensorProp

#: Exceptions of tracing, which have the operation as `func`.
DATA_DEPENDENT = fake_tensor.DataDependentOutputException
DYNAMIC_SHAPE = fake_tensor.DynamicOutputShapeException


def joint_graph(function: Callable[..., Any], args: Sequence[torch.Tensor]) -> GraphModule:
    """Forward and gradients of a function as one graph.

    Placeholders are the arguments, then the gradients of the outputs; results are
    the outputs, then the gradients of the arguments, None for those without. Other
    tensors that the function uses, such as attributes of modules, become constants.
    """
    mode = fake_tensor.FakeTensorMode(allow_non_fake_inputs=True)
    with traceback.preserve_node_meta():
        module = aot_export_joint_simple(
            function,
            tuple(mode.from_tensor(x, static_shapes=True) for x in args),
            trace_joint=True,
            decompositions=select_decomp_table(),
        )
    for node in module.graph.nodes:
        node.meta.pop("stack_trace", None)
        path = node.meta.pop("custom", {}).get(_MODULE)
        if path is not None:
            node.meta["module_path"] = path
    return module


_MODULE = "rondo_module"


def trace_module(path: str | None) -> None:
    """Nodes that are traced from here on are of the module, or of none; gradients are of
    that of the forward. joint_graph() leaves it in meta["module_path"]."""
    traceback.current_meta.pop("custom", None)
    if path is not None:
        traceback.current_meta["custom"] = {_MODULE: path}


def graph_of(
    function: Callable[..., Any], args: Sequence[torch.Tensor]
) -> GraphModule:
    """A function without gradients as a graph."""
    trace = make_fx(function, select_decomp_table(), tracing_mode="fake")
    return trace(*args)


def layout_like(tensor: torch.Tensor) -> tuple[list[int], list[int]]:
    """Sizes in the order of memory, and how to permute a tensor of these sizes to be
    like this one."""
    order, _ = compute_elementwise_output_logical_to_physical_perm(tensor)
    return [tensor.shape[d] for d in order], [order.index(d) for d in range(len(order))]


def common_subexpressions(module: GraphModule) -> None:
    """Computes what is computed twice once, in place."""
    from torch._functorch.compile_utils import fx_graph_cse

    first: dict[Any, Node] = {}
    for node in list(module.graph.nodes):
        if node.op == "get_attr" and first.setdefault(node.target, node) is not node:
            node.replace_all_uses_with(first[node.target])
            module.graph.erase_node(node)
    module.graph = fx_graph_cse(module.graph)
    module.graph.eliminate_dead_code()
    module.recompile()


def add_shapes(module: GraphModule, examples: Sequence[torch.Tensor]) -> None:
    """Fills meta["val"] of each node."""
    FakeTensorProp(module).propagate(*examples)


def instruction_set() -> str:
    """The vector instructions that generated code uses on this machine."""
    # Looked up before other options are in force: the check loads a library that
    # links PyTorch.
    return str(cpu_vec_isa.pick_vec_isa())


def generate(
    module: GraphModule, examples: Sequence[torch.Tensor], in_place: bool
) -> tuple[Path, dict[str, Any], list[Path]]:
    """C++ of a graph, with the C interface of PyTorch's ahead-of-time compiler, how to
    compile it, and objects that belong to it."""
    instruction_set()
    options: dict[str, Any] = {
        "aot_inductor.link_libtorch": False,
        "aot_inductor.package": True,
        "aot_inductor.package_cpp_only": True,
        "allow_buffer_reuse": False,
        "cpp.threads": 1,
        # Convolutions read and write channels one after the other.
        "layout_optimization": False,
    }
    if not in_place:
        options["inplace_buffers"] = False
    return generated(aot_compile(module, tuple(examples), options=options))


def generated(files: Any) -> tuple[Path, dict[str, Any], list[Path]]:
    """The source among generated files, how to compile it, and its objects."""
    sources = [Path(f) for f in files if str(f).endswith(".wrapper.cpp")]
    flags = [Path(f) for f in files if str(f).endswith("wrapper_compile_flags.json")]
    if len(sources) != 1 or len(flags) != 1:
        raise RuntimeError(
            f"PyTorch {torch.__version__} generates other files than 2.15 did: {files}"
        )
    objects = [Path(f) for f in files if str(f).endswith(".o")]
    return sources[0], json.loads(flags[0].read_text()), objects
