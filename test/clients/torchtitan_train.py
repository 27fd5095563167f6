# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One process of a run with torchtitan: torchtitan_train.py FOLDER."""

import functools
import os
import pathlib
import sys
import warnings
import zlib
from dataclasses import dataclass

import torch

import torchtitan_cpu

torchtitan_cpu.prepare()

import torch.distributed as dist  # noqa: E402
from torchtitan.components.dataloader import BaseDataLoader  # noqa: E402
from torchtitan.components.loss import CrossEntropyLoss  # noqa: E402
from torchtitan.components.tokenizer import BaseTokenizer  # noqa: E402
from torchtitan.distributed.activation_checkpoint import SelectiveAC  # noqa: E402
from torchtitan.models.llama3.config_registry import llama3_debugmodel  # noqa: E402

import report  # noqa: E402
import rondo.torchtitan  # noqa: E402

FOLDER, STEPS, LENGTH = pathlib.Path(sys.argv[1]), 3, 32
RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


class Tokenizer(BaseTokenizer):
    @dataclass(kw_only=True, slots=True)
    class Config(BaseTokenizer.Config):
        pass

    def __init__(self, config, **options):
        super().__init__()

    def encode(self, *arguments, **options):
        return []

    def decode(self, *arguments, **options):
        return ""

    def get_vocab_size(self):
        return 256


class Data(BaseDataLoader):
    @dataclass(kw_only=True, slots=True)
    class Config(BaseDataLoader.Config):
        pass

    def __init__(self, config, *, dp_rank, local_batch_size, seq_len, **options):
        self.seed, self.shape = dp_rank, (local_batch_size, seq_len + 1)

    def __iter__(self):
        generator = torch.Generator().manual_seed(self.seed)
        while True:
            ids = torch.randint(256, self.shape, generator=generator)
            yield {"input": ids[:, :-1].contiguous()}, ids[:, 1:].contiguous()

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


def config_of(case):
    config = llama3_debugmodel()
    config.tokenizer, config.dataloader = Tokenizer.Config(), Data.Config()
    config.dump_folder = str(FOLDER / "outputs")
    config.training.seq_len = LENGTH
    config.training.steps = STEPS
    config.training.local_batch_size = case.get("batch", case["microbatches"])
    config.training.disable_cuda_graphs = True
    config.validator.enable = config.checkpoint.enable = False
    config.debug.print_config = False
    if case.get("loss") != "chunked":
        size = config.loss.loss_fn.global_vocab_size
        config.loss = CrossEntropyLoss.Config(global_vocab_size=size)
    config.activation_checkpoint = None
    if case.get("checkpoint") == "selective":
        config.activation_checkpoint = SelectiveAC.Config()
    if "modules" in case:
        config.parallelism.module_fqns_per_model_part = [["norm"]] * case["modules"]
    return config


def local(tensor):
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def named_parameters(trainer):
    for part in trainer.model_parts:
        for name, parameter in part.named_parameters():
            yield name, local(parameter)


def named_grads(trainer):
    for part in trainer.model_parts:
        for name, parameter in part.named_parameters():
            yield name, local(parameter.grad)


def train(config):
    """Gradients of the first step and parameters after the last, by name."""
    trainer = config.build()
    grads = {}
    step = trainer.optimizers.step

    def save_and_step(*arguments, **options):
        for name, parameter in named_grads(trainer):
            grads.setdefault(name, parameter.clone())
        return step(*arguments, **options)

    trainer.optimizers.step = save_and_step
    with torch.no_grad():
        for name, parameter in named_parameters(trainer):
            generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
            noise = torch.randn(parameter.shape, generator=generator) * 0.02
            parameter.copy_(noise + ("norm" in name))
    trainer.train()
    found = report.gathered(grads.items()), report.gathered(named_parameters(trainer))
    trainer.close()
    return *found, len(grads)


def run(case):
    if dist.is_initialized():
        dist.barrier()
        dist.destroy_process_group()
    run.count += 1
    store = f"file://{FOLDER}/store{run.count}"
    dist.init_process_group = functools.partial(
        run.init, init_method=store, rank=RANK, world_size=SIZE
    )
    key = repr(case.get("loss"))
    if "refused" not in case and key not in run.references:
        config = config_of(case)
        config.parallelism.pipeline_parallel_degree = 2
        config.parallelism.pipeline_parallel_schedule = "1F1B"
        run.references[key] = train(config)
        return run(case)
    config = config_of(case)
    options = {"csv": FOLDER / f"{run.count}-of-{RANK}.csv"}
    table = case["table"]
    if "problem" in case:
        table = rondo.Schedule.read(table)
        options["problem"] = rondo.Problem.read(case["problem"])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("error" if case.get("error") else "always")
        rondo.torchtitan.use(config, table, **options)
    if "warned" in case:
        assert any(case["warned"] in str(w.message) for w in seen), "no warning"
    grads, found, tensors = train(config)
    expected_grads, expected, _ = run.references[key]
    worst = max((found[name] - expected[name]).abs().max().item() for name in found)
    return {
        "difference": report.compare(grads, expected_grads),
        "tensors": tensors,
        "losses": 0.0,
        "note": f"of gradients; parameters after {STEPS} steps within {worst:.1e}",
    }


run.references, run.count, run.init = {}, 0, dist.init_process_group
report.run_cases(FOLDER, RANK, run)
