# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which attention Rondo's library has kernels for on a GPU."""

from __future__ import annotations

import math

import torch
from torch.fx import GraphModule, Node

#: What PyTorch traces on a CPU: arguments are q, k, v, dropout, is_causal; mask, scale.
FORWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default

#: C++ that declares the functions of a GPU, with the arguments of the CPU's.
DECLARATIONS = """
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
extern "C" AOTITorchError aoti_torch_cuda__scaled_dot_product_flash_attention_for_cpu(
    AtenTensorHandle, AtenTensorHandle, AtenTensorHandle, double, int32_t,
    AtenTensorHandle *, double *, AtenTensorHandle *, AtenTensorHandle *);
extern "C" AOTITorchError
aoti_torch_cuda__scaled_dot_product_flash_attention_for_cpu_backward(
    AtenTensorHandle, AtenTensorHandle, AtenTensorHandle, AtenTensorHandle,
    AtenTensorHandle, AtenTensorHandle, double, int32_t, AtenTensorHandle *, double *,
    AtenTensorHandle *, AtenTensorHandle *, AtenTensorHandle *);
"""

_MAX_WIDTH = 256


def has_kernels_of_attention(module: GraphModule) -> bool:
    """Whether a GPU has kernels for all attention of a graph."""
    return all(_has_kernel(n) for n in module.graph.nodes if n.target is FORWARD)


def _has_kernel(node: Node) -> bool:
    query, key = (x.meta["val"] for x in node.args[:2] if isinstance(x, Node))
    dropout, is_causal = [*node.args[3:], 0.0, False][:2]
    scale = node.kwargs.get("scale")
    width = query.shape[-1]
    return (
        is_causal is True
        and not dropout
        and node.kwargs.get("attn_mask") is None
        and (scale is None or math.isclose(float(str(scale)), width**-0.5, rel_tol=1e-6))
        and query.shape[-2] == key.shape[-2]
        and width <= _MAX_WIDTH
    )
