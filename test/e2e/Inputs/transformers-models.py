# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares programs that begin with checkpoints of Hugging Face's transformers
with these models in PyTorch: logits, the loss and all gradients.

    transformers-models.py RUNTIME FOLDER NAME...

RUNTIME is the folder of rondo. FOLDER is new; it gets checkpoints with random
weights, which are large enough that every layer matters. Fails unless logits
differ by at most 1e-4, in numbers of fp32 with magnitudes of about 1.
"""

import json
import os
import struct
import subprocess
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"

import torch
import transformers
from safetensors.torch import load_file, save_model

SEQUENCE, VOCAB, LIMIT = 24, 97, 1e-4

LLAMA = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "intermediate_size": 44,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
GPT2 = {
    "vocab_size": VOCAB,
    "n_positions": 64,
    "n_embd": 32,
    "n_layer": 3,
    "n_head": 4,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "resid_pdrop": 0,
    "embd_pdrop": 0,
    "attn_pdrop": 0,
}
# The original positions are within the sequence, so that scaling matters.
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 1000.0,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8,
}
SLIDES = {"use_sliding_window": True}
# Key: name. Values: the classes' prefix, the configuration, and the format in
# which it is saved.
MODELS = {
    "gpt2": ("GPT2", GPT2, {}),
    "gpt2-base": ("GPT2", GPT2, {"base": True}),
    "llama": ("Llama", {**LLAMA, "rope_parameters": LLAMA3}, {}),
    "llama-shards": (
        "Llama",
        {**LLAMA, "tie_word_embeddings": True},
        {"max_shard_size": "20KB"},
    ),
    "llama-bf16": ("Llama", LLAMA, {"dtype": torch.bfloat16}),
    "mistral": ("Mistral", {**LLAMA, "sliding_window": None}, {}),
    "qwen2": ("Qwen2", LLAMA, {"dtype": torch.float16}),
    "qwen3": ("Qwen3", {**LLAMA, "head_dim": 12}, {}),
    # Only lm_head.weight has the tied weights.
    "gpt2-head": ("GPT2", GPT2, {"head": True}),
    "qwen2-head": ("Qwen2", {**LLAMA, "tie_word_embeddings": True}, {"head": True}),
    # No layer slides; windows of all of a sequence mask nothing.
    "qwen2-full": ("Qwen2", {**LLAMA, **SLIDES, "sliding_window": 8, "max_window_layers": 3}, {}),
    "qwen3-wide": (
        "Qwen3",
        {**LLAMA, **SLIDES, "sliding_window": SEQUENCE, "max_window_layers": 1},
        {},
    ),
}


def make(name, folder):
    """Writes a checkpoint; returns the model in fp32."""
    prefix, config, how = MODELS[name]
    model_class = getattr(
        transformers, prefix + ("LMHeadModel" if prefix == "GPT2" else "ForCausalLM")
    )
    torch.manual_seed(list(MODELS).index(name))
    model = model_class(getattr(transformers, prefix + "Config")(**config))
    with torch.no_grad():
        for parameter in model.parameters():
            # Matrices keep the size of their inputs; vectors are not just 0 or 1.
            deviation = 32**-0.5 if parameter.dim() > 1 else 0.3
            parameter.add_(torch.randn_like(parameter) * deviation)
    model = model.to(how.get("dtype", torch.float32))
    saved = model.transformer if how.get("base") else model
    saved.save_pretrained(folder, max_shard_size=how.get("max_shard_size", "5GB"))
    # Read again: buffers that are not saved would keep the rounding.
    again = model_class.from_pretrained(folder, dtype=torch.float32).eval()
    if how.get("head"):
        save_model(model, f"{folder}/model.safetensors")
        assert "lm_head.weight" in load_file(f"{folder}/model.safetensors")
    return again


def run(*words):
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{' '.join(words)}: {result.stdout}{result.stderr}")
    return result.stdout


PLANS = """
pipe.cluster @machine { pipe.device @rank0  pipe.device @rank1 }
pipe.plan @step of @model on @machine microbatches(2) {
  pipe.stage @front [%s] on 0
  pipe.stage @back [%s] on 1
}
pipe.schedule @order of @step family<"1f1b">
"""


def compile_model(folder):
    model = f"{folder}/model.mlir"
    run(
        *[f"{rondo}/rondo", "import", "model", f"{folder}/config.json"],
        *["--sequence", str(SEQUENCE), "--batch", "2", "--name", "model", "-o", model],
    )
    with open(model, "r+", encoding="utf-8") as file:
        layers = [line.split()[1] for line in file if "pipe.layer" in line]
        file.write(PLANS % (", ".join(layers[:2]), ", ".join(layers[2:])))
    run(f"{rondo}/rondo", "compile", model, "-o", f"{folder}/train")


def difference(ours, theirs):
    return (ours - theirs).abs().max().item()


def compare(name, folder):
    model = make(name, folder)
    compile_model(folder)
    program = f"{folder}/train"
    tokens = torch.randint(0, VOCAB, (SEQUENCE + 1,))
    window = tokens[:-1].unsqueeze(0)

    logits = model(window).logits[0]
    ids = ",".join(str(token.item()) for token in window[0])
    out = f"{folder}/logits.safetensors"
    greedy = run(
        *[program, "--init", folder, "--generate-tokens", ids, "--logits", out],
        *["--tokens", "1", "--temperature", "0", "--quiet"],
    )
    ours = load_file(out)["logits"]
    assert ours.shape == logits.shape, ours.shape
    worst = difference(ours, logits)
    assert int(greedy.split(",")[-1]) == logits[-1].argmax().item(), greedy

    # All samples of one iteration are the only window that the data have. The
    # first moments are then a tenth of the gradient.
    data, saved, log = (f"{folder}/{end}" for end in ("tokens.bin", "saved", "log"))
    with open(data, "wb") as file:
        file.write(struct.pack("<256i", 20240520, 1, len(tokens), *[0] * 253))
        file.write(struct.pack(f"<{len(tokens)}H", *tokens.tolist()))
    run(
        *[program, "--init", folder, "--data", data, "--held-out", "0", "--clip", "0"],
        *["--iterations", "1", "--save", saved, "--json-log", log, "--quiet"],
    )
    loss = torch.nn.functional.cross_entropy(logits, tokens[1:])
    loss.backward()
    with open(log, encoding="utf-8") as file:
        loss_difference = abs(json.loads(file.readline())["loss"] - loss.item())
    moments = load_file(saved)
    gradients = {p: g.grad for p, g in model.named_parameters()}
    worst_gradient, largest = 0, 0
    for parameter, gradient in gradients.items():
        own = parameter.removeprefix("transformer.").replace("h.", "h", 1)
        own = own if parameter.startswith("transformer.h.") else parameter
        own = own.removeprefix("transformer.")
        moment = moments[f"optimizer.m.{own}"] * 10
        # Rondo's sequence is shorter than GPT-2's positions.
        gradient = gradient[: moment.shape[0]]
        worst_gradient = max(worst_gradient, difference(moment, gradient))
        largest = max(largest, gradient.abs().max().item())
    print(
        f"{name}: logits up to {logits.abs().max().item():.3g} differ by {worst:.2g}, "
        f"loss {loss.item():.4f} by {loss_difference:.2g}, {len(gradients)} "
        f"gradients up to {largest:.3g} by {worst_gradient:.2g}"
    )
    return worst <= LIMIT and loss_difference <= LIMIT and worst_gradient <= LIMIT


rondo, root, *names = sys.argv[1:]
fine = [compare(name, os.path.join(root, name)) for name in names or MODELS]
sys.exit(not all(fine))
