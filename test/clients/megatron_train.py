# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One process of a run with Megatron Core: megatron_train.py FOLDER."""

import collections
import functools
import pathlib
import sys
import zlib

import torch

import megatron_cpu

megatron_cpu.prepare()

from megatron.core import parallel_state, pipeline_parallel  # noqa: E402
from megatron.core.distributed import (  # noqa: E402
    DistributedDataParallel,
    DistributedDataParallelConfig,
    finalize_model_grads,
)
from megatron.core.models.gpt import GPTModel  # noqa: E402
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec  # noqa: E402
from megatron.core.transformer import TransformerConfig  # noqa: E402

import report  # noqa: E402
import sleeping  # noqa: E402
import rondo.megatron  # noqa: E402

FOLDER, STEPS, SAMPLES = pathlib.Path(sys.argv[1]), 3, 2
VOCABULARY, LENGTH, LAYERS = 96, 16, 8


def config_of(case):
    options = {}
    if case.get("recompute"):
        options |= {
            "recompute_granularity": "full",
            "recompute_method": "uniform",
            "recompute_num_layers": 1,
        }
    config = TransformerConfig(
        num_layers=LAYERS,
        hidden_size=32,
        num_attention_heads=4,
        use_cpu_initialization=True,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        pipeline_model_parallel_size=2,
        pipeline_dtype=torch.float32,
        tensor_model_parallel_size=case.get("tp", 1),
        sequence_parallel=case.get("sequence", False),
        calculate_per_token_loss=case.get("per_token", False),
        gradient_accumulation_fusion=False,
        bias_dropout_fusion=False,
        masked_softmax_fusion=False,
        bias_activation_fusion=False,
        **options,
    )
    return config


def make_model(case, **options):
    return GPTModel(
        transformer_layer_spec=get_gpt_layer_local_spec(normalization="LayerNorm"),
        vocab_size=VOCABULARY,
        max_sequence_length=LENGTH,
        share_embeddings_and_output_weights=case.get("tied", False),
        parallel_output=True,
        **options,
    )


class _Delayed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, module):
        ctx.save_for_backward(x)
        ctx.module = module
        return x.matmul(weight.t())

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        ctx.module.wgrad_store.append((x, grad))
        return grad.matmul(ctx.module.weight), None, None


def delay(module):
    """A stand-in for Transformer Engine's linear layers with delay_wgrad_compute: weight
    gradients wait in a queue, and the result is kept if there is none."""
    module.wgrad_store = collections.deque()

    def forward(x, *arguments, **options):
        weight = module.weight.detach()
        y = _Delayed.apply(x, weight, module)
        if module.skip_bias_add:
            return y, module.bias
        return (y if module.bias is None else y + module.bias), None

    def backward_dw():
        x, grad = module.wgrad_store.popleft()
        flat = grad.reshape(-1, grad.shape[-1])
        if module.weight.grad is None:
            module.weight.grad = flat.t().matmul(x.reshape(-1, x.shape[-1]))

    module.forward, module.backward_dw = forward, backward_dw


def names_of(chunk, case):
    """Parameters by the names that they have in the whole model."""
    layers = {id(layer): layer.layer_number - 1 for layer in chunk.decoder.layers}
    local = {i: layers[id(layer)] for i, layer in enumerate(chunk.decoder.layers)}
    for name, parameter in chunk.named_parameters():
        parts = name.split(".")
        if parts[:2] == ["decoder", "layers"]:
            parts[2] = str(local[int(parts[2])])
        name = ".".join(parts)
        if getattr(parameter, "tensor_model_parallel", False):
            name += f" of {parallel_state.get_tensor_model_parallel_rank()}"
        yield name, parameter


def set_weights(chunk, case):
    for name, parameter in names_of(chunk, case):
        seed = zlib.crc32(name.encode())
        if case.get("tied"):
            seed = zlib.crc32(name.replace("output_layer", "embedding.word_embeddings").encode())
        generator = torch.Generator().manual_seed(seed)
        noise = torch.randn(parameter.shape, generator=generator) * 0.05
        norm = "layernorm" in name and name.endswith("weight")
        parameter.data.copy_(noise + (1.0 if norm else 0.0))
        frozen = case.get("frozen") and any(f"layers.{i}." in name for i in (0, 3, 7))
        parameter.requires_grad_(not frozen)


def wrapped(chunk, case):
    if not case.get("ddp"):
        return chunk
    settings = DistributedDataParallelConfig(
        overlap_grad_reduce=case.get("overlap", True),
        use_distributed_optimizer=case.get("distributed", False),
        bucket_size=2000,
    )
    return DistributedDataParallel(chunk.config, settings, chunk)


