# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One process of a run with torchtitan: torchtitan_train.py FOLDER."""

import functools
import os
import pathlib
import sys
import time
import warnings
import zlib

import torch

# Before torchtitan, which looks for a device when it is imported.
import torchtitan_job

import torch.distributed as dist
from torch.distributed.fsdp import FSDPModule
from torchtitan.components.loss import CrossEntropyLoss
from torchtitan.distributed.activation_checkpoint import SelectiveAC
from torchtitan.models.llama3.config_registry import llama3_debugmodel
from torchtitan.models.llama3.model import Llama3TransformerBlock

import report
import sleeping
import rondo.torchtitan

FOLDER, STEPS = pathlib.Path(sys.argv[1]), 3
RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def config_of(case):
    config = torchtitan_job.prepared(llama3_debugmodel(), FOLDER / "outputs")
    config.training.steps = STEPS
    config.training.local_batch_size = case.get("batch", case["microbatches"])
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


def named(trainer):
    """Parameters by name; each rank of FSDP has a shard of its own."""
    shard = RANK % (SIZE // 2)
    for part in trainer.model_parts:
        for name, parameter in part.named_parameters():
            yield f"{name} of {shard}", parameter


def named_parameters(trainer):
    for name, parameter in named(trainer):
        yield name, local(parameter)


def named_grads(trainer):
    for name, parameter in named(trainer):
        yield name, local(parameter.grad)


def train(config):
    """Gradients of the first step and parameters after the last, by name."""
    trainer = config.build()
    for part in trainer.model_parts:
        for module in part.modules():
            if isinstance(module, FSDPModule):
                # gloo has no other reduction.
                module.set_force_sum_reduction_for_comms(True)
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


def asleep():
    """Makes all layers sleep, as well as compute."""
    original = Llama3TransformerBlock.forward

    def forward(self, x, *arguments, **options):
        # One parameter of a layer, which the walk must see in one place.
        last = self.feed_forward.w2
        last.forward = lambda x: torch.nn.functional.linear(
            x, sleeping.SleepWeight.apply(last.weight)
        )
        return sleeping.SleepInput.apply(original(self, x, *arguments, **options))

    Llama3TransformerBlock.forward = forward


def predict(case):
    """Profiles stages that sleep, and compares the prediction with the pipeline's step."""
    asleep()
    found = rondo.torchtitan.profile(config_of(case), case["profiled"])
    dist.destroy_process_group()
    run.count += 1
    start(f"file://{FOLDER}/store{run.count}")
    config = config_of(case)
    config.training.steps = sleeping.STEPS + 1
    csv = FOLDER / f"searched-of-{RANK}.csv"
    rondo.torchtitan.use(config, found.schedule, csv=csv)
    trainer = config.build()
    step, times = trainer.pp_schedule.step, []

    def timed(*arguments, **options):
        dist.barrier()
        begin = time.perf_counter_ns()
        done = step(*arguments, **options)
        dist.barrier()
        times.append(time.perf_counter_ns() - begin)
        return done

    trainer.pp_schedule.step = timed
    trainer.train()
    trainer.close()
    return sleeping.compare(found, times)


def start(store):
    dist.init_process_group = functools.partial(
        run.init, init_method=store, rank=RANK, world_size=SIZE
    )


def own(case):
    """torchtitan's own 1F1B."""
    config = config_of(case)
    config.parallelism.pipeline_parallel_degree = 2
    config.parallelism.pipeline_parallel_schedule = "1F1B"
    return train(config)


def run(case):
    if dist.is_initialized():
        dist.barrier()
        dist.destroy_process_group()
    run.count += 1
    start(f"file://{FOLDER}/store{run.count}")
    if "profiled" in case:
        return predict(case)
    key = repr(case.get("loss"))
    reference = FOLDER.parent / f"reference{RANK}.pt"
    if case.get("keeps"):
        torch.save(own(case), reference)
        return {"difference": 0.0, "tensors": 0, "losses": 0.0}
    if case.get("takes"):
        run.references[key] = torch.load(reference)
    if "refused" not in case and key not in run.references:
        run.references[key] = own(case)
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
