# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All private names of Megatron Core that the package uses, and those that it replaces.
Tried with 0.19.2."""

from __future__ import annotations

import copy
import importlib
import sys
from typing import Any, Callable, Sequence

import megatron.core
import torch
from megatron.core import parallel_state
from megatron.core.pipeline_parallel import schedules
from megatron.core.process_groups_config import ProcessGroupCollection
from megatron.core.tensor_parallel import layers
from megatron.core.transformer.enums import LayerType
from megatron.core.transformer.pipeline_parallel_layer_layout import (
    PipelineParallelLayerLayout,
)
from megatron.core.utils import get_attr_wrapped_model, get_model_config

from ..run import check_version
from ..run.store import add_gradient, defer

TRIED = ["0.19.2"]
# Before, there is no _build_default_pg_collection.
OLDEST = "0.17.0"

Layer = LayerType


def check_client() -> None:
    check_version("Megatron Core", megatron.core.__version__, TRIED, OLDEST)


class StageOfLayout(PipelineParallelLayerLayout):
    """A layout whose answers are those for one stage, whatever rank asks."""

    def __init__(self, layout: str | list[Any], num_stages: int, stage: int):
        super().__init__(layout, num_stages)
        self.stage = stage

    def get_num_layers_to_build(
        self, layer_type: Any = LayerType.decoder, vp_stage: Any = None, pp_rank: Any = None
    ) -> int:
        return self.layout[self.stage][0].count(layer_type)

    def get_layer_offset(
        self, layer_type: Any = LayerType.decoder, vp_stage: Any = None, pp_rank: Any = None
    ) -> int:
        return sum(self.layout[s][0].count(layer_type) for s in range(self.stage))


class StageGroup:
    """In the place of the pipeline's process group while a chunk is built: the stage is
    its rank."""

    def __init__(self, stage: int, num_stages: int):
        self.stage, self.num_stages = stage, num_stages

    def rank(self) -> int:
        return self.stage

    def size(self) -> int:
        return self.num_stages


def config_of_stage(config: Any, layout: str | list[Any], num_stages: int, stage: int) -> Any:
    """A model's configuration for one stage. It is not checked again."""
    found = copy.copy(config)
    found.pipeline_model_parallel_size = num_stages
    found.virtual_pipeline_model_parallel_size = None
    found.pipeline_model_parallel_layout = StageOfLayout(layout, num_stages, stage)
    if found.pipeline_dtype is None:
        found.pipeline_dtype = found.params_dtype
    return found


def groups_of_stage(num_stages: int, stage: int) -> Any:
    """The process groups of a chunk. Tied embeddings get a group of their own."""
    found = ProcessGroupCollection.use_mpu_process_groups()
    found.pp = StageGroup(stage, num_stages)
    found.embd = None
    found.pos_embd = None
    return found


def pipeline_group() -> Any:
    return parallel_state.get_pipeline_model_parallel_group()


def default_groups() -> Any:
    return schedules._build_default_pg_collection()


def without_embeddings(groups: Any) -> Any:
    """Groups for finalize_model_grads, which then adds no gradients of embeddings:
    their groups have one rank. Without a group it would take its own."""
    found = copy.copy(groups)
    found.embd = found.pos_embd = StageGroup(0, 1)
    return found


def shared_weight(chunk: Any) -> Any:
    """The embedding's weight of a first stage, or the head's of a last one, if the two
    are shared; else None."""
    model = get_attr_wrapped_model(chunk, "pre_process", return_model_obj=True)
    if not getattr(model, "share_embeddings_and_output_weights", False):
        return None
    return model.shared_embedding_or_output_weight()


