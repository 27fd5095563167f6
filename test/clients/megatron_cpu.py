# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stand-ins for what Megatron Core asks of CUDA, so that it runs on the CPU. The tables
need only current_device and the random number tracker; Megatron's own schedules name
the device in calls."""

import contextlib
import functools

import torch


class _Stream:
    def __getattr__(self, name):
        return lambda *arguments, **options: None


class _Tracker:
    def fork(self, *arguments):
        return contextlib.nullcontext()

    def is_initialized(self):
        return False

    def add(self, *arguments):
        pass

    def get_states(self):
        return {}

    def set_states(self, states):
        pass


def _on_cpu(function):
    @functools.wraps(function)
    def call(*arguments, **options):
        if str(options.get("device", "cpu")).startswith("cuda"):
            options["device"] = "cpu"
        return function(*arguments, **options)

    return call


def _norm(cls, config, hidden_size, eps=1e-5, **options):
    """A norm that may be used with sequence parallelism, as those of CUDA may."""
    norm = torch.nn.LayerNorm(hidden_size, eps)
    for parameter in norm.parameters():
        parameter.sequence_parallel = config.sequence_parallel
    return norm


def _type(tensor, *arguments, _original=torch.Tensor.type, **options):
    """The distributed optimizer asks for the name of a type of CUDA."""
    found = _original(tensor, *arguments, **options)
    return found.replace("torch.", "torch.cuda.") if isinstance(found, str) else found


def prepare():
    """To be called before Megatron is imported."""
    torch.cuda.current_device = lambda: "cpu"
    torch.cuda.synchronize = lambda *arguments: None
    torch.cuda.current_stream = lambda *arguments: _Stream()
    torch.cuda.Stream = lambda *arguments, **options: _Stream()
    torch.Tensor.type = _type
    torch.Tensor.cuda = lambda tensor, *arguments, **options: tensor
    torch.cuda.stream = lambda *arguments: contextlib.nullcontext()
    torch.cuda.nvtx.range_push = torch.cuda.nvtx.range_pop = lambda *arguments: None
    for name in ("zeros", "empty", "ones", "tensor", "full", "arange", "as_tensor"):
        setattr(torch, name, _on_cpu(getattr(torch, name)))
    from megatron.core import tensor_parallel
    from megatron.core.tensor_parallel import layers, random

    from megatron.core.transformer.torch_norm import WrappedTorchNorm

    WrappedTorchNorm.__new__ = _norm
    random._get_cuda_rng_state = lambda *arguments, **options: None
    random._set_cuda_rng_state = lambda *arguments, **options: None
    for module in (tensor_parallel, layers, random):
        module.get_cuda_rng_tracker = _Tracker
