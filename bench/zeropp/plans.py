# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of GPTs whose state is sharded over the ranks of a server, with a pipeline across servers, and what Rondo says of them."""

import dataclasses
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from commands import command  # noqa: E402

GROUP = 8  # ranks of a server, which share the state of their stages
INSIDE, INSIDE_LATENCY = 400000, 3000  # bytes/us and ns between ranks of a server
ACROSS_LATENCY = 10000  # ns between servers
RATE = 400e12  # FLOP/s that a task achieves, of the 989e12 of an H100's data sheet
SAMPLES = 1  # of a rank in a micro-batch


@dataclasses.dataclass
class Model:
    """Layers of 12 h^2 parameters. Embedding and head are left out, so that stages are equal."""

    name: str
    hidden: int
    layers: int
    sequence: int
    stages: int  # ranks of the pipeline
    chunks: int  # of a rank, where its stage is cut

    def parameters(self):
        return 12 * self.hidden**2

    def pass_ns(self):
        """F, I and W of a layer each: two FLOPs a parameter and token, and those of attention, scores and values, not causal."""
        tokens = SAMPLES * self.sequence
        flops = 2 * self.parameters() * tokens + 4 * tokens * self.sequence * self.hidden
        return round(1e9 * flops / RATE)

    def activation_bytes(self):
        """Bytes of a layer and micro-batch, and those of them that I frees: 34 and 2 bytes an element, as the zero-bubble paper
        (arXiv 2401.10241) counts for F to I and I to W; the scores of attention are not kept."""
        elements = SAMPLES * self.sequence * self.hidden
        return 34 * elements, 2 * elements

    def message_bytes(self):
        """Bytes that a rank sends to its peer in the next server, in bf16."""
        return SAMPLES * self.sequence * self.hidden * 2

    def state_bytes(self, of_parameter=16):
        """Bytes of a rank, sharded: bf16 weights and gradients, and weights and two moments in fp32 (2 + 2 + 12 bytes a parameter)."""
        return self.parameters() * self.layers // self.stages * of_parameter // GROUP


def blocks(count, ranks, hidden, samples, microbatches):
    """Lines of a machine and a small GPT that runs, up to the stages of its plan: layers_of()."""
    lines = ["pipe.cluster @machine link<latency_ns = 5000, bytes_per_us = 5000> {"] + [f"  pipe.device @d{r}" for r in range(ranks)] + ["}"]
    lines += [f"pipe.model @gpt gpt<vocab = 256, sequence = 64, hidden = {hidden}, heads = 4, ffn = {4 * hidden}, batch = {samples}, tied = false> {{",
              "  pipe.layer @wte embedding"] + [f"  pipe.layer @h{i} block" for i in range(count)] + ["  pipe.layer @ln_f head", "}"]
    return lines + [f"pipe.plan @step of @gpt on @machine microbatches({microbatches}) {{"]


def layers_of(count):
    """A block in each of `count` stages, with the embedding in the first and the head in the last."""
    return [", ".join(["@wte"] * (i == 0) + [f"@h{i}"] + ["@ln_f"] * (i == count - 1)) for i in range(count)]


# Hidden size and layers: GPT-3's 6.7B and Llama's 13B and 70B, which have the usual sizes.
MODELS = (
    Model("7B", 4096, 32, 2048, 4, 4),
    Model("13B", 5120, 40, 2048, 4, 5),
    Model("70B", 8192, 80, 2048, 8, 5),
)


def cluster(servers, across, memory):
    """Servers of GROUP ranks."""
    limit = f" <memory_bytes = {memory}>" if memory else ""
    lines = [f"pipe.cluster @servers link<latency_ns = {ACROSS_LATENCY}, bytes_per_us = {across}> {{"]
    lines += [f"  pipe.device @d{r}{limit}" for r in range(servers * GROUP)]
    for server in range(servers):
        ranks = range(server * GROUP, (server + 1) * GROUP)
        lines += [f"  pipe.link @d{a} -> @d{b} <latency_ns = {INSIDE_LATENCY}, bytes_per_us = {INSIDE}>" for a in ranks for b in ranks if a != b]
    return lines + ["}"]