def batches(seed, count):
    """Micro-batches of a step, of this replica."""
    replica = parallel_state.get_data_parallel_rank()
    generator = torch.Generator().manual_seed(100 * seed + replica)
    for _ in range(count):
        yield torch.randint(VOCABULARY, (SAMPLES, LENGTH + 1), generator=generator)


def loss_of(case, output):
    losses = output.float()
    if case.get("per_token"):
        tokens = torch.tensor(losses.numel(), dtype=torch.int)
        return losses.sum(), tokens, {"loss": losses.mean().detach()}
    return losses.mean(), {"loss": losses.mean().detach()}


def forward_step(case, data, model):
    ids = next(data)
    places = torch.arange(LENGTH).unsqueeze(0)
    mask = torch.ones(1, 1, LENGTH, LENGTH, dtype=torch.bool).triu(1)
    x, y = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
    return model(x, places, mask, labels=y), functools.partial(loss_of, case)


def train(case, run, chunks):
    models = [getattr(chunk, "module", chunk) for chunk in chunks]
    named = {}
    for model in models:
        named.update(names_of(model, case))
    if case.get("distributed"):
        optimizer = distributed_optimizer(chunks)
    else:
        trained = [p for p in named.values() if p.requires_grad]
        optimizer = torch.optim.AdamW(trained, lr=1e-3)
    chunks[0].config.finalize_model_grads_func = finalize
    models[0].config.finalize_model_grads_func = finalize
    losses = []
    count = case.get("steps_of", case["microbatches"])

    def step(seed, count, evaluate=False):
        found = run(
            forward_step_func=functools.partial(forward_step, case),
            data_iterator=iter(batches(seed, count)),
            model=chunks if len(chunks) > 1 else chunks[0],
            num_microbatches=count,
            seq_length=LENGTH,
            micro_batch_size=SAMPLES,
            forward_only=evaluate,
        )
        mine = sum(f["loss"].item() for f in found)
        found = [None] * torch.distributed.get_world_size()
        torch.distributed.all_gather_object(found, mine)
        # Megatron's loop expects losses on the last rank.
        losses.append(found[-1])
        assert losses[-1] > 0, "the last rank has no loss"

    before = {name: p.detach().clone() for name, p in named.items()}
    for number in range(STEPS):
        for chunk in chunks:
            if hasattr(chunk, "zero_grad_buffer"):
                chunk.zero_grad_buffer()
        optimizer.zero_grad()
        step(number, count)
        for parameter in named.values():
            if hasattr(parameter, "main_grad") and not case.get("distributed"):
                parameter.grad = parameter.main_grad.clone()
        optimizer.step()
    for name, parameter in named.items():
        assert torch.equal(before[name], parameter) != parameter.requires_grad, name
    for number in case.get("evaluate", []):
        step(50, number, evaluate=True)
    return losses, named


def distributed_optimizer(chunks):
    from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer

    config = OptimizerConfig(
        optimizer="adam", lr=1e-3, use_distributed_optimizer=True, clip_grad=0.0
    )
    return get_megatron_optimizer(config, chunks)


def finalize(chunks, tokens=None, pg_collection=None, **options):
    """Megatron's, which needs a DistributedDataParallel."""
    if hasattr(chunks[0], "ddp_config"):
        finalize_model_grads(chunks, tokens, pg_collection=pg_collection, **options)
        return
    if pg_collection.embd.size() > 1:
        # Megatron's own schedule; a schedule of Rondo adds these gradients itself.
        model = chunks[0]
        if model.share_embeddings_and_output_weights:
            grad = model.shared_embedding_or_output_weight().grad
            torch.distributed.all_reduce(grad, group=pg_collection.embd)
    if model_parallel() and chunks[0].config.sequence_parallel:
        for chunk in chunks:
            for parameter in chunk.parameters():
                if getattr(parameter, "sequence_parallel", False):
                    torch.distributed.all_reduce(parameter.grad, group=pg_collection.tp)
    if tokens is not None:
        last = torch.distributed.get_process_group_ranks(pg_collection.pp)[-1]
        torch.distributed.broadcast(tokens, last, group=pg_collection.pp)
        for chunk in chunks:
            for parameter in chunk.parameters():
                if parameter.grad is not None:
                    parameter.grad.div_(tokens)


def model_parallel():
    return parallel_state.get_tensor_model_parallel_world_size() > 1


def own(case):
    """Megatron's own 1F1B."""
    rank = parallel_state.get_pipeline_model_parallel_rank()
    chunk = make_model(case, config=config_of(case), pre_process=rank == 0, post_process=rank == 1)
    set_weights(chunk, case)
    chunks = [wrapped(chunk, case)]
    return train(case, run.own(), chunks)


