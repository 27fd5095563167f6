# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torchrun --nproc-per-node 2 torchtitan_chunked_loss.py: with the default loss, which
runs in chunks, torchtitan's own ZBVZeroBubble leaves a parameter of the last stage
without a gradient, and says nothing. Status 0 if that is seen."""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import torchtitan_job  # noqa: E402

import torch.distributed as dist  # noqa: E402
from torchtitan.models.llama3.config_registry import llama3_debugmodel  # noqa: E402

config = torchtitan_job.prepared(llama3_debugmodel(), tempfile.mkdtemp())
config.activation_checkpoint = None
config.training.steps, config.training.local_batch_size = 1, 4
config.parallelism.pipeline_parallel_degree = 2
config.parallelism.pipeline_parallel_schedule = "ZBVZeroBubble"
trainer = config.build()
step, without, counts = trainer.optimizers.step, [], []


def look_and_step(*arguments, **options):
    for part in trainer.model_parts:
        for name, parameter in part.named_parameters():
            counts.append(name)
            if parameter.grad is None:
                without.append(name)
    return step(*arguments, **options)


trainer.optimizers.step = look_and_step
trainer.train()
found = [None] * dist.get_world_size()
dist.all_gather_object(found, (without, len(counts)))
names = [name for missing, _ in found for name in missing]
if dist.get_rank() == 0:
    total = sum(count for _, count in found)
    print(f"{total - len(names)} of {total} parameters have a gradient; without: {names}")
trainer.close()
dist.destroy_process_group()
sys.exit(0 if names else 1)
