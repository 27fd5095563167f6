# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One process of a run with DeepSpeed: deepspeed_train.py FOLDER."""

import pathlib
import sys
import warnings

import deepspeed
import torch
from deepspeed.pipe import PipelineModule, TiedLayerSpec
from torch import nn

import report
import sleeping
import rondo.deepspeed

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "torch"))
import model  # noqa: E402

FOLDER, STEPS, SAMPLES = pathlib.Path(sys.argv[1]), 3, 2
WIDTH, HEADS, LAYERS = 32, 4, 6
SLEEPERS = 4


class Masked(nn.Module):
    """A block that also gets a mask of truth values and passes it on."""

    def __init__(self):
        super().__init__()
        self.block = model.Block(WIDTH, HEADS)

    def forward(self, values):
        x, mask = values
        return self.block(x) * mask.unsqueeze(-1), mask


class MaskedEmbedding(model.Embedding):
    def forward(self, values):
        ids, mask = values
        return super().forward(ids), mask


class MaskedHead(model.Head):
    def forward(self, values):
        return super().forward(values[0])


class Ragged(nn.Module):
    """Makes each micro-batch shorter than the one before it."""

    calls = 0

    def forward(self, x):
        Ragged.calls += 1
        return x[:, : x.shape[1] - Ragged.calls]


def logits(embedding, x):
    return x @ embedding.weight.t()


def layers_of(kind):
    torch.manual_seed(1)
    if kind == "tuple":
        parts = [MaskedEmbedding(WIDTH), *(Masked() for _ in range(LAYERS)), MaskedHead(WIDTH)]
        return parts
    if kind == "sleeping":
        return [sleeping.Layer() for _ in range(SLEEPERS)]
    blocks = [model.Block(WIDTH, HEADS) for _ in range(LAYERS)]
    if kind == "tied":
        # One seed for both copies: DeepSpeed sends that of the first rank to the others.
        tied = [TiedLayerSpec("words", nn.Embedding, model.VOCABULARY, WIDTH)]
        tied.append(TiedLayerSpec("words", nn.Embedding, model.VOCABULARY, WIDTH,
                                  forward_fn=logits))  # fmt: skip
        return [tied[0], *blocks, tied[1]]
    if kind == "dropout":
        blocks = [nn.Sequential(block, nn.Dropout(0.1)) for block in blocks]
    if kind == "shapes":
        blocks = [nn.Sequential(block, Ragged()) for block in blocks]
    parts = [model.Embedding(WIDTH), *blocks, model.Head(WIDTH)]
    if kind == "frozen":
        for part in (parts[0], parts[1], parts[4].up, parts[5]):
            part.requires_grad_(False)
    return parts


def data(kind):
    """An endless iterator of micro-batches of this replica."""
    generator = torch.Generator().manual_seed(7 + torch.distributed.get_rank() % data.replicas)
    while True:
        shape = (SAMPLES, model.LENGTH + 1)
        ids = torch.randint(model.VOCABULARY, shape, generator=generator)
        x, y = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
        if kind == "sleeping":
            x = y = torch.ones(SAMPLES, 64)
        if kind == "tuple":
            x = x, torch.rand(x.shape, generator=generator) > 0.2
        yield x, y


def loss_fn(output, target):
    if output.dim() == 2:
        return (output - target).square().mean()
    return nn.functional.cross_entropy(output.flatten(0, 1).float(), target.flatten())


OPTIMIZERS = {
    "AdamW": {"type": "AdamW", "params": {"lr": 1e-2, "torch_adam": True}},
    "SGD": {"type": "SGD", "params": {"lr": 1e-3}},
}


def config_of(case):
    gas = case.get("gas", case["microbatches"])
    return {
        "train_micro_batch_size_per_gpu": SAMPLES,
        "gradient_accumulation_steps": gas,
        "steps_per_print": 1000,
        "gradient_clipping": 0.0,
        "optimizer": OPTIMIZERS[case.get("optimizer", "AdamW")],
        "pipeline": case.get("pipeline", {}),
        **case.get("config", {}),
    }


