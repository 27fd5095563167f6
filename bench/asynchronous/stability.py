#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""When delayed gradients diverge: the first unstable step sizes of PipeMare.

Minimizes w^2 / 2 by w(t+1) = w(t) - alpha g(t). The gradient has old weights in
it: of the forward, F steps old, and of the backward, B steps old, and D says how
far the two disagree:

    g(t) = (1 + D) w(t - F) - D u(t)

where u(t) is w(t - B), or with PipeMare's correction (T2)

    u(t) = w(t - B) - (F - B) delta(t - B)
    delta(t+1) = gamma delta(t) + (1 - gamma) (w(t+1) - w(t)),

gamma = d^(1 / (F - B)). The mean of the changes is taken to be as old as the
weights that it corrects.

The run is stable while all roots of the characteristic equation lie inside the
unit circle. Just above alpha = 0 they do; so the first unstable alpha is the
least with which a root lies on the circle. There z = e^(i theta) and alpha is
-(z - 1) divided by what alpha multiplies, where that is real. The runs
themselves then shrink below that alpha and grow above it.
"""

import cmath
import math

DECAYS = (("e^-2", math.exp(-2)), ("0.1", 0.1), ("0.5", 0.5))
ROWS = (
    (10, 0, 0),
    (10, 0, 1),
    (10, 0, 3),
    (10, 0, 5),
    (10, 0, 10),
    (4, 0, 0),
    (4, 0, 1),
    (4, 0, 3),
    (4, 0, 5),
    (4, 0, 10),
    (10, 6, 5),
)


class Run:
    """One row of the table, with T2's decay d or without it."""

    def __init__(self, forward, backward, discrepancy, decay=None):
        self.forward, self.backward = forward, backward
        self.discrepancy = discrepancy
        self.gap = forward - backward
        self.gamma = None if decay is None else decay ** (1 / self.gap)

    def response(self, z):
        """The gradient where w(t) is z^t."""
        old = 1
        if self.gamma is not None:
            old -= self.gap * (1 - self.gamma) * (z - 1) / (z - self.gamma)
        old *= z**-self.backward
        return (1 + self.discrepancy) * z**-self.forward - self.discrepancy * old

    def first_unstable(self, points=4000):
        def at(theta):
            z = cmath.exp(1j * theta)
            return -(z - 1) / self.response(z)

        found = [at(math.pi).real]
        thetas = [math.pi * (i + 1) / points for i in range(points)]
        for low, high in zip(thetas, thetas[1:]):
            sign = at(low).imag
            if sign * at(high).imag > 0:
                continue
            for _ in range(60):
                middle = (low + high) / 2
                if sign * at(middle).imag > 0:
                    low = middle
                else:
                    high = middle
            # A pole changes the sign as well; alpha is not real there.
            if abs(at(low).imag) < 1e-6 * abs(at(low)):
                found.append(at(low).real)
        return min(alpha for alpha in found if alpha > 0)

    def growth(self, alpha, steps=20000):
        """The factor by which a step changes the weight in the end."""
        # The oldest first.
        weights = [1.0] * (self.forward + 1)
        deltas = [0.0] * (self.backward + 1)
        logarithm = 0.0
        for step in range(steps):
            old = weights[-1 - self.backward]
            if self.gamma is not None:
                old -= self.gap * deltas[0]
            gradient = (1 + self.discrepancy) * weights[0] - self.discrepancy * old
            after = weights[-1] - alpha * gradient
            if self.gamma is not None:
                change = after - weights[-1]
                delta = self.gamma * deltas[-1] + (1 - self.gamma) * change
                deltas = deltas[1:] + [delta]
            weights = weights[1:] + [after]
            if step % 100 == 99:
                # Keeps the figures in range; the run is linear.
                size = max(map(abs, weights + deltas))
                if step >= steps // 2:
                    logarithm += math.log(size)
                weights = [weight / size for weight in weights]
                deltas = [delta / size for delta in deltas]
        return math.exp(2 * logarithm / steps)


def checked(run):
    """The first unstable alpha, which the runs on both sides of it confirm."""
    alpha = run.first_unstable()
    below, above = run.growth(0.995 * alpha), run.growth(1.005 * alpha)
    if not below < 1 < above:
        raise SystemExit(
            f"stability: a run with alpha {alpha:.6f} changes by {below:.6f} a step "
            f"just below and {above:.6f} just above; it must shrink and then grow"
        )
    return alpha


def main():
    print("delay   first unstable alpha   2 sin(pi / (4 delay + 2))")
    for delay in (0, 1, 2, 3, 5, 8):
        closed = 2 * math.sin(math.pi / (4 * delay + 2))
        print(f"{delay:5}   {checked(Run(delay, delay, 0)):20.5f}   {closed:25.5f}")
    print()
    names = "".join(f"  {'T2, ' + name:>8}" for name, _ in DECAYS)
    print("first unstable alpha; forward and backward delay, discrepancy")
    print(f"forward  backward  discrepancy  without{names}")
    for forward, backward, discrepancy in ROWS:
        line = f"{forward:7}  {backward:8}  {discrepancy:11}"
        line += f"  {checked(Run(forward, backward, discrepancy)):7.4f}"
        for _, decay in DECAYS:
            run = Run(forward, backward, discrepancy, decay)
            line += f"  {checked(run):8.4f}"
        print(line)


if __name__ == "__main__":
    main()
