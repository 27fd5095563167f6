# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the cases of all clients share."""

LINE, V, LOOP = [0, 1], [0, 1, 1, 0], [0, 1, 0, 1]
UNEVEN = [0, 0, 1, 1, 0]
WAVES = [0, 1, 1, 0, 0, 1, 1, 0]


def case(name, placement, family=None, limit=0.0, *, microbatches, tensors, **options):
    """A run of a family, or of a searched schedule. Parameters may differ by `limit`, and
    there must be `tensors` of them or more, of all processes together."""
    return {
        "name": name,
        "placement": placement,
        "family": family,
        "microbatches": microbatches,
        "limit": limit,
        "tensors": tensors,
        **options,
    }


def predicted(name, placement, microbatches, **options):
    """Stages that sleep are profiled; the predicted step may differ by 5 %."""
    return {
        "name": f"predicted, {name}",
        "profiled": placement,
        "microbatches": microbatches,
        "limit": 0.05,
        "tensors": 0,
        **options,
    }