def engine_of(case, table, placement=None):
    kind = case.get("model", "plain")
    options = {"loss_fn": loss_fn, "partition_method": "uniform"}
    if kind == "dropout":
        options |= {"seed_layers": True}
    if "pipeline" in case:
        # Reentrant ones need inputs that require gradients.
        options |= {"checkpointable_layers": ["Block"]}
    if table is None:
        # DeepSpeed's own 1F1B.
        module = PipelineModule(layers_of(kind), num_stages=2, **options)
        start = deepspeed.initialize
    else:
        for key in ("split", "bounds", "num_stages"):
            if key in case:
                options[key] = case[key]
        problem = rondo.Problem.read(case["problem"]) if "problem" in case else None
        module = rondo.deepspeed.PipelineModule(
            layers_of(kind), table, problem=problem, **options
        )
        start = rondo.deepspeed.initialize
    parameters = [p for p in module.parameters() if p.requires_grad]
    return start(model=module, model_parameters=parameters, config=config_of(case))[0]


def train(engine, case):
    stream = data(case.get("model"))
    losses = [engine.train_batch(data_iter=stream).item() for _ in range(STEPS)]
    for number in case.get("evaluate", []):
        found = engine.eval_batch(data(case.get("model")), num_micro_batches=number)
        losses.append(found.item())
    if case.get("evaluate"):
        # It must leave training as it was.
        losses.append(engine.train_batch(data_iter=stream).item())
    return losses


def predict(case):
    """Profiles stages that sleep, and compares the prediction with the run."""
    plain = rondo.run.Table.plain(case["profiled"], case["microbatches"])
    engine = engine_of(case, plain)
    found = rondo.deepspeed.profile(engine, data("sleeping"))
    engine.use(found.schedule)
    stream = data("sleeping")
    return sleeping.report_of(found, lambda: engine.train_batch(data_iter=stream))


def run(case):
    data.replicas = torch.distributed.get_world_size() // 2
    if case.get("model") == "sleeping":
        return predict(case)
    key = repr([case.get(k) for k in ("model", "config", "pipeline", "optimizer", "evaluate")])
    if "refused" not in case and key not in run.references:
        engine = engine_of(case, None)
        losses = train(engine, case)
        run.references[key] = losses, report.gathered(engine.module.named_parameters())
    with warnings.catch_warnings():
        if "warned" in case:
            warnings.filterwarnings("error", message=f".*{case['warned']}")
        engine = engine_of(case, case["table"])
    if case.get("profile"):
        # It must leave the engine as it was.
        found = rondo.deepspeed.profile(engine, data(case.get("model")), repeats=1)
        engine.use(found.schedule)
    losses = train(engine, case)
    expected, parameters = run.references[key]
    found = report.gathered(engine.module.named_parameters())
    difference = report.compare(found, parameters)
    note = ""
    if "files" in case:
        engine.save_checkpoint(str(FOLDER), tag="files")
        again = engine_of(case, None)
        again.load_checkpoint(str(FOLDER), tag="files", load_module_only=True)
        mine = report.gathered(again.module.named_parameters())
        difference = max(difference, report.compare(mine, parameters))
        table = rondo.run.Table.forwards(case["files"], case["microbatches"])
        other = engine_of(case, table)
        other.load_checkpoint(str(FOLDER), tag="files", load_module_only=True)
        mine = report.gathered(other.module.named_parameters())
        difference = max(difference, report.compare(mine, parameters))
        note = "loaded by both"
    return {
        "difference": difference,
        "tensors": len(dict(engine.module.named_parameters())),
        "losses": max(abs(a - b) for a, b in zip(losses, expected, strict=True)),
        "note": note,
    }


run.references = {}
RANK = report.start(FOLDER)
deepspeed.init_distributed(dist_backend="gloo", dist_init_required=False)
report.run_cases(FOLDER, RANK, run)
