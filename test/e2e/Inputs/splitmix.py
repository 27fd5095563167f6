# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SplitMix64, by which programs draw the samples of an iteration."""

MASK = (1 << 64) - 1


def mix(x):
    """The output for the state x."""
    z = (x + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)