def forward_step(
    forward_step_func: Callable[..., Any],
    data: Any,
    chunk: Any,
    x: Any,
    store: list[Any],
    config: Any,
    groups: Any,
    *,
    microbatches: int,
    microbatch: int,
    is_first: bool,
    is_last_stage: bool,
    collect_non_loss_data: bool,
) -> tuple[Any, Any]:
    """Output of a chunk, of the last stage the loss, and its number of tokens."""
    output, tokens = schedules.forward_step(
        forward_step_func,
        data,
        chunk,
        microbatches,
        x,
        store,
        config,
        cp_group_size=groups.cp.size(),
        collect_non_loss_data=collect_non_loss_data,
        checkpoint_activations_microbatch=None,
        is_first_microbatch=is_first,
        current_microbatch=microbatch,
        vp_stage=None,
        is_last_stage=is_last_stage,
    )
    return output, tokens


def shape_of_message(
    config: Any, groups: Any, seq_length: int, micro_batch_size: int, decoder_seq_length: Any
) -> tuple[int, ...]:
    (shape,) = schedules.get_tensor_shapes(
        seq_length=seq_length,
        micro_batch_size=micro_batch_size,
        decoder_seq_length=decoder_seq_length,
        config=config,
        tp_group=groups.tp,
        cp_group=groups.cp,
    )
    return tuple(shape)


def unwrapped(chunk: Any) -> Any:
    """The model in a DistributedDataParallel and the like."""
    while hasattr(chunk, "module"):
        chunk = chunk.module
    return chunk


def config_of(chunk: Any) -> Any:
    return get_model_config(chunk)


def has_overlapped_reduction(chunk: Any) -> bool:
    settings = getattr(chunk, "ddp_config", None)
    return bool(settings is not None and settings.overlap_grad_reduce)


def clear_main_grads(chunk: Any) -> None:
    """Sets the gradients that a DistributedDataParallel has added up to zero."""
    if hasattr(chunk, "zero_grad_buffer"):
        chunk.zero_grad_buffer()


def start_reduction(chunk: Any) -> None:
    """Starts to reduce all gradients of a chunk, within its no_sync()."""
    for group in chunk.bucket_groups + chunk.expert_parallel_bucket_groups:
        group.is_last_microbatch = True
    chunk.start_grad_sync()


def add_to_main_grads(parameters: Sequence[Any]) -> None:
    """Adds gradients to main gradients, as the hooks of a DistributedDataParallel do
    after a backward."""
    for parameter in parameters:
        if parameter.grad is not None and hasattr(parameter, "main_grad"):
            parameter.main_grad.add_(parameter.grad)
            parameter.grad = None


# Replaces get_forward_backward_func: modules import it by name.
_USERS = [
    "megatron.core.pipeline_parallel",
    "megatron.core.pipeline_parallel.schedules",
    "megatron.training.training",
]


def replace_schedule(function: Callable[..., Any]) -> None:
    """Makes get_forward_backward_func return a function, in the modules that are
    imported and have it."""

    def get_forward_backward_func(*arguments: Any, **options: Any) -> Callable[..., Any]:
        return function

    for name in _USERS:
        if name in sys.modules or name.startswith("megatron.core"):
            module = importlib.import_module(name)
            if hasattr(module, "get_forward_backward_func"):
                setattr(module, "get_forward_backward_func", get_forward_backward_func)


def has_delayed_gradients(config: Any) -> bool:
    return bool(getattr(config, "delay_wgrad_compute", False))


def delayed_linears(chunk: Any) -> list[Any]:
    """The layers of Transformer Engine that keep their weight gradients in a queue until
    backward_dw(). Layers that only pass backward_dw() on have no queue."""
    return [
        module
        for module in chunk.modules()
        if hasattr(module, "wgrad_store") and hasattr(module, "backward_dw")
    ]


def run_delayed(linears: Sequence[Any]) -> None:
    """W of one micro-batch: the oldest in each queue. Without fused addition the result
    is in `grad` of the weight, and only if that is None."""
    with torch.no_grad():
        for linear in linears:
            linear.backward_dw()


