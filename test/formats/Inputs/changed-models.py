# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes keys of a sound configuration, which stays sound, and prints what
import makes of it.

    changed-models.py SOUND SCRATCH

A case is `name: sequence S, N parameters` and then its notes, a line each; the
place of the file is left out.
"""

import json
import pathlib
import subprocess
import sys

SOUND, SCRATCH = map(pathlib.Path, sys.argv[1:])
GONE = object()
SLIDES = {"use_sliding_window": True}
FULL, SLIDING = "full_attention", "sliding_attention"

# (name, file, changed keys, options)
CASES = [
    # Layers from max_window_layers on slide: of 3 layers none.
    ("all-full", "qwen2", SLIDES),
    ("more-full", "qwen2", {**SLIDES, "max_window_layers": 1 << 20}, "--sequence=4096"),
    ("class-default", "qwen3", {**SLIDES, "sliding_window": 512}, "--sequence=4096"),
    ("null-count", "qwen2", {**SLIDES, "max_window_layers": None}),
    ("list-of-full", "qwen2", {**SLIDES, "max_window_layers": 0, "layer_types": [FULL] * 3}),
    ("old-names", "qwen3", {**SLIDES, "sliding_window": 512, "layer_types": ["attention"] * 3}),
    ("null-list", "qwen3", {**SLIDES, "sliding_window": 512, "layer_types": None}),
    ("null-window", "qwen2", {**SLIDES, "max_window_layers": 0, "sliding_window": None}),
    ("unused", "qwen2", {"max_window_layers": 0}),
    ("28-layers", "qwen2", {**SLIDES, "max_window_layers": GONE, "num_hidden_layers": 28}),
    ("ministral-full", "mistral", {"layer_types": [FULL] * 3}, "--sequence=4096"),
    ("mistral-null", "mistral", {"sliding_window": None}, "--sequence=4096"),
    ("mistral-default", "mistral", {"sliding_window": GONE}),
    ("llama-from-qwen", "llama", {"sliding_window": 512, "use_sliding_window": False, "max_window_layers": 1}),
    # A window of at least the sequence masks nothing.
    ("wide", "qwen2", {**SLIDES, "max_window_layers": 0, "sliding_window": 4096}),
    ("fits", "qwen2", {**SLIDES, "max_window_layers": 1}, "--sequence=512"),
    ("list-fits", "qwen3", {**SLIDES, "sliding_window": 600, "layer_types": [SLIDING, FULL, SLIDING]}, "--sequence=600"),
    # The default sequence is the window of layers that slide.
    ("some-slide", "qwen2", {**SLIDES, "max_window_layers": 2}),
    ("default-slides", "qwen2", {**SLIDES, "max_window_layers": GONE, "num_hidden_layers": 29}),
    ("all-slide", "mistral", {}),
    ("llama-slides", "llama", {"sliding_window": 512}),
    # Keys that change nothing.
    ("none-unknown", "qwen2", {"quantization_config": None, "use_bfloat16": False, "is_decoder": False}),
    ("smollm2", "llama", {"is_llama_config": True, "rope_interleaved": False, "transformers.js_config": {"dtype": "q4"}}),
    ("unsloth", "llama", {"unsloth_fixed": True, "unsloth_version": "2025.3.1"}),
    ("rotary", "llama", {"partial_rotary_factor": 1.0}),
    ("key-heads", "mistral", {"num_key_value_heads": None, "sliding_window": None}),
    ("off", "gpt2", {"qkv_norm": False}),
    ("several-off", "llama", {"vision": None, "tie_word_embedding": False, "logit_scale": None}),
]


def main():
    SCRATCH.mkdir(parents=True, exist_ok=True)
    for name, base, changes, *options in CASES:
        config = json.loads((SOUND / f"{base}-small.json").read_text())
        # The dropout of gpt2-small.json has a note of its own.
        config.update({key: 0 for key in config if key.endswith("_pdrop")})
        config.update(changes)
        text = json.dumps({k: v for k, v in config.items() if v is not GONE}, indent=1)
        path = SCRATCH / f"{name}.json"
        path.write_text(text)
        command = ["rondo", "import", "model", str(path), "--json", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{name}: {done.stdout}{done.stderr}")
        report = json.loads(done.stdout)
        print(f"{name}: sequence {report['sequence']}, {report['parameters']} parameters")
        print(done.stderr.replace(f"rondo: note: {path}: ", "note: "), end="")


main()
