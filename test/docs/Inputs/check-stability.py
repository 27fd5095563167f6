# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds bench/asynchronous/stability.py against reference values.

check-stability.py BENCH
"""

import math
import sys

sys.path.insert(0, sys.argv[1])
import stability

# Forward and backward delay, discrepancy: first unstable alpha without T2, and
# with T2 and d = e^-2, 0.1, 0.5.
VALUES = {
    (10, 0, 0): (0.150, 0.150, 0.150, 0.150),
    (10, 0, 1): (0.060, 0.132, 0.140, 0.079),
    (10, 0, 3): (0.028, 0.110, 0.129, 0.043),
    (10, 0, 5): (0.018, 0.098, 0.121, 0.030),
    (10, 0, 10): (0.010,),
    (4, 0, 0): (0.348,),
    (4, 0, 1): (0.144, 0.311, 0.330, 0.190),
    (4, 0, 3): (0.067,),
    (4, 0, 5): (0.044, 0.186, 0.165, 0.072),
    (4, 0, 10): (0.024,),
    (10, 6, 5): (0.039, 0.117, 0.105, 0.067),
}
# They have three digits and are up to 0.002 above the boundary, never below.
MOST_ABOVE, MOST_BELOW = 0.002, 0.0
CLOSED = {0: 2, 1: 1, 2: 0.61803, 3: 0.44504, 5: 0.28463, 8: 0.18454}


def main():
    held = 0
    for row, values in VALUES.items():
        decays = (None,) + tuple(decay for _, decay in stability.DECAYS)
        for value, decay in zip(values, decays):
            found = stability.checked(stability.Run(*row, decay))
            if not MOST_BELOW <= value - found <= MOST_ABOVE:
                sys.exit(f"{row}, {decay}: {found:.5f}, not {value}")
            held += 1
    for delay, value in CLOSED.items():
        found = stability.checked(stability.Run(delay, delay, 0))
        if abs(found - value) > 5.1e-6:
            sys.exit(f"delay {delay}: {found:.6f}, not {value}")
        if abs(found - 2 * math.sin(math.pi / (4 * delay + 2))) > 1e-9:
            sys.exit(f"delay {delay}: {found:.9f} is not the closed form")
        held += 1
    # Some alpha below each of these is unstable as well.
    for forward, backward, discrepancy in VALUES:
        found = stability.checked(stability.Run(forward, backward, discrepancy))
        limit = 2 * math.sin(math.pi / (4 * forward + 2))
        if discrepancy:
            limit = min(limit, 2 / (discrepancy * (forward - backward)))
        if found > limit * (1 + 1e-9):
            sys.exit(f"{forward}, {backward}, {discrepancy}: {found} over {limit}")
        held += 1
    print(held, "values held")


if __name__ == "__main__":
    main()
