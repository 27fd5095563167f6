#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What fits with recomputation and with copies to the host, by the cost model.

    models.py RONDO [--time-limit-ms N] [--only TEXT]

Models of Llama 2's sizes on one stage a rank, 4 micro-batches a rank. Operations and bytes are those of
`rondo import model --target=cuda`. Assumed: 400 TFLOP/s, devices of 80 GB with 2 GiB of workspace, copies of 50 GB/s
each way (PCIe Gen 5), 240 GB of host memory a rank, messages of 100 GB/s. Variants: nothing; recomputation of every
stage from the inputs of its layers; copies of all activations; both, where the inputs of layers are copied. Searches
choose the order, and which micro-batches are copied. A row has the largest sequence with one sample, and the largest
micro-batch of 8192 tokens a sample, with their times per 1,000 tokens.
"""
import argparse
import json
import os
import subprocess
import tempfile

MODELS = {"7B": (4096, 11008, 32, 32, 32, 4), "13B": (5120, 13824, 40, 40, 40, 8), "70B": (8192, 28672, 64, 8, 80, 40)}
FLOPS_PER_US, LINK, HOST_LINK = 400_000_000, 100_000, 50_000
DEVICE, HOST = 80_000_000_000 - (2 << 30), 240_000_000_000


def layers_of(rondo, model, sequence, batch):
    hidden, inner, heads, kv_heads, layers, _ = MODELS[model]
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": hidden,
              "intermediate_size": inner, "num_attention_heads": heads, "num_hidden_layers": layers,
              "num_key_value_heads": kv_heads, "vocab_size": 32000, "max_position_embeddings": 1 << 20,
              "rms_norm_eps": 1e-5, "tie_word_embeddings": False, "hidden_act": "silu"}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "config.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        run = subprocess.run([rondo, "import", "model", path, "--sequence", str(sequence), "--batch", str(batch),
                              "--target=cuda", "--json"], capture_output=True, text=True, check=True)
    return [row for row in json.loads(run.stdout)["layers"] for _ in range(row["count"])]


def problem(layers, ranks, variant):
    """A problem; None if the state alone does not fit."""
    blocks = [row for row in layers if row["kind"] == "block"]
    each = len(blocks) // ranks
    parts = [blocks[r * each:(r + 1) * each] for r in range(ranks)]
    parts[0] = [row for row in layers if row["kind"] == "embedding"] + parts[0]
    parts[-1] = parts[-1] + [row for row in layers if row["kind"] == "head"]
    stages, caps = [], []
    for rank, part in enumerate(parts):
        def total(key, rows=part):
            return sum(row[key] for row in rows)
        cap = DEVICE - total("state_bytes")
        if cap <= 0:
            return None
        early, late = total("saved_for_input_grad_bytes"), total("saved_for_weight_grad_bytes")
        inputs = total("output_bytes")
        caps.append({"memory_bytes": cap, "host_memory_bytes": HOST,
                     "host_link": {"latency_ns": 10000, "bytes_per_us": HOST_LINK}})
        costs = {"F": {"ns": total("forward_flops") * 1000 // FLOPS_PER_US, "takes_bytes": early + late},
                 "I": {"ns": total("input_grad_flops") * 1000 // FLOPS_PER_US, "frees_bytes": early},
                 "W": {"ns": total("weight_grad_flops") * 1000 // FLOPS_PER_US, "frees_bytes": late}}
        copied = early + late
        if variant in ("recomputation", "both"):
            costs["R"] = {"ns": costs["F"]["ns"], "takes_bytes": early + late, "frees_bytes": inputs}
            costs["F"]["takes_bytes"] = copied = inputs
        if variant in ("copies", "both"):
            costs["SAVE"], costs["LOAD"] = {"frees_bytes": copied}, {"takes_bytes": copied}
        stages.append({"replicas": [{"rank": rank}], "costs": costs})
    message = blocks[0]["output_bytes"]
    return {"format": "rondo-problem/2", "name": variant, "microbatches": 4 * ranks, "ranks": caps, "stages": stages,
            "edges": [{"from": s, "to": s + 1, "bytes": message} for s in range(ranks - 1)],
            "link": {"latency_ns": 5000, "bytes_per_us": LINK}}


def search(rondo, given, limit):
    if given is None:
        return None
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.write(json.dumps(given) + "\n")
        file.flush()
        run = subprocess.run([rondo, "search", "--problems", file.name, "--output", "-", "--time-limit-ms", str(limit)],
                             capture_output=True, text=True, check=False)
    if not run.stdout:
        raise SystemExit(run.stderr)
    return json.loads(run.stdout.splitlines()[0]).get("makespan_ns")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rondo")
    parser.add_argument("--time-limit-ms", type=int, default=1000)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    print("| model | ranks | variant | largest sequence | ms per 1,000 tokens | largest micro-batch | "
          "ms per 1,000 tokens | at 8192 tokens, 1 sample |\n|---|---|---|---|---|---|---|---|")
    for model, shape in MODELS.items():
        if arguments.only and arguments.only not in model:
            continue
        ranks = shape[-1]
        for variant in ("nothing", "recomputation", "copies", "both"):
            def best(cases, time_of=lambda ns, tokens: ns / 1e6 / (tokens * 4 * ranks / 1000), variant=variant):
                found = ("none", "")
                for sequence, batch in cases:
                    layers = layers_of(arguments.rondo, model, sequence, batch)
                    ns = search(arguments.rondo, problem(layers, ranks, variant), arguments.time_limit_ms)
                    if ns is None:
                        break
                    found = (str(sequence if batch == 1 else batch), f"{time_of(ns, sequence * batch):.3f}")
                return found
            one = best([(8192, 1)])
            longest = best([(8192 << n, 1) for n in range(5)])
            largest = best([(8192, 1 << n) for n in range(1, 6)])
            print(f"| {model} | {ranks} | {variant} | {longest[0]} | {longest[1]} | {largest[0]} | {largest[1]} | "
                  f"{one[1]} |", flush=True)


if __name__ == "__main__":
    main()
