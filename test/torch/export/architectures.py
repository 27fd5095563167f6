# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of known architectures, mostly of transformers, each with a few samples of
32 numbers for each of 32 tokens as input and output."""

from __future__ import annotations

import torch
import torch.nn.functional as functional
from torch import nn

WIDTH, TOKENS, HEADS = 32, 32, 4
#: The width inside feed-forward layers, and inside each expert.
INNER, EXPERT = 64, 48
#: The sides of a square patch of images.
PATCH = 8


class Image(nn.Module):
    """Calls a layer with the tokens as an image of 4 x 8 pixels."""

    def __init__(self, layer: nn.Module):
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layer(x.transpose(1, 2).reshape(x.shape[0], -1, 4, 8))
        return y.flatten(2).transpose(1, 2)


class Convolutions(nn.Module):
    """Convolutions with dilation, groups and strides, and group normalisation."""

    def __init__(self, width: int = WIDTH):
        super().__init__()
        self.norm = nn.GroupNorm(4, width)
        self.wide = nn.Conv2d(width, width, 3, padding=2, dilation=2, bias=False)
        self.each = nn.Conv2d(width, width, 3, padding=1, groups=width)
        self.down = nn.Conv2d(width, 2 * width, 2, stride=2, groups=2)
        self.up = nn.Conv1d(2 * width, 4 * width, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = functional.relu(self.norm(x))
        y = functional.gelu(self.each(functional.silu(self.wide(y))))
        y = self.up(self.down(y).flatten(2))
        return x + y.reshape(x.shape)


def gpt2() -> nn.Module:
    from transformers import GPT2Config
    from transformers.models.gpt2.modeling_gpt2 import GPT2Block

    config = GPT2Config(
        n_embd=WIDTH, n_head=HEADS, n_positions=TOKENS, resid_pdrop=0, embd_pdrop=0,
        attn_pdrop=0, attn_implementation="sdpa",
    )  # fmt: skip
    return GPT2Block(config, layer_idx=0)


class Masks(nn.Module):
    """Hands on the tokens, and which of them are padding, as int64. The places of
    tokens are an attribute that is no buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.places = torch.arange(TOKENS)[None]

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        places = self.places.expand(x.shape[0], TOKENS)
        lengths = torch.tensor([TOKENS, 20, 27, 9])[: x.shape[0], None]
        return x * 2, (places >= lengths).long()