def plan(model, count, microbatches, state, schedule, across, memory=None, placement=None):
    """A file with one schedule: the model in `count` stages, looped over the servers, each stage a synthetic layer. A layer states what all
    samples of a micro-batch take, which the ranks of a server share. Without `memory` there is no limit; `placement` is the
    server of each stage, if they are not looped."""
    each = model.layers // count
    ns = GROUP * each * model.pass_ns()
    takes, frees = (GROUP * each * n for n in model.activation_bytes())
    costs = (f"forward_ns = {ns}, input_grad_ns = {ns}, weight_grad_ns = {ns}, activation_bytes = {takes}, input_grad_frees_bytes = {frees}, "
             f"output_bytes = {GROUP * model.message_bytes()}, weight_bytes = {each * model.parameters() * 2}")
    lines = cluster(model.stages, across, memory) + ["pipe.model @gpt {"] + [f"  pipe.layer @l{i} synthetic<{costs}>" for i in range(count)]
    lines += ["}", f"pipe.plan @step of @gpt on @servers microbatches({microbatches}) samples({GROUP * SAMPLES}) {{"]
    for i in range(count):
        first = (placement[i] if placement else i % model.stages) * GROUP
        replicas = ", ".join(str(r) for r in range(first, first + GROUP))
        lines.append(f"  pipe.stage @s{i} [@l{i}] on [{replicas}] sharded<{state}>")
    return "\n".join(lines + ["}", f"pipe.schedule @order of @step {schedule}"]) + "\n"


def by_layer(model, microbatches):
    """1F1B with a stage for each layer, consecutive ones on a server: what FSDP does if it wraps layers. Of the placement of plan() and the schedule."""
    each = model.layers // model.stages
    lines = ["gathers<weights = 2, gradients = 1> {"]
    for rank in range(model.stages * GROUP):
        server = rank // GROUP
        own = range(server * each, (server + 1) * each)
        ahead = min(model.stages - 1 - server, microbatches)

        def forward(index):
            return [f"pipe.forward @s{s}[{index}]" for s in own]

        def backward(index):
            return [f"pipe.backward @s{s}[{index}]" for s in reversed(own)]

        lines += [f"pipe.rank {rank} {{", f"pipe.for %i = 0 to {ahead} {{", *forward("%i"), "}", f"pipe.for %i = 0 to {microbatches - ahead} {{",
                  *forward(f"%i + {ahead}"), *backward("%i"), "}", f"pipe.for %i = {microbatches - ahead} to {microbatches} {{", *backward("%i"), "}", "}"]
        lines = [line for line in lines if line]
    return [stage // each for stage in range(model.layers)], "\n".join(lines + ["}"])


@dataclasses.dataclass
class Figures:
    """Figures of an order with gathers. `free_ns` is its time if the ranks of a server exchange in no time."""

    ns: int
    free_ns: int
    peak_bytes: int  # of the fullest rank, without its sharded state
    gathers: int  # of rank 0
    reductions: int
    origin: str  # what a search has found, or how many chunks are whole: weights, gradients
    chunk_bytes: int = 0  # of a stage's weights in bf16
    memory: int = 0  # with state

    def exposed_ns(self):
        return self.ns - self.free_ns


def figures(rondo, folder, text):
    """Figures of the only schedule of a file."""
    source, order, free = (pathlib.Path(folder, name) for name in ("source.mlir", "order.mlir", "free.mlir"))
    source.write_text(text)
    command(rondo, "compile", source, "--emit", "schedule", "-o", order)
    frozen = order.read_text()
    inside = re.compile(r"(pipe\.link @\w+ -> @\w+) <[^>]*>")
    if not inside.search(frozen):
        raise SystemExit(f"{order}: no link inside a server at the expected position")
    free.write_text(inside.sub(r"\1 <latency_ns = 0>", frozen))
    made, without = (json.loads(command(rondo, "simulate", path, "--json")) for path in (order, free))
    if made["ranks"] != without["ranks"]:
        raise SystemExit(f"{order}: another order on free links")
    first = [action if isinstance(action, str) else "" for action in made["ranks"][0]]
    origin = re.search(r'found<origin = "([^"]*)"', frozen)
    chosen = re.search(r"gathers<weights = (\d+|\[.*?\]), gradients = (\d+|\[.*?\])>", frozen)
    return Figures(made["makespan_ns"], without["makespan_ns"], max(made["peak_memory_bytes"]), sum("UNSHARD" in a for a in first),
                   sum("REDUCE_GRAD" in a for a in first), origin[1] if origin else f"{chosen[1]}, {chosen[2]}" if chosen else "by units")
