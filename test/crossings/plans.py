# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The files that features are tried on: a small model, its stages, its schedules.

Six blocks between an embedding and a head, in two stages (three if they form a
graph, four or eight with several chunks a rank), for four micro-batches of four
samples. `Plan` has a field for each choice that a feature makes, and writes the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field

BLOCKS = [f"h{i}" for i in range(6)]
# Sizes for 1 to 4 samples, of 16 tokens with 16 numbers each.
BY_SAMPLES = "samples = [1, 2, 3, 4], by_sample = true, output_bytes = [1024, 2048, 3072, 4096]"
MLP_BYTES = "[2048, 4096, 6144, 8192]"
MLP = (
    f'custom<body = "mlp", parameters = [16], {BY_SAMPLES}, weight_bytes = 2112, documents = true, '
    f"saved_for_weight_grad_bytes = {MLP_BYTES}, kept_for_weight_grad_bytes = {MLP_BYTES}>"
)
# The same sizes, with named parts of what F saves.
PARTS = (
    f'custom<body = "parts", parameters = [16], {BY_SAMPLES}, weight_bytes = 2048, documents = true, '
    "saved = ["
    'part<name = "x", bytes = [1024, 2048, 3072, 4096], read_by = weight_grad>, '
    'part<name = "slope", bytes = [1024, 2048, 3072, 4096], read_by = input_grad>, '
    'part<name = "mid.u", bytes = [1024, 2048, 3072, 4096]>, '
    'part<name = "square", bytes = [1024, 2048, 3072, 4096], read_by = weight_grad>], '
    "kept_for_weight_grad_bytes = [1024, 2048, 3072, 4096]>"
)
JOIN = f'custom<body = "join", {BY_SAMPLES}, documents = true>'
# The documents of the four micro-batches.
DOCUMENTS = "documents [[9, 5], [16, 16, 3], [7], [12, 4]]"
DRAWN_DOCUMENTS = "tokens<most = 28, in_flight = 112>"

# The position of a chunk's group, by its number.
PLACEMENTS = {
    "": lambda chunk, groups: chunk % groups,
    "loop": lambda chunk, groups: chunk % groups,
    "v": lambda chunk, groups: min(chunk % (2 * groups), 2 * groups - 1 - chunk % (2 * groups)),
}
PLACEMENTS["wave"] = PLACEMENTS["v"]
CHUNKS = {"": 1, "loop": 2, "v": 2, "wave": 4}
FAMILIES = {"": "1f1b", "loop": "interleaved-1f1b", "v": "zbv", "wave": "wave"}


@dataclass(frozen=True)
class Replicas:
    """The ranks of a group: how many, the samples of each, and the words after them."""

    ranks: int = 1
    shares: tuple[int, ...] = ()
    words: str = ""

    def on(self, first: int) -> str:
        ranks = range(first, first + self.ranks)
        if self.ranks == 1:
            return str(first)
        if self.shares:
            return "[" + ", ".join(f"{rank}: {share}" for rank, share in zip(ranks, self.shares)) + "]"
        return f"[{', '.join(map(str, ranks))}] {self.words}".rstrip()


