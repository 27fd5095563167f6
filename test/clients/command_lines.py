# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""command_lines.py CLIENT PRINTER: command lines of plans in the client's own parser.

PRINTER, `rondo-launch-cases`, prints runs with the flags that Rondo writes for them,
and why it refuses them, if it does. The client parses and validates the flags. What it
reads must be the run, and it must refuse what Rondo refuses. Rondo must take none of the
client's flags for a mistyped one. Megatron also reads the flags of plans with replicas
and sharded state. Prints a JSON list of [passed, text].
"""

import contextlib
import io
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import types
import typing


class Megatron:
    """arguments.py and the dataclasses that it fills, for one rank of many."""

    def __init__(self):
        # A name of Python 3.12.
        if not hasattr(typing, "override"):
            typing.override = lambda function: function
        import torch

        torch.cuda.get_device_capability = lambda *arguments: (9, 0)
        torch.cuda.get_device_properties = lambda *arguments: types.SimpleNamespace(
            major=9, minor=0
        )
        from megatron.core.transformer import transformer_block, transformer_config
        from megatron.training import argument_utils, arguments

        # Transformer Engine is not installed.
        from megatron.core.models.common.embeddings import rope_utils

        rope_utils.fused_apply_rotary_pos_emb = rope_utils.apply_rotary_pos_emb
        for module in (arguments, transformer_config):
            module.is_te_min_version = lambda *ignored, **options: True
        self.arguments, self.utils = arguments, argument_utils
        self.layers_of = transformer_block.get_num_layers_to_build

    def names(self):
        """All flags of its parser."""
        import argparse

        parser = self.arguments.add_megatron_arguments(argparse.ArgumentParser())
        return [name for action in parser._actions for name in action.option_strings]

    def read(self, case):
        sys.argv = ["pretrain_gpt.py", *case["arguments"]]
        os.environ.update(RANK="0", WORLD_SIZE=str(case["devices"]))
        os.environ.pop("CUDA_DEVICE_MAX_CONNECTIONS", None)
        os.environ.update(case["environment"])
        args = self.arguments.validate_args(self.arguments.parse_args())
        config = self.utils.core_transformer_config_from_args(args)
        return {**self.degrees(args, config), "model": self.model(args, config)}

    def degrees(self, args, config):
        chunks = config.virtual_pipeline_model_parallel_size or 1
        zero = int(args.use_distributed_optimizer)
        if args.use_megatron_fsdp:
            strategies = ["no_shard", "optim", "optim_grads", "optim_grads_params"]
            zero = strategies.index(args.data_parallel_sharding_strategy)
        if args.use_torch_fsdp2:
            zero = 3 if args.torch_fsdp2_reshard_after_forward else 2
        return {
            "tensor": config.tensor_model_parallel_size,
            "context": config.context_parallel_size,
            "expert": config.expert_model_parallel_size,
            "pipeline": config.pipeline_model_parallel_size,
            "chunks": chunks,
            "data": args.data_parallel_size,
            "microbatch": args.micro_batch_size,
            "global_batch": args.global_batch_size,
            "zero": zero,
            "stages": self.stages(config, chunks),
            "sequence_parallel": config.sequence_parallel,
            "precision": self.precision(args),
            "overlaps_tensor": config.tp_comm_overlap,
            "overlaps_experts": config.overlap_moe_expert_parallel_comm,
            "offloaded_layers": config.cpu_offloading_num_layers,
            "expert_tensor": config.expert_tensor_parallel_size if args.num_experts else 1,
            **self.recompute(config, chunks),
        }

    @staticmethod
    def precision(args):
        if args.fp4:
            return "nvfp4"
        if args.fp8:
            return {"tensorwise": "fp8", "blockwise": "fp8blocks", "mxfp8": "mxfp8"}[args.fp8_recipe]
        return "fp16" if args.fp16 else "bf16"

    @staticmethod
    def recompute(config, chunks):
        stages, modules = config.pipeline_model_parallel_size * chunks, config.recompute_modules
        kind, layers = "none", 0
        if config.recompute_granularity == "selective":
            kind = "selective" if modules == ["core_attn"] else "norms"
        elif config.recompute_granularity == "full":
            kind = "full"
            if config.recompute_method == "block":
                kind, layers = "layers", config.recompute_num_layers * stages
        return {"recompute": kind, "recomputed_layers": layers}

    def stages(self, config, chunks):
        ranks = config.pipeline_model_parallel_size
        if (layout := config.pipeline_model_parallel_layout) is not None:
            names = [
                [layer.name for layer in layout.layout[rank][chunk]]
                for chunk in range(chunks)
                for rank in range(ranks)
            ]
            return [stage.count("decoder") for stage in names]
        return [
            self.layers_of(config, vp_stage=chunk, pp_rank=rank)
            for chunk in range(chunks)
            for rank in range(ranks)
        ]

    def model(self, args, config):
        pattern = args.moe_layer_freq
        dense = pattern.count(0) if isinstance(pattern, list) else 0
        is_latent = args.multi_latent_attention
        windows = 0
        if config.window_size:
            freq = config.window_attn_skip_freq
            if isinstance(freq, list):
                windows = freq.count(1)
            else:
                windows = args.num_layers - (args.num_layers // freq if freq else 0)
        experts = args.num_experts or 0
        shared = args.moe_shared_expert_intermediate_size or 0
        return {
            "layers": args.num_layers,
            "hidden": args.hidden_size,
            "heads": args.num_attention_heads,
            "key_heads": config.num_query_groups,
            "query_width": (
                config.qk_head_dim + config.qk_pos_emb_head_dim
                if is_latent
                else config.kv_channels
            ),
            "value_width": config.v_head_dim if is_latent else config.kv_channels,
            "ffn": args.ffn_hidden_size,
            "vocab": args.vocab_size,
            "sequence": args.seq_length,
            "tied": not args.untie_embeddings_and_output_weights,
            "predictions": args.mtp_num_layers or 0,
            "window_layers": windows,
            "dense_layers": dense if experts else args.num_layers,
            "experts": experts,
            "experts_per_token": args.moe_router_topk if experts else 1,
            "expert_ffn": args.moe_ffn_hidden_size if experts else 0,
            "shared_experts": shared // args.moe_ffn_hidden_size if shared else 0,
        }


class Parsed(Exception):
    """The trainer has validated everything and begins to build."""


class Torchtitan:
    """Its ConfigManager, and its Trainer up to the first parallel layer."""

    MODULES = ("llama3", "qwen3", "deepseek_v3")

    def __init__(self):
        import torchtitan_cpu

        torchtitan_cpu.prepare()
        import importlib

        import torchtitan.trainer as trainer
        from torchtitan.components.metrics import MetricsProcessor
        from torchtitan.config import ConfigManager
        from torchtitan.distributed import ParallelDims, pipeline_parallel

        self.manager, self.trainer, self.pipeline = ConfigManager, trainer, pipeline_parallel
        self.metrics = MetricsProcessor
        self.registries = {
            name: importlib.import_module(f"torchtitan.models.{name}.config_registry")
            for name in self.MODULES
        }
        for registry in self.registries.values():
            self.drop_converters(registry)
        trainer.Trainer.init_distributed = lambda job: ParallelDims.from_config(
            job.config.parallelism, int(os.environ["WORLD_SIZE"])
        )
        trainer.dist_utils.set_determinism = lambda *arguments, **options: None
        ParallelDims.get_mesh = lambda dims, name: types.SimpleNamespace(
            size=lambda: dims.dp_replicate * dims.dp_shard, get_local_rank=lambda: 0
        )

    @staticmethod
    def drop_converters(registry):
        """Those of narrow types need torchao, which is not installed."""
        make = registry.model_registry

        def without(flavor, **options):
            options.pop("converters", None)
            return make(flavor, **options)

        registry.model_registry = without
        for name in vars(registry).copy():
            if name.endswith("Converter"):
                nothing = types.SimpleNamespace(Config=lambda **options: None)
                setattr(registry, name, nothing)

    def names(self):
        """All keys of the sections that Rondo reads."""
        import dataclasses

        from torchtitan.config import CompileConfig, ParallelismConfig, TrainingConfig

        sections = {
            "training": TrainingConfig,
            "parallelism": ParallelismConfig,
            "compile": CompileConfig,
        }
        return [
            f"--{section}.{field.name}"
            for section, kind in sections.items()
            for field in dataclasses.fields(kind)
        ]

    def read(self, case):
        os.environ.update(LOCAL_RANK="0", WORLD_SIZE=str(case["devices"]))
        config = self.manager().parse_args(case["arguments"])
        seen = {}

        def begin(*arguments, **options):
            if options.get("parallel_dims").pp_enabled:
                seen["stages"] = self.stages(config, options["parallel_dims"])
            raise Parsed

        import dataclasses

        config.metrics = self.metrics.Config()
        config.model_spec = dataclasses.replace(
            config.model_spec, pipelining_fn=begin, parallelize_fn=begin
        )
        with contextlib.suppress(Parsed):
            self.trainer.Trainer(config)
            raise RuntimeError("the trainer built no layer")
        return self.run(config, seen)

    def stages(self, config, dims):
        parallelism, model = config.parallelism, config.model_spec.model
        counts = self.pipeline._get_pipeline_metadata(dims, parallelism, model)
        modules = parallelism.module_fqns_per_model_part
        if modules is None:
            modules = self.pipeline._generate_llm_fqn_per_model_part(*counts)
        for rank in range(dims.pp):
            self.pipeline._get_pp_rank_to_stage_indices_mapping(
                rank, dims.pp, parallelism.pipeline_parallel_schedule, len(modules)
            )
        return [sum(name.startswith("layers.") for name in stage) for stage in modules]

    def run(self, config, seen):
        parallelism, training = config.parallelism, config.training
        shard, has_pipeline = parallelism.data_parallel_shard_degree, "stages" in seen
        replicas = shard * parallelism.data_parallel_replicate_degree
        local = training.local_batch_size
        zero = 0
        if shard * parallelism.context_parallel_degree > 1:
            zero = {"always": 3, "never": 2}[parallelism.fsdp_reshard_after_forward]
        model = self.model(config.model_spec.model)
        model["sequence"] = training.seq_len
        stages = seen.get("stages", [model["layers"]])
        return {
            "tensor": parallelism.tensor_parallel_degree,
            "context": parallelism.context_parallel_degree,
            "expert": parallelism.expert_parallel_degree,
            "pipeline": parallelism.pipeline_parallel_degree,
            "chunks": len(stages) // parallelism.pipeline_parallel_degree,
            "data": replicas,
            "microbatch": (
                parallelism.pipeline_parallel_microbatch_size if has_pipeline else local
            ),
            "global_batch": training.global_batch_size,
            "zero": zero,
            "stages": stages,
            "sequence_parallel": (
                parallelism.enable_sequence_parallel and parallelism.tensor_parallel_degree > 1
            ),
            "recompute": self.recompute(config),
            "overlaps_tensor": config.compile.enable_async_tensor_parallel,
            "model": model,
        }

    @staticmethod
    def recompute(config):
        kinds = {"SelectiveAC.Config": "operation", "FullAC.Config": "full", "NoneType": "none"}
        return kinds[type(config.activation_checkpoint).__qualname__]

    @staticmethod
    def model(config):
        last = config.layers[-1]
        attention, moe = last.attention, getattr(last, "moe", None)
        dense = [layer for layer in config.layers if getattr(layer, "moe", None) is None]
        heads = attention.n_heads
        is_latent = hasattr(attention, "kv_lora_rank")
        if is_latent:
            width = attention.qk_nope_head_dim + attention.qk_rope_head_dim
        else:
            width = getattr(attention, "head_dim", None) or config.dim // heads
        ffn = moe.routed_experts.inner_experts.hidden_dim if moe else 0
        shared = getattr(moe, "shared_experts", None)
        return {
            "layers": len(config.layers),
            "hidden": config.dim,
            "heads": heads,
            "key_heads": getattr(attention, "n_kv_heads", None) or heads,
            "query_width": width,
            "value_width": attention.v_head_dim if is_latent else width,
            "ffn": dense[0].feed_forward.w1.out_features if dense else 0,
            "vocab": config.vocab_size,
            "tied": config.enable_weight_tying,
            "predictions": 0,
            "window_layers": 0,
            "dense_layers": len(dense),
            "experts": moe.num_experts if moe else 0,
            "experts_per_token": moe.router.top_k if moe else 1,
            "expert_ffn": ffn,
            "shared_experts": shared.w1.out_features // ffn if shared else 0,
        }

    def configuration(self, row):
        """What a row of Rondo's table of configurations is in torchtitan."""
        registry = self.registries[row["module"]]
        config = getattr(registry, row["config"])()
        model = self.model(config.model_spec.model)
        model["sequence"] = config.training.seq_len
        return {
            "model": model,
            "local_batch": config.training.local_batch_size,
            "tensor": config.parallelism.tensor_parallel_degree,
            "expert": config.parallelism.expert_parallel_degree,
            "interleaved": config.parallelism.pipeline_parallel_schedule != "1F1B",
            "recompute": self.recompute(config),
            "compiled": config.compile.enable,
            "overlaps_tensor": config.compile.enable_async_tensor_parallel,
            "disables_graphs": config.training.disable_cuda_graphs,
            "max_sequence": config.model_spec.model.max_seq_len,
        }


