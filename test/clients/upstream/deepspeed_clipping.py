# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torchrun --nproc-per-node 2 deepspeed_clipping.py: without ZeRO and bf16 DeepSpeed's
own pipeline clips by the norm of the parameters of pipe rank 0 alone. Status 0 if that
is seen."""

import sys

import deepspeed
import torch
import torch.distributed as dist
from deepspeed.pipe import PipelineModule
from deepspeed.runtime import engine as engines

torch.manual_seed(0)
deepspeed.init_distributed(dist_backend="gloo")
layers = [torch.nn.Linear(8, 8) for _ in range(4)]
config = {
    "train_micro_batch_size_per_gpu": 2,
    "gradient_accumulation_steps": 2,
    "gradient_clipping": 1e-3,
    "optimizer": {"type": "SGD", "params": {"lr": 0.1}},
}
module = PipelineModule(layers, num_stages=2, loss_fn=torch.nn.MSELoss())
engine, *_ = deepspeed.initialize(
    model=module, model_parameters=module.parameters(), config=config
)
norms = {}
original = engines.clip_grad_norm_


def clip_grad_norm_(parameters, *arguments, **options):
    found = list(parameters)
    norms["own"] = sum(p.grad.square().sum() for p in found)
    norms["used"] = float(original(parameters=found, *arguments, **options))
    return norms["used"]


engines.clip_grad_norm_ = clip_grad_norm_
data = [(torch.ones(2, 8), torch.zeros(2, 8))] * 2
engine.train_batch(iter(data))
first, whole = norms["own"].clone(), norms["own"].clone()
dist.broadcast(first, 0)
dist.all_reduce(whole)
first, whole = float(first.sqrt()), float(whole.sqrt())
if dist.get_rank() == 0:
    print(f"norm of all gradients {whole:.6f}, of rank 0's {first:.6f}, used {norms['used']:.6f}")
is_seen = abs(norms["used"] - first) < 1e-4 * whole < abs(whole - first)
dist.destroy_process_group()
sys.exit(0 if is_seen else 1)
