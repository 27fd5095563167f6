# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Breaks one thing in a sound configuration and prints what import says of it.

    broken-models.py SOUND SCRATCH

A line is `name: status message`; the place of the file is left out.
"""

import json
import pathlib
import re
import subprocess
import sys

SOUND, SCRATCH = map(pathlib.Path, sys.argv[1:])
GONE = object()
SLIDES = {"use_sliding_window": True}
LONG = {"max_position_embeddings": 8192}
FULL, SLIDING = "full_attention", "sliding_attention"
ROPE = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}

# (name, file, changed keys, options)
CASES = [
    ("no-type", "gpt2", {"model_type": GONE}),
    ("type", "gpt2", {"model_type": "opt"}),
    ("type-number", "gpt2", {"model_type": 2}),
    ("unknown", "gpt2", {"parallel_residual": True}),
    ("near", "gpt2", {"n_heads": 4}),
    ("unknowns", "gpt2", {"n_heads": 4, "off": None, "rotary_dim": 64, "parallel_residual": True}),
    ("several", "llama", {"hidden_act": "gelu", "quantization": {"bits": 4}, "mlp_bias": True}),
    ("quantized", "llama", {"quantization_config": {"quant_method": "awq", "bits": 4}}),
    ("per-layer", "qwen3", {"per_layer_config": {"0": {"intermediate_size": 128}}}),
    ("two-stacks", "llama", {"is_encoder_decoder": True}),
    ("part-rotary", "llama", {"partial_rotary_factor": 0.5}),
    ("part-rotary-inner", "qwen3", {"rope_parameters": {"rope_theta": 10000.0, "partial_rotary_factor": 0.25}}),
    ("theta-both", "qwen3", {"rope_theta": 10000.0}),
    ("other-type's", "gpt2", {"hidden_size": 144}),
    ("missing", "gpt2", {"n_head": GONE}),
    ("null", "gpt2", {"n_head": None}),
    ("text", "gpt2", {"n_embd": "144"}),
    ("float", "gpt2", {"n_embd": 144.0}),
    ("zero", "gpt2", {"n_layer": 0}),
    ("layers", "gpt2", {"n_layer": 20000}),
    ("width", "gpt2", {"n_embd": 1 << 40}),
    ("heads", "gpt2", {"n_head": 5}),
    ("flag", "gpt2", {"tie_word_embeddings": 1}),
    ("dropout", "gpt2", {"attn_pdrop": "none"}),
    ("activation", "gpt2", {"activation_function": "relu"}),
    ("epsilon", "gpt2", {"layer_norm_epsilon": 1e-6}),
    ("scale", "gpt2", {"scale_attn_weights": False}),
    ("inverse", "gpt2", {"scale_attn_by_inverse_layer_idx": True}),
    ("cross", "gpt2", {"add_cross_attention": True}),
    ("special", "gpt2", {"n_special": 2}),
    ("pruned", "gpt2", {"pruned_heads": {"0": [1]}}),
    ("sequence", "gpt2", {}, "--sequence=129"),
    ("absurd", "gpt2", {"n_positions": 1 << 30}, "--sequence=1073741824"),
    ("act", "llama", {"hidden_act": "gelu"}),
    ("attention-bias", "llama", {"attention_bias": True}),
    ("mlp-bias", "llama", {"mlp_bias": True}),
    ("interleaved", "llama", {"rope_interleaved": True}),
    ("mrope", "qwen2", {"use_mrope": True}),
    ("wide-heads", "llama", {"head_dim": 1 << 20, "num_attention_heads": 64}),
    ("key-heads", "llama", {"num_key_value_heads": 3}),
    ("odd-width", "llama", {"head_dim": 15}),
    ("theta", "llama", {"rope_theta": 0}),
    ("theta-text", "llama", {"rope_theta": "10000"}),
    ("scaling", "llama", {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}),
    ("scaling-text", "llama", {"rope_scaling": "llama3"}),
    ("scaling-type", "llama", {"rope_scaling": {"factor": 4.0}}),
    ("scaling-part", "llama", {"rope_scaling": ROPE}),
    ("scaling-extra", "llama", {"rope_scaling": {"type": "llama3", "factor": 2.0, "beta_fast": 32}}),
    ("scaling-both", "llama", {"rope_parameters": {"rope_theta": 10000.0}}),
    ("positions", "llama", {}, "--sequence=8193"),
    ("window", "mistral", {}, "--sequence=1025"),
    ("window-default", "mistral", {"sliding_window": GONE, "max_position_embeddings": 8192}, "--sequence=8192"),
    ("key-heads-missing", "mistral", {"num_key_value_heads": GONE}),
    ("window-used", "qwen2", {**SLIDES, "max_window_layers": 0}, "--sequence=1024"),
    ("window-last", "qwen2", {**SLIDES, "max_window_layers": 2}, "--sequence=513"),
    (
        "window-29",
        "qwen2",
        {**SLIDES, "sliding_window": GONE, "max_window_layers": GONE, "num_hidden_layers": 29, **LONG},
        "--sequence=4097",
    ),
    ("window-listed", "qwen2", {**SLIDES, "layer_types": [FULL, SLIDING, FULL]}, "--sequence=1024"),
    ("window-mistral", "mistral", {"use_sliding_window": False}, "--sequence=1025"),
    ("window-llama", "llama", {"sliding_window": 256}, "--sequence=1024"),
    ("window-below", "qwen2", {"max_window_layers": -1}),
    ("layer-types", "qwen3", {"layer_types": [FULL, SLIDING, FULL]}),
    ("layer-types-null", "mistral", {"sliding_window": None, "layer_types": [SLIDING] * 3}),
    ("layer-types-kind", "qwen3", {"layer_types": [FULL, FULL, "linear_attention"]}),
    ("layer-types-few", "qwen3", {"layer_types": [FULL, FULL]}),
    ("layer-types-none", "qwen2", {"layer_types": []}),
    ("head-dim", "qwen3", {"head_dim": GONE}),
    ("norm", "qwen3", {"rms_norm_eps": -1}),
]


def main():
    SCRATCH.mkdir(parents=True, exist_ok=True)
    for name, base, changes, *options in CASES:
        config = json.loads((SOUND / f"{base}-small.json").read_text())
        config.update(changes)
        text = json.dumps({k: v for k, v in config.items() if v is not GONE}, indent=1)
        path = SCRATCH / f"{name}.json"
        path.write_text(text)
        done = subprocess.run(
            ["rondo", "import", "model", str(path), *options], capture_output=True, text=True, check=False
        )
        errors = [line for line in done.stderr.splitlines() if "error:" in line]
        if len(errors) != 1 or done.stdout:
            sys.exit(f"{name}: not one error alone:\n{done.stdout}{done.stderr}")
        message = errors[0].removeprefix(f"rondo: error: {path}: ")
        message = re.sub(rf"^{re.escape(str(path))}:(\d+):(\d+): error: ", r"line \1, column \2: ", message)
        print(f"{name}: {done.returncode} {message}")


main()