@dataclass
class Plan:
    """What a file says. Features change it before it is written."""

    family: str = "gpt"
    tied: bool = False
    custom: bool = False
    graph: bool = False
    # By group; the last one holds for the rest.
    replicas: list[Replicas] = field(default_factory=list)
    # By group: "", "whole", "list" or "across".
    recompute: list[str] = field(default_factory=list)
    chunks: str = ""
    # Words after the plan's name and after its micro-batches.
    options: str = ""
    # The schedule's body or family, and more schedules: lines of the file.
    schedule: str = ""
    more: list[str] = field(default_factory=list)
    channels: str = ""
    nics: bool = False
    # The activations of a stage that may be copied to the host, if the family
    # copies: "", "all", or "parts" of layers.
    offload: str = ""
    # Whether all ranks share a link to the host.
    shared_link: bool = False
    # The plan's words if micro-batches are rows of documents.
    documents: str = ""
    memory_bytes: int = 67108864
    microbatches: int = 4

    @property
    def groups(self) -> int:
        return 3 if self.graph and not self.chunks else 2

    def replicas_of(self, group: int) -> Replicas:
        return self.replicas[min(group, len(self.replicas) - 1)] if self.replicas else Replicas()

    @property
    def ranks(self) -> int:
        return sum(self.replicas_of(group).ranks for group in range(self.groups))

    @property
    def libraries(self) -> list[str]:
        return ["parts" if self.offload == "parts" else "mlp"] * self.custom + ["join"] * self.graph

    def stages(self) -> list[list[str]]:
        """The layers of each stage."""
        names = ["wte", *BLOCKS, "lm_head"]
        count = CHUNKS[self.chunks] * self.groups
        cuts = [len(names) * i // count for i in range(count + 1)]
        stages = [names[begin:end] for begin, end in zip(cuts, cuts[1:])]
        if self.graph:
            stages[2].insert(0, "join")
        return stages

    def kind_of(self, layer: str) -> str:
        ends = {"wte": "embedding", "lm_head": "head", "join": JOIN}
        custom = PARTS if self.offload == "parts" else MLP
        return custom if self.custom and layer == "h1" else ends.get(layer, "block")

    def model(self) -> str:
        own = "heads = 2, ffn = 32, batch = 4"
        own += ", kv_heads = 1" if self.family == "llama" else ""
        own += ", tied = true" if self.tied else ""
        lines = [f"  pipe.layer @{name} {self.kind_of(name)}" for stage in self.stages() for name in stage]
        head = f"pipe.model @m {self.family}<vocab = 256, sequence = 16, hidden = 16, {own}> {{"
        return "\n".join([head, *lines, "}"])

    def cluster(self, ranks: int) -> str:
        host = ", host_link = <latency_ns = 1000, bytes_per_us = 20000>" if self.offload else ""
        device = f"<memory_bytes = {self.memory_bytes}, flops_per_us = 1000{host}>"
        lines = [f"  pipe.device @r{rank} {device}" for rank in range(ranks)]
        if self.nics:
            lines += [f"  pipe.nic @n{rank} [@r{rank}] <bytes_per_us = 5000>" for rank in range(ranks)]
        if self.shared_link and ranks > 1:
            devices = ", ".join(f"@r{rank}" for rank in range(ranks))
            lines.append(f"  pipe.host_link [{devices}] <bytes_per_us = 20000>")
        head = f"pipe.cluster @c {self.channels} link<latency_ns = 1000, bytes_per_us = 10000> {{"
        return "\n".join([head, *lines, "}"])

    def recompute_of(self, stage: int, group: int, layers: list[str]) -> str:
        kind = self.recompute[min(group, len(self.recompute) - 1)] if self.recompute else ""
        blocks = [name for name in layers if name in BLOCKS]
        if kind == "across":
            return "recompute across" if stage else "recompute"
        if kind == "list":
            return f"recompute [@{blocks[-1]}]" if blocks else ""
        return "recompute" if kind else ""

    def offload_of(self, layers: list[str], recompute: str) -> str:
        """A layer in a list of those that are recomputed keeps nothing that could leave."""
        if self.offload != "parts":
            return "offload" if self.offload else ""
        named = {"block": ["qkv"], PARTS: ["slope", "mid.u"]}
        parts = [f"@{layer}.{part}" for layer in layers if f"@{layer}]" not in recompute
                 for part in named.get(self.kind_of(layer), ["saved_for_weight_grad"])]
        return f"offload [{', '.join(parts)}]"

    @property
    def words(self) -> str:
        return f"{self.documents} {self.options}".strip()

    def plan(self, name: str = "p", microbatches: int | None = None, words: str = "") -> str:
        place = PLACEMENTS[self.chunks]
        first = [sum(self.replicas_of(g).ranks for g in range(group)) for group in range(self.groups)]
        lines = []
        for stage, layers in enumerate(self.stages()):
            group = place(stage, self.groups)
            parts = [f"  pipe.stage @s{stage} [{', '.join('@' + layer for layer in layers)}]"]
            parts += ["on", self.replicas_of(group).on(first[group]), self.recompute_of(stage, group, layers)]
            parts.append(self.offload_of(layers, parts[-1]))
            if self.graph and stage == 2:
                parts.append("from [@s1, @s0]")
            lines.append(" ".join(part for part in parts if part))
        count = microbatches or self.microbatches
        head = f"pipe.plan @{name} of @m on @c microbatches({count}) {words} {self.words} {{"
        return "\n".join([head, *lines, "}"])

    def text(self) -> str:
        schedule = self.schedule or f'family<"{FAMILIES[self.chunks]}">'
        if self.offload and schedule.startswith("family"):
            schedule = schedule.replace(">", ", offload = all>", 1)
        return "\n".join(
            [self.cluster(self.ranks), self.model(), self.plan(), f"pipe.schedule @a of @p {schedule}", *self.more, ""]
        )

    def on_one_rank(self) -> str:
        """The same model in one stage, or in a graph's stages, on one rank."""
        stages = self.stages() if self.graph else [[layer for stage in self.stages() for layer in stage]]
        lines = []
        for stage, layers in enumerate(stages):
            sources = " from [@s1, @s0]" if self.graph and stage == 2 else ""
            lines.append(f"  pipe.stage @s{stage} [{', '.join('@' + layer for layer in layers)}] on 0{sources}")
        head = f"pipe.plan @p of @m on @c microbatches(4) {self.words} {{"
        schedule = "pipe.schedule @a of @p search<effort = 5>"
        return "\n".join([self.cluster(1), self.model(), head, *lines, "}", schedule, ""])
