# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stand-ins for what torchtitan asks of an accelerator, so that it runs on the CPU, and
for the tokenizer and data that its package does not have."""

import types

import torch


def prepare():
    """To be called before torchtitan is imported."""
    torch._utils._get_available_device_type = lambda: "cpu"
    properties = types.SimpleNamespace(total_memory=1 << 34, name="cpu")
    stubs = {
        "get_device_name": lambda *arguments: "cpu",
        "get_device_properties": lambda *arguments: properties,
        "memory_stats": lambda *arguments: {},
        "reset_peak_memory_stats": lambda *arguments: None,
        "empty_cache": lambda *arguments: None,
        "set_device": lambda *arguments: None,
        "current_device": lambda *arguments: 0,
        "device_count": lambda *arguments: 64,
    }
    for name, function in stubs.items():
        setattr(torch.cpu, name, function)
    import torchtitan.models.llama3 as llama
    from torchtitan.models.common.attention import ScaledDotProductAttention

    llama.get_attention_config = lambda backend: ScaledDotProductAttention.Config()