class _Linear(torch.autograd.Function):
    """LinearWithGradAccumulationAndAsyncCommunication, with the gradients of weight and
    bias left for W. Autograd does not see these: a hook of theirs would run in I. `anchor`
    makes the output require a gradient if the input does not."""

    @staticmethod
    def forward(ctx: Any, x: Any, anchor: Any, hidden: tuple[Any, ...]) -> Any:
        weight, bias, fuse, reduces, is_sequence, group = hidden
        ctx.save_for_backward(x)
        ctx.hidden = hidden
        whole = _gathered(x, group) if is_sequence else x
        output = torch.matmul(whole, weight.t())
        return output if bias is None else output + bias

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        weight, bias, fuse, reduces, is_sequence, group = ctx.hidden

        def run() -> None:
            whole = _gathered(x, group) if is_sequence else x
            flat_grad = grad.reshape(-1, grad.shape[-1])
            flat = whole.reshape(-1, whole.shape[-1])
            if fuse:
                _add_fused(flat, flat_grad, weight.main_grad)
            else:
                _add(weight, flat_grad.t().matmul(flat))
            if bias is not None and bias.requires_grad:
                _add(bias, flat_grad.sum(dim=0))

        defer(run)
        if not ctx.needs_input_grad[0]:
            return None, None, None
        found = grad.matmul(weight)
        if reduces:
            torch.distributed.all_reduce(found, group=group)
        if is_sequence:
            part = torch.empty(x.shape, dtype=found.dtype, device=found.device)
            torch.distributed.reduce_scatter_tensor(part, found.contiguous(), group=group)
            found = part
        return found, None, None


def _gathered(x: Any, group: Any) -> Any:
    """The whole sequence of which each rank of tensor parallelism has a part."""
    size = (x.shape[0] * group.size(), *x.shape[1:])
    whole = torch.empty(size, dtype=x.dtype, device=x.device)
    torch.distributed.all_gather_into_tensor(whole, x.contiguous(), group=group)
    return whole


def _add(parameter: Any, grad: Any) -> None:
    if hasattr(parameter, "main_grad"):
        parameter.main_grad.add_(grad)
    else:
        add_gradient(parameter, grad)


def _add_fused(x: Any, grad: Any, main_grad: Any) -> None:
    kernels = layers.fused_weight_gradient_mlp_cuda
    if main_grad.dtype == torch.float32:
        kernels.wgrad_gemm_accum_fp32(x, grad, main_grad)
    else:
        kernels.wgrad_gemm_accum_fp16(x, grad, main_grad)


class _DeferredLinear:
    """In the place of LinearWithGradAccumulationAndAsyncCommunication. Frozen weights
    and evaluations get the original."""

    def __init__(self, original: Any):
        self.original = original
        self.is_on = False

    def apply(
        self,
        x: Any,
        weight: Any,
        bias: Any,
        fuse: bool,
        reduces: bool,
        is_sequence: bool,
        grad_output_buffer: Any = None,
        limit: Any = 0,
        group: Any = None,
        *rest: Any,
    ) -> Any:
        if not (self.is_on and weight.requires_grad and torch.is_grad_enabled()):
            arguments = (grad_output_buffer, limit, group, *rest)
            return self.original.apply(x, weight, bias, fuse, reduces, is_sequence, *arguments)
        if grad_output_buffer is not None:
            raise ValueError("defer_embedding_wgrad_compute defers what W has to do")
        if rest and rest[0] != 1:
            raise ValueError("weights that are sharded over gtp_remat are not supported")
        anchor = torch.empty(0, device=x.device, requires_grad=True)
        return _Linear.apply(x, anchor, (weight, bias, fuse, reduces, is_sequence, group))


_NAME = "LinearWithGradAccumulationAndAsyncCommunication"


def deferred_linear() -> _DeferredLinear:
    """The one object that takes the place of Megatron's linear function; it does so
    while it is on."""
    found = getattr(layers, _NAME)
    if not isinstance(found, _DeferredLinear):
        found = _DeferredLinear(found)
        setattr(layers, _NAME, found)
    return found
