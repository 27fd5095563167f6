# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Jobs of torchtitan on the CPU, with a tokenizer and data that its package does not
have. Import it before torchtitan."""

from dataclasses import dataclass

import torch

import torchtitan_cpu

torchtitan_cpu.prepare()

from torchtitan.components.dataloader import BaseDataLoader  # noqa: E402
from torchtitan.components.tokenizer import BaseTokenizer  # noqa: E402

LENGTH = 32


class Tokenizer(BaseTokenizer):
    @dataclass(kw_only=True, slots=True)
    class Config(BaseTokenizer.Config):
        pass

    def __init__(self, config, **options):
        super().__init__()

    def encode(self, *arguments, **options):
        return []

    def decode(self, *arguments, **options):
        return ""

    def get_vocab_size(self):
        return 256


class Data(BaseDataLoader):
    @dataclass(kw_only=True, slots=True)
    class Config(BaseDataLoader.Config):
        pass

    def __init__(self, config, *, dp_rank, local_batch_size, seq_len, **options):
        self.seed, self.shape = dp_rank, (local_batch_size, seq_len + 1)

    def __iter__(self):
        generator = torch.Generator().manual_seed(self.seed)
        while True:
            ids = torch.randint(256, self.shape, generator=generator)
            yield {"input": ids[:, :-1].contiguous()}, ids[:, 1:].contiguous()

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


def prepared(config, folder):
    """The same job, for this machine."""
    config.tokenizer, config.dataloader = Tokenizer.Config(), Data.Config()
    config.dump_folder = str(folder)
    config.training.seq_len = LENGTH
    config.training.disable_cuda_graphs = True
    config.validator.enable = config.checkpoint.enable = False
    config.debug.print_config = False
    return config