def differences(expected, found):
    """`key: expected, found` of what is not equal."""
    lines = []
    for key, value in found.items():
        if isinstance(value, dict):
            lines += differences(expected[key], value)
        # Models whose layers all have experts have no such width.
        elif key == "ffn" and expected[key] == 0:
            continue
        elif expected[key] != value:
            lines.append(f"{key}: {expected[key]}, {value}")
    return lines


def outcome(client, case):
    """[passed, text] of one run."""
    said, found, errors = "", None, io.StringIO()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            found = client.read(case)
    except SystemExit:
        # A parser prints what it refuses.
        said = " ".join(errors.getvalue().split()[-30:])
    except Exception as error:
        said = f"{type(error).__name__}: {' '.join(str(error).split()) or 'no text'}"
    if case["fault"]:
        is_refused = found is None and case["theirs"] in said
        return [is_refused, f"{case['name']}: {case['fault']}: {said or 'not refused'}"]
    if found is None:
        return [False, f"{case['name']}: {said}"]
    wrong = differences(case, found)
    return [not wrong, f"{case['name']}: {'; '.join(wrong) or 'the same run'}"]


# What `rondo export megatron` does not write, since a plan does not have it.
MODEL = (
    "--num-layers 4 --hidden-size 144 --num-attention-heads 4 --seq-length 128 --max-position-embeddings 128 "
    "--lr 1e-3 --bf16 --train-iters 2 --tokenizer-type NullTokenizer --vocab-size 256"
)
# Edits of examples/gpt-sharded.mlir, and what Megatron reads on its four processes.
SHARDED = "sharded<weights>"
PLANS = [
    ("", {"zero": 0, "microbatch": 2}),
    ("round_robin", {"zero": 0, "microbatch": 4}),
    ("sharded<optimizer>", {"zero": 1, "microbatch": 2}),
    ("sharded<gradients>", {"zero": 2, "microbatch": 2}),
    (SHARDED, {"zero": 3, "microbatch": 2}),
    (f"{SHARDED} recompute", {"zero": 3, "recompute": "full"}),
]


