# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models for tests of exports: layers by name, the vocabulary, and a loss."""

from __future__ import annotations

import torch
import torch.nn.functional as functional
from torch import nn

import architectures

SAMPLES, TOKENS, VOCAB = 2, 32, 256


def loss(output: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(output.flatten(0, 1), targets.flatten())


class Embedding(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.wte = nn.Embedding(VOCAB, width)
        self.wpe = nn.Embedding(TOKENS, width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))


class Block(nn.Module):
    """GPT-2's block."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.ln_1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.ln_2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, width = x.shape
        q, k, v = (
            part.view(b, t, self.heads, -1).transpose(1, 2)
            for part in self.qkv(self.ln_1(x)).split(width, 2)
        )
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(seen.transpose(1, 2).reshape(b, t, width))
        return x + self.down(
            functional.gelu(self.up(self.ln_2(x)), approximate="tanh")
        )


class Head(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.ln_f = nn.LayerNorm(width)
        self.out = nn.Linear(width, VOCAB, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.ln_f(x))


def gpt(width: int = 48, heads: int = 4, blocks: int = 4) -> dict[str, nn.Module]:
    return {
        "embedding": Embedding(width),
        **{f"h{i}": Block(width, heads) for i in range(blocks)},
        "head": Head(width),
    }


class Mixing(nn.Module):
    """A gate over the mean of all tokens so far, instead of attention."""

    def __init__(self, width: int):
        super().__init__()
        self.gate = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.register_buffer(
            "counts", torch.arange(1, TOKENS + 1).float()[None, :, None]
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean = torch.cumsum(self.value(x), 1) / self.counts
        return x + torch.sigmoid(self.gate(x)) * mean


def mixing(width: int = 32) -> dict[str, nn.Module]:
    return {
        "embedding": Embedding(width),
        "m0": Mixing(width),
        "m1": Mixing(width),
        "head": Head(width),
    }


class Normalised(nn.Module):
    def __init__(self, norm: nn.Module, head: nn.Module):
        super().__init__()
        self.norm, self.head = norm, head

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(x))


def of_transformers(kind: str, width: int = 64, inner: int = 160) -> dict[str, nn.Module]:
    """Llama or Qwen3 with grouped queries, as transformers has them."""
    import transformers

    sizes = {
        "vocab_size": VOCAB,
        "hidden_size": width,
        "intermediate_size": inner,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": TOKENS,
        "attn_implementation": "sdpa",
        "use_cache": False,
        "tie_word_embeddings": False,
    }
    if kind == "llama":
        whole = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes))
    else:
        whole = transformers.Qwen3ForCausalLM(
            transformers.Qwen3Config(head_dim=width // 4, **sizes)
        )
    positions = torch.arange(TOKENS)[None]
    cos, sin = whole.model.rotary_emb(torch.zeros(1, TOKENS, width), positions)
    return {
        "embedding": whole.model.embed_tokens,
        **{
            f"l{i}": architectures.Rotated(layer, cos, sin)
            for i, layer in enumerate(whole.model.layers)
        },
        "head": Normalised(whole.model.norm, whole.lm_head),
    }


def between(**layers: nn.Module) -> dict[str, nn.Module]:
    """A model of these layers, from tokens to tokens."""
    width = architectures.WIDTH
    return {"embedding": Embedding(width), **layers, "head": Head(width)}


def frozen() -> dict[str, nn.Module]:
    """A model with a matrix and a vector that are not trained, and a vector that no
    forward uses."""
    layers = mixing()
    for name, parameter in layers["m0"].named_parameters():
        parameter.requires_grad_(not name.startswith("gate"))
    layers["m0"].unused = nn.Parameter(torch.ones(3))
    return layers


def tied() -> dict[str, nn.Module]:
    """A GPT whose head has the embedding's matrix."""
    layers = gpt(blocks=2)
    layers["head"].out.weight = layers["embedding"].wte.weight
    return layers


class Lookup(nn.Module):
    """Adds the mean of all rows of a matrix, by their likeness."""

    def __init__(self, matrix: nn.Parameter):
        super().__init__()
        self.matrix = matrix

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        likeness = x @ self.matrix.T / self.matrix.shape[1]
        return x + likeness.softmax(-1) @ self.matrix


def shared() -> dict[str, nn.Module]:
    """A matrix in the first, the last and a layer between, trained and frozen
    parameters in two layers."""
    layers = mixing()
    matrix = layers["embedding"].wte.weight
    layers = {
        "embedding": layers["embedding"],
        "l0": Lookup(matrix),
        "m0": layers["m0"],
        "m1": layers["m1"],
        "head": layers["head"],
    }
    layers["m1"].gate, layers["m1"].value = layers["m0"].gate, layers["m0"].value
    layers["m0"].value.requires_grad_(False)
    layers["head"].out.weight = matrix
    return layers


MODELS = {
    "gpt": gpt,
    "tied": tied,
    "tied-one-stage": tied,
    "shared": shared,
    "mixing": mixing,
    "frozen": frozen,
    "llama": lambda: of_transformers("llama"),
    "qwen3": lambda: of_transformers("qwen3"),
    "convolutions": lambda: between(
        c0=architectures.Image(architectures.Convolutions())
    ),
    "gpt2": lambda: between(g0=architectures.gpt2()),
    "bert": lambda: between(
        masks=architectures.Masks(), b0=architectures.Bert(), first=architectures.First()
    ),
    "vit": lambda: between(
        patches=architectures.Patches(),
        v0=architectures.vit(),
        last=architectures.WithoutClass(),
    ),
    "resnet": lambda: between(
        stem=architectures.Stem().eval(), r0=architectures.resnet().eval()
    ),
    "resnet-training": lambda: between(
        stem=architectures.Stem(), r0=architectures.resnet()
    ),
    "vit-images": architectures.vit_of_images,
    "resnet-images": architectures.resnet_of_images,
    "mixtral-batched": lambda: between(x0=architectures.experts("mixtral", "batched_mm")),
    "mixtral-grouped": lambda: between(x0=architectures.experts("mixtral", "grouped_mm")),
    "qwen3-moe": lambda: between(x0=architectures.experts("qwen3", "grouped_mm")),
    "mamba": lambda: between(m0=architectures.Mamba()),
    "lstm": lambda: between(r0=architectures.Recurrent(nn.LSTM)),
    "gru": lambda: between(r0=architectures.Recurrent(nn.GRU)),
    "dropout": lambda: between(e0=architectures.encoder(0.2), e1=architectures.encoder(0.2)),
    "encoder-decoder": lambda: between(
        e0=architectures.encoder(), d0=architectures.Decoder(), d1=architectures.Decoder()
    ),
}

#: Models whose data are images and their classes.
OF_IMAGES = {"vit-images", "resnet-images"}

#: Ranks of layers, of models that are not divided evenly.
PLACEMENTS = {"tied-one-stage": [0, 0, 0, 0]}

#: Edges of models whose layers are not a chain.
INPUTS = {"encoder-decoder": {"d0": ["embedding", "e0"], "d1": ["d0", "e0"]}}