class Bert(nn.Module):
    """A layer of BERT, with the padding on its edges."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import BertConfig
        from transformers.models.bert.modeling_bert import BertLayer

        config = BertConfig(
            hidden_size=WIDTH, num_attention_heads=HEADS, intermediate_size=INNER,
            hidden_dropout_prob=0, attention_probs_dropout_prob=0,
            attn_implementation="sdpa",
        )  # fmt: skip
        self.layer = BertLayer(config, layer_idx=0)

    def forward(self, x: torch.Tensor, padding: torch.Tensor) -> tuple[torch.Tensor, ...]:
        mask = padding.to(x.dtype)[:, None, None, :] * -1e4
        y = self.layer(x, mask.expand(-1, 1, TOKENS, -1))
        return (y[0] if isinstance(y, tuple) else y), padding


class First(nn.Module):
    def forward(self, x: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
        return x + 0


def vit_config() -> object:
    from transformers import ViTConfig

    return ViTConfig(
        hidden_size=WIDTH, num_attention_heads=HEADS, intermediate_size=INNER,
        image_size=(8, 16), patch_size=2, num_channels=8, hidden_dropout_prob=0,
        attention_probs_dropout_prob=0, attn_implementation="sdpa",
    )  # fmt: skip


class Patches(nn.Module):
    """ViT's embedding of images of 8 x 16 pixels of 8 channels: 32 patches, and the
    token of the class."""

    def __init__(self) -> None:
        super().__init__()
        from transformers.models.vit.modeling_vit import ViTEmbeddings

        self.layer = ViTEmbeddings(vit_config())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x.reshape(x.shape[0], 8, 8, 16))


class WithoutClass(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, 1:] + x[:, :1]


def vit() -> nn.Module:
    from transformers.models.vit.modeling_vit import ViTLayer

    return ViTLayer(vit_config())


def resnet() -> nn.Module:
    """With the statistics of a trained model."""
    from transformers.models.resnet.modeling_resnet import ResNetBasicLayer

    layer = ResNetBasicLayer(WIDTH, WIDTH)
    for name, buffer in layer.named_buffers():
        if name.endswith("running_mean"):
            buffer.normal_(std=0.3)
        elif name.endswith("running_var"):
            buffer.uniform_(0.5, 1.5)
    return Image(layer)


class Stem(nn.Module):
    """ResNet's stem: images of 16 x 32 pixels of 2 channels become 4 x 8 of 32."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import ResNetConfig
        from transformers.models.resnet.modeling_resnet import ResNetEmbeddings

        self.layer = ResNetEmbeddings(ResNetConfig(num_channels=2, embedding_size=WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layer(x.reshape(x.shape[0], 2, 16, 32))
        return y.flatten(2).transpose(1, 2)


#: Channels, height and width of images.
PICTURE, CLASSES = (3, 32, 32), 4


def vit_of_images() -> dict[str, nn.Module]:
    """ViT with two layers and a classifier."""
    from transformers import ViTConfig
    from transformers.models.vit import modeling_vit

    config = ViTConfig(
        hidden_size=WIDTH, num_attention_heads=HEADS, intermediate_size=INNER,
        image_size=PICTURE[1], patch_size=PATCH, num_channels=3, hidden_dropout_prob=0,
        attention_probs_dropout_prob=0, attn_implementation="sdpa",
    )  # fmt: skip
    return {
        "embeddings": modeling_vit.ViTEmbeddings(config),
        "l0": modeling_vit.ViTLayer(config),
        "l1": modeling_vit.ViTLayer(config),
        "head": ClassToken(),
    }


class ClassToken(nn.Module):
    """The classes by the first token."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.out = nn.Linear(WIDTH, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.norm(x[:, 0]))


def resnet_of_images() -> dict[str, nn.Module]:
    """ResNet's stem, two layers and a classifier, in training."""
    from transformers import ResNetConfig
    from transformers.models.resnet import modeling_resnet

    config = ResNetConfig(num_channels=3, embedding_size=16)
    return {
        "stem": modeling_resnet.ResNetEmbeddings(config),
        "r0": modeling_resnet.ResNetBasicLayer(16, 16),
        "r1": modeling_resnet.ResNetBasicLayer(16, WIDTH, stride=2),
        "head": nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(WIDTH, CLASSES)
        ),
    }


def experts(kind: str, how: str) -> nn.Module:
    """A layer of Mixtral or of Qwen3-MoE, with a way to compute its experts."""
    import transformers
    from transformers.models.mixtral import modeling_mixtral
    from transformers.models.qwen3_moe import modeling_qwen3_moe

    sizes = {
        "hidden_size": WIDTH,
        "num_attention_heads": HEADS,
        "num_key_value_heads": 2,
        "max_position_embeddings": TOKENS,
        "attn_implementation": "sdpa",
        "experts_implementation": how,
    }
    if kind == "mixtral":
        config = transformers.MixtralConfig(
            intermediate_size=EXPERT, num_local_experts=4, **sizes
        )
        layer = modeling_mixtral.MixtralDecoderLayer(config, 0)
        rotary = modeling_mixtral.MixtralRotaryEmbedding(config)
    else:
        config = transformers.Qwen3MoeConfig(
            moe_intermediate_size=EXPERT, num_experts=4, num_experts_per_tok=2, head_dim=8,
            **sizes,
        )  # fmt: skip
        layer = modeling_qwen3_moe.Qwen3MoeDecoderLayer(config, 0)
        rotary = modeling_qwen3_moe.Qwen3MoeRotaryEmbedding(config)
    for parameter in layer.parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=0.1)
    cos, sin = rotary(torch.zeros(1, TOKENS, WIDTH), torch.arange(TOKENS)[None])
    return Rotated(layer, cos, sin)


class Rotated(nn.Module):
    """A decoder layer of transformers, with its rotary positions."""

    def __init__(self, layer: nn.Module, cos: torch.Tensor, sin: torch.Tensor):
        super().__init__()
        self.layer = layer
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layer(x, position_embeddings=(self.cos.to(x.dtype), self.sin.to(x.dtype)), attention_mask=None)
        return y[0] if isinstance(y, tuple) else y


class Mamba(nn.Module):
    """A block of Mamba in its reference path, 8 tokens at a time."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import MambaConfig
        from transformers.models.mamba.modeling_mamba import MambaBlock

        config = MambaConfig(hidden_size=WIDTH, state_size=4, time_step_rank=4)
        self.layer = MambaBlock(config, 0)
        # The block leaves these to the model that it is in.
        with torch.no_grad():
            scales = torch.arange(1, config.state_size + 1).float()
            self.layer.mixer.A_log.copy_(scales.log().expand_as(self.layer.mixer.A_log))
            self.layer.mixer.D.fill_(1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x.reshape(-1, 8, WIDTH)).reshape(x.shape)


class Recurrent(nn.Module):
    """An LSTM or a GRU over 8 tokens at a time."""

    def __init__(self, kind: type[nn.RNNBase]):
        super().__init__()
        self.layer = kind(WIDTH, WIDTH, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x.reshape(-1, 8, WIDTH))[0].reshape(x.shape)


def encoder(dropout: float = 0) -> nn.Module:
    return nn.TransformerEncoderLayer(
        WIDTH, HEADS, INNER, dropout=dropout, batch_first=True, norm_first=True
    )


class Decoder(nn.Module):
    """A decoder layer, which reads tokens and the encoder's output."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(
            WIDTH, HEADS, INNER, dropout=0, batch_first=True, norm_first=True, bias=False
        )
        mask = nn.Transformer.generate_square_subsequent_mask(TOKENS)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        return self.layer(x, memory, tgt_mask=self.mask)