def exported_plans(client):
    """[passed, text] of each plan with several ranks a stage."""
    source = pathlib.Path(__file__).parents[2] / "examples" / "gpt-sharded.mlir"
    outcomes = []
    for words, expected in PLANS:
        with tempfile.TemporaryDirectory() as folder:
            plan, flags = pathlib.Path(folder, "plan.mlir"), pathlib.Path(folder, "flags")
            plan.write_text(source.read_text(encoding="utf-8").replace(SHARDED, words), encoding="utf-8")
            command = [os.environ["RONDO"], "export", "megatron", plan, "--schedule", "one_f_one_b", "-o", flags]
            subprocess.run(command, check=True, capture_output=True)
            arguments = [*shlex.split(MODEL), *shlex.split(flags.read_text(encoding="utf-8"))]
        environment = {} if "--use-megatron-fsdp" in arguments else {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}
        with contextlib.redirect_stdout(io.StringIO()):
            found = client.read({"arguments": arguments, "devices": 4, "environment": environment})
        expected = {**expected, "data": 2, "pipeline": 2, "chunks": 2, "global_batch": 32}
        wrong = [f"{key}: {value}, {found[key]}" for key, value in expected.items() if found[key] != value]
        outcomes.append([not wrong, f"stages on two ranks, {words or 'whole'}: {'; '.join(wrong) or 'the same'}"])
    return outcomes


def main():
    name, printer = sys.argv[1:]
    options = {"stdout": subprocess.PIPE, "text": True, "check": True}
    cases = json.loads(subprocess.run([printer], **options).stdout)
    client = {"megatron": Megatron, "torchtitan": Torchtitan}[name]()
    outcomes = [outcome(client, case) for case in cases[name]]
    names = client.names()
    mistyped = subprocess.run([printer, name], input="\n".join(names), **options).stdout
    text = " ".join(mistyped.splitlines()) or f"{len(names)} flags, none taken for another"
    outcomes.append([not mistyped, text])
    if name == "megatron":
        outcomes += exported_plans(client)
    if name == "torchtitan":
        for row in cases["torchtitan_models"]:
            wrong = differences(row, client.configuration(row))
            text = f"{row['config']}: {'; '.join(wrong) or 'the same configuration'}"
            outcomes.append([not wrong, text])
    print(json.dumps(outcomes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
