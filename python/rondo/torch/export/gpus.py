# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPUs that graphs compile for, by compute capability, from their data sheets."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Gpu:
    """The figures of a data sheet that PyTorch and estimates of time ask for."""

    multiprocessors: int
    #: Of one multiprocessor.
    threads: int
    #: Bytes that one block can take.
    shared_memory: int
    #: TFLOP/s of dense products in bf16, and of fp32.
    tensor_tflops: float
    fp32_tflops: float
    #: GB/s of its memory.
    bandwidth: float


GPUS = {
    # A100, 80 GB
    80: Gpu(108, 2048, 166912, 312, 19.5, 2039),
    # RTX A6000
    86: Gpu(84, 1536, 101376, 155, 38.7, 768),
    # L40S
    89: Gpu(142, 1536, 101376, 362, 91.6, 864),
    # H200
    90: Gpu(132, 2048, 232448, 989, 67, 4800),
    # B200
    100: Gpu(148, 2048, 232448, 2250, 75, 8000),
}
