#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computes a Llama's held-out loss again, in fp64 and in the way of Hugging
Face's modeling_llama.py and modeling_qwen3.py, from the weights in a checkpoint.

    llama-reference.py CHECKPOINT LOG DATA SAMPLES CONFIG

CONFIG is JSON with the keys of config.json. Fails unless the log's last held-out
loss is equal to six digits.
"""

import json
import math
import struct
import sys


def read_tensors(path):
    """Matrices as lists of rows, vectors as lists."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    tensors = {}
    for name, tensor in header.items():
        if name == "__metadata__" or tensor["dtype"] != "F32":
            continue
        begin, end = tensor["data_offsets"]
        values = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
        if len(tensor["shape"]) == 2:
            columns = tensor["shape"][1]
            values = [
                values[i : i + columns] for i in range(0, len(values), columns)
            ]
        tensors[name] = values
    return tensors


def linear(x, weight, bias=None):
    y = [sum(a * b for a, b in zip(x, row)) for row in weight]
    return y if bias is None else [a + b for a, b in zip(y, bias)]


def rms_norm(x, weight):
    scale = (sum(a * a for a in x) / len(x) + config["rms_norm_eps"]) ** -0.5
    return [w * a * scale for w, a in zip(weight, x)]


def inverse_frequencies():
    """_compute_llama3_parameters"""
    width, scaling = config["head_dim"], config["rope_scaling"]
    plain = [config["rope_theta"] ** (-i / width) for i in range(0, width, 2)]
    if not scaling:
        return plain
    factor, original = scaling["factor"], scaling["original_max_position_embeddings"]
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    result = []
    for frequency in plain:
        wavelength = 2 * math.pi / frequency
        if wavelength > original / low:
            result.append(frequency / factor)
        elif wavelength < original / high:
            result.append(frequency)
        else:
            smooth = (original / wavelength - low) / (high - low)
            result.append((1 - smooth) * frequency / factor + smooth * frequency)
    return result


def apply_rotary(x, position, frequencies):
    half = len(x) // 2
    rotated = [-a for a in x[half:]] + list(x[:half])
    angles = [position * f for f in frequencies + frequencies]
    return [
        a * math.cos(angle) + b * math.sin(angle)
        for a, b, angle in zip(x, rotated, angles)
    ]


def heads_of(x):
    width = config["head_dim"]
    return [x[i : i + width] for i in range(0, len(x), width)]


def attention(prefix, inputs):
    frequencies = inverse_frequencies()
    parts = {"q": [], "k": [], "v": []}
    for position, x in enumerate(inputs):
        for part, tokens in parts.items():
            name = f"{prefix}.self_attn.{part}"
            heads = heads_of(
                linear(x, w[f"{name}_proj.weight"], w.get(f"{name}_proj.bias"))
            )
            if f"{name}_norm.weight" in w:
                heads = [rms_norm(head, w[f"{name}_norm.weight"]) for head in heads]
            if part != "v":
                heads = [apply_rotary(head, position, frequencies) for head in heads]
            tokens.append(heads)
    repeats = config["num_attention_heads"] // config["num_key_value_heads"]
    outputs = []
    for position in range(len(inputs)):
        output = []
        for head, q in enumerate(parts["q"][position]):
            shared = head // repeats
            keys = [token[shared] for token in parts["k"][: position + 1]]
            values = [token[shared] for token in parts["v"][: position + 1]]
            scores = [s / math.sqrt(len(q)) for s in linear(q, keys)]
            most = max(scores)
            weights = [math.exp(s - most) for s in scores]
            total = sum(weights)
            output += linear([a / total for a in weights], list(zip(*values)))
        outputs.append(linear(output, w[f"{prefix}.self_attn.o_proj.weight"]))
    return outputs


def mlp(prefix, x):
    gate = linear(x, w[f"{prefix}.mlp.gate_proj.weight"])
    up = linear(x, w[f"{prefix}.mlp.up_proj.weight"])
    product = [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up)]
    return linear(product, w[f"{prefix}.mlp.down_proj.weight"])


def loss_of(tokens):
    """The mean over a window's targets."""
    states = [w["model.embed_tokens.weight"][token] for token in tokens[:-1]]
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}"
        norm = w[f"{prefix}.input_layernorm.weight"]
        added = attention(prefix, [rms_norm(x, norm) for x in states])
        states = [[a + b for a, b in zip(*both)] for both in zip(states, added)]
        norm = w[f"{prefix}.post_attention_layernorm.weight"]
        added = [mlp(prefix, rms_norm(x, norm)) for x in states]
        states = [[a + b for a, b in zip(*both)] for both in zip(states, added)]
    vocabulary = w.get("lm_head.weight", w["model.embed_tokens.weight"])
    loss = 0
    for x, target in zip(states, tokens[1:]):
        logits = linear(rms_norm(x, w["model.norm.weight"]), vocabulary)
        most = max(logits)
        loss += most + math.log(sum(math.exp(y - most) for y in logits))
        loss -= logits[target]
    return loss / len(states)


checkpoint, log, data, samples, config = sys.argv[1:]
samples, config = int(samples), json.loads(config)
w = read_tensors(checkpoint)
losses = [
    event["held_out_loss"]
    for event in map(json.loads, open(log, encoding="utf-8"))
    if "held_out_loss" in event
]
text = open(data, "rb").read()
trained = len(text) - int(len(text) * config["held_out"])
length = config["sequence"] + 1
room = len(text) - trained - length
begins = [trained + room * k // (samples - 1) for k in range(samples)]
expected = sum(loss_of(text[begin : begin + length]) for begin in begins) / samples
print(f"held-out loss {losses[-1]}, expected {expected:.9g}")
sys.exit(abs(losses[-1] / expected - 1) > 1e-6)