def check_tied(chunks, case):
    """Both copies are the same when chunks were built."""
    named = {}
    for chunk in chunks:
        named.update(names_of(chunk, case))
    found = report.gathered(named.items())
    first, last = (
        next(t for name, t in found.items() if name.startswith(word))
        for word in ("embedding.word_embeddings.weight", "output_layer.weight")
    )
    assert torch.equal(first, last) and first.abs().sum() > 0, "tied weights differ"


class SleepingModel(torch.nn.Module):
    """In the place of a GPTModel: a layer that sleeps, in any stage."""

    def __init__(self, config, pre_process, post_process, pg_collection):
        super().__init__()
        self.config, self.layer = config, sleeping.Layer()
        self.pre_process = pre_process
        self.share_embeddings_and_output_weights = False

    def set_input_tensor(self, x):
        self.x = x[0] if isinstance(x, list) else x

    def forward(self, x):
        return self.layer(x if self.pre_process else self.x)


def predict(case):
    """Profiles stages that sleep, and compares the prediction with the run."""
    plain = rondo.run.Table.plain(case["profiled"], case["microbatches"])
    chunks = rondo.megatron.build(plain, config_of(case), SleepingModel)

    def forward_step(data, model):
        y = model(next(data))
        return y, lambda y: (y.square().mean(), {"loss": y.mean().detach()})

    def data():
        while True:
            yield torch.ones(LENGTH, SAMPLES, 32)

    options = {"forward_step_func": forward_step, "seq_length": LENGTH,
               "micro_batch_size": SAMPLES}  # fmt: skip
    found = rondo.megatron.profile(chunks, plain, data_iterator=data(), split="walk", **options)
    step = rondo.megatron.forward_backward(found.schedule, split="walk")
    options |= {"model": chunks, "num_microbatches": case["microbatches"]}
    return sleeping.report_of(found, lambda: step(data_iterator=data(), **options))


def run(case):
    tp = case.get("tp", 1)
    if run.tp != tp:
        if run.tp:
            parallel_state.destroy_model_parallel()
        parallel_state.initialize_model_parallel(
            tensor_model_parallel_size=tp, pipeline_model_parallel_size=2
        )
        run.tp = tp
    if "profiled" in case:
        return predict(case)
    keys = ("tied", "frozen", "recompute", "per_token", "ddp", "overlap", "distributed")
    key = repr([case.get(k) for k in (*keys, "tp", "sequence", "evaluate", "config")])
    if "refused" not in case and key not in run.references:
        losses, named = own(case)
        run.references[key] = losses, report.gathered(named.items())
    problem = rondo.Problem.read(case["problem"]) if "problem" in case else None
    table = rondo.run.Table.of(case["table"], problem)
    placed = table
    if "chunks_of" in case:
        placed = rondo.run.Table.forwards(case["chunks_of"], 1)
    torch.manual_seed(1)
    chunks = rondo.megatron.build(
        placed,
        config_of(case),
        functools.partial(make_model, case),
        layout=case.get("layout"),
    )
    if case.get("tied"):
        check_tied(chunks, case)
    for chunk in chunks:
        # Options of the run: a model could not be built with some of them on this machine.
        for name, value in case.get("config", {}).items():
            setattr(chunk.config, name, value)
    for chunk in chunks:
        set_weights(chunk, case)
        if case.get("delayed"):
            for layer in chunk.decoder.layers:
                delay(layer.mlp.linear_fc1)
                delay(layer.mlp.linear_fc2)
    chunks = [wrapped(chunk, case) for chunk in chunks]
    options = {"split": case["split"]} if "split" in case else {}
    if case.get("profile"):
        found = rondo.megatron.profile(
            chunks,
            table,
            forward_step_func=functools.partial(forward_step, case),
            data_iterator=batches(1, 99),
            seq_length=LENGTH,
            micro_batch_size=SAMPLES,
            repeats=1,
            **options,
        )
        table = rondo.run.Table.of(found.schedule)
    if case.get("use"):
        rondo.megatron.use(table, **options)
        step = pipeline_parallel.get_forward_backward_func()
    else:
        step = rondo.megatron.forward_backward(table, **options)
    losses, named = train(case, step, chunks)
    expected, parameters = run.references[key]
    return {
        "difference": report.compare(report.gathered(named.items()), parameters),
        "tensors": len(named),
        "losses": max(abs(a - b) for a, b in zip(losses, expected, strict=True)),
    }


run.references, run.tp = {}, 0
run.own = pipeline_parallel.get_forward_backward_func
RANK = report.start(FOLDER)
report.run_cases(FOLDER, RANK, run)
