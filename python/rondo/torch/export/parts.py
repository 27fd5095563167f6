# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names the parts of what F saves, by the modules that make them."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass, field
from typing import Iterable

from torch.fx import Node

from .joint import Joint

#: A layer of a program has no more named parts.
MAX_PARTS = 32


@dataclass
class Part:
    """One or more tensors that a program may copy to the host together."""

    name: str
    #: The tasks that read it: input_grad, weight_grad or both.
    read_by: str
    nodes: list[Node] = field(default_factory=list)
    nbytes: int = 0


@dataclass
class _Saved:
    node: Node
    module: str
    operation: str
    read_by: str


def name_parts(joint: Joint, read_by: dict[Node, str], is_coarse: bool) -> list[Part]:
    """The parts of what F saves. Each node is one, MODULE.OPERATION, unless there are
    too many: then those of a module that the same tasks read are one. With `is_coarse`
    there are three parts, one for each set of readers."""
    if is_coarse:
        return [
            Part(f"read_by_{reader}", reader, [n for n, r in read_by.items() if r == reader])
            for reader in ("input_grad", "weight_grad", "both")
        ]
    data = {n: "input" for n in joint.inputs} | {n: "target" for n in joint.targets}
    modules = {node: _module_of(node) for node in read_by}
    groups = [[node] for node in read_by]
    words = [[modules[n], data.get(n) or _operation_of(n)] for n in read_by]
    depth = max((m.count(".") + 1 for m in modules.values()), default=0)
    while len(groups) > MAX_PARTS:
        by_module: dict[tuple[str, str], list[Node]] = {}
        for node, reader in read_by.items():
            prefix = ".".join(modules[node].split(".")[:depth])
            by_module.setdefault((prefix, reader), []).append(node)
        groups = list(by_module.values())
        words = [[prefix] for prefix, _ in by_module]
        if depth == 0:
            break
        depth -= 1
    names: set[str] = {"saved_for_input_grad", "saved_for_weight_grad"}
    return [
        Part(_unique(_legal(word), names), read_by[group[0]], group)
        for word, group in zip(words, groups)
    ]


def _module_of(node: Node) -> str:
    """The path of the module that computes a node; of what autograd adds, that of its
    operands."""
    seen: set[Node] = set()
    open_nodes = [node]
    while open_nodes:
        one = open_nodes.pop(0)
        if one in seen:
            continue
        seen.add(one)
        if "module_path" in one.meta:
            return str(one.meta["module_path"])
        open_nodes += one.all_input_nodes
    return ""


def _operation_of(node: Node) -> str:
    """addmm of aten.addmm.default; attention.1 of the second result of an attention."""
    if node.target is operator.getitem:
        index = node.args[1]
        name = _operation_of(node.all_input_nodes[0])
        return f"{name}.{index}" if index else name
    words = str(node.target).split(".")
    operation = (words[1] if len(words) > 1 else words[0]).lstrip("_")
    if operation.startswith("scaled_dot_product"):
        return "attention"
    return {"convert_element_type": "convert", "native_layer_norm": "norm"}.get(
        operation, operation
    )


def _legal(words: Iterable[str]) -> str:
    """A name that needs no quotes in a program."""
    name = re.sub(r"[^A-Za-z0-9_.$-]", "_", ".".join(w for w in words if w)) or "saved"
    return name if re.match(r"[A-Za-z_]", name) else f"_{name}"


def _unique(name: str, names: set[str]) -> str:
    count = 1
    found = name
    while found in names:
        count += 1
        found = f"{name}.{count}"
    names.add(found)
    return found
